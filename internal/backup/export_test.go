// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/rules"
)

// Policy is all rules in their order.
func Policy() []rules.Line { return policy.Lines() }

// WithoutSnapshot is why the VolumeSnapshot that had the data has it no longer.
func WithoutSnapshot(v View) string { return v.withoutSnapshot() }

// Size and Scratch are sizes for people, and for trials.
func Size(bytes int64) string { return v1beta1.SizeOf(bytes).String() }

// Scratch is the room of a trial.
func Scratch(s v1beta1.EtcdBackupStatus) resource.Quantity { return scratch(s) }
