// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// TestPhases: the API calls phases as the core does, which does not know the API.
func TestPhases(t *testing.T) {
	for ours, theirs := range map[cluster.RotationPhase]v1beta1.RotationPhase{
		cluster.Stable: v1beta1.RotationStable, cluster.Introduced: v1beta1.RotationIntroduced, cluster.Switched: v1beta1.RotationSwitched,
	} {
		if string(ours) != string(theirs) {
			t.Errorf("rotation: %s is %s in the API", ours, theirs)
		}
	}
	for ours, theirs := range map[cluster.RevocationPhase]v1beta1.RevocationPhase{
		cluster.Listed: v1beta1.RevocationListed, cluster.CutOff: v1beta1.RevocationRestarting, cluster.Revoked: v1beta1.RevocationDone,
	} {
		if string(ours) != string(theirs) {
			t.Errorf("revocation: %s is %s in the API", ours, theirs)
		}
	}
}
