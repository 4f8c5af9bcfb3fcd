package restore

import (
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/rules"
)

// Policy is all rules of an EtcdRestore in their order, and VolumesPolicy all rules of volumes.
func Policy() []rules.Line { return policy.Lines() }

// VolumesPolicy is all rules of volumes in their order.
func VolumesPolicy() []rules.Line { return volumesPolicy.Lines() }

// StartPoint is where a restored cluster begins.
type StartPoint = startPoint

// BootstrapRequest is what the spec of a new cluster asks for.
func BootstrapRequest(c *v1alpha1.EtcdCluster) Request { return bootstrapRequest(c) }

// InPlaceRequest is what an EtcdRestore asks for.
func InPlaceRequest(r *v1alpha1.EtcdRestore, c *v1alpha1.EtcdCluster) Request {
	return inPlaceRequest(r, c)
}

// NewPlan is what is restored.
func NewPlan(want Request, b *v1alpha1.EtcdBackup, from StartPoint) v1alpha1.RestoreStatus {
	return newPlan(want, b, from)
}

// Reversed is the plan of an undo.
func Reversed(s *v1alpha1.RestoreStatus, progress string) v1alpha1.RestoreStatus {
	return reversed(s, progress)
}

// Bump is added to the revision of a backup.
func Bump(revision, seen int64, began, now time.Time) int64 { return bump(revision, seen, began, now) }
