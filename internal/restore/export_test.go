// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/rules"
)

// Policy is all rules of an EtcdRestore in their order.
func Policy() []rules.Line { return policy.Lines() }

// PrefixPolicy is all rules of an EtcdRestore with a prefix in their order.
func PrefixPolicy() []rules.Line { return prefixPolicy.Lines() }

// VolumesPolicy is all rules of volumes in their order.
func VolumesPolicy() []rules.Line { return volumesPolicy.Lines() }

// StartPoint is where a restored cluster begins.
type StartPoint = startPoint

// BootstrapRequest is what the spec of a new cluster asks for.
func BootstrapRequest(c *v1beta1.EtcdCluster) Request { return bootstrapRequest(c) }

// InPlaceRequest is what an EtcdRestore asks for.
func InPlaceRequest(r *v1beta1.EtcdRestore, c *v1beta1.EtcdCluster) Request {
	return inPlaceRequest(r, c)
}

// Search is the order of the Job that looks for a target, and what its answer is about.
func Search(want Request, backups ...*v1beta1.EtcdBackup) (order jobspec.LocateOrder, of string) {
	return search(want, backups), searchOf(want)
}

// NewPlan is what is restored.
func NewPlan(want Request, b *v1beta1.EtcdBackup, from StartPoint) v1beta1.RestoreStatus {
	return newPlan(want, alone(b), from)
}

// Reversed is the plan of an undo.
func Reversed(s *v1beta1.RestoreStatus, progress string) v1beta1.RestoreStatus {
	return reversed(s, progress)
}

// Bump is added to the revision of a backup.
func Bump(revision, seen int64, began, now time.Time) int64 { return bump(revision, seen, began, now) }
