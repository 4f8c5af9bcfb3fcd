// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
)

// A Holding is what is known of the Lease that a status names.
type Holding int

const (
	// Ended: it is gone, was given up, or was not renewed for too long.
	Ended Holding = iota
	// Held: a replica renews it.
	Held
	// Hidden: this installation has no right to read it.
	Hidden
)

// HoldingOf judges a Lease that was read, or the error instead. The times are of two
// machines whose clocks may differ, which is why a holder gets twice its time; only the
// moment of a takeover depends on it, because the status says which one is in charge.
func HoldingOf(lease *coordinationv1.Lease, err error, now time.Time) (Holding, error) {
	switch {
	case apierrors.IsForbidden(err):
		return Hidden, nil
	case apierrors.IsNotFound(err):
		return Ended, nil
	case err != nil:
		return Held, fmt.Errorf("read the lease of the operator that manages the cluster: %w", err)
	}
	spec := lease.Spec
	lasts := Duration
	if spec.LeaseDurationSeconds != nil {
		lasts = time.Duration(*spec.LeaseDurationSeconds) * time.Second
	}
	if ptr.Deref(spec.HolderIdentity, "") == "" || spec.RenewTime == nil || now.After(spec.RenewTime.Add(2*lasts)) {
		return Ended, nil
	}
	return Held, nil
}
