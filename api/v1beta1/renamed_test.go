// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// TestReasonsOfOlderReleases: what 0.7 has written is read as what it is called now.
func TestReasonsOfOlderReleases(t *testing.T) {
	for was, now := range map[string]string{
		"AsWanted": v1beta1.ReasonUpToDate, "NoFault": v1beta1.ReasonAsExpected, v1beta1.ReasonRefused: v1beta1.ReasonRefused,
	} {
		if got := v1beta1.CurrentReason(was); got != now {
			t.Errorf("%s is read as %s, want %s", was, got, now)
		}
	}
}
