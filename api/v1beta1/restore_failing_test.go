// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestFailing: what no retry fixes is not reported as retried, and a restore in place says how to give up while that is possible.
func TestFailing(t *testing.T) {
	lost := &RestoreFailure{Member: "a-3", Message: "x.part is not in the store", Final: true}
	broken := &RestoreFailure{Member: lost.Member, Message: lost.Message}
	for name, test := range map[string]struct {
		status        RestoreStatus
		again, giveUp bool
	}{
		"for now":          {RestoreStatus{Request: "er", Failure: broken}, true, false},
		"in place":         {RestoreStatus{Request: "er", Failure: lost}, false, true},
		"given way":        {RestoreStatus{Request: "er", Failure: lost, RestoredAt: &metav1.Time{}}, false, false},
		"cancelled":        {RestoreStatus{Request: "er", Failure: lost, Undo: true}, false, false},
		"of a new cluster": {RestoreStatus{Failure: lost}, false, false},
	} {
		said := test.status.Failing()
		if !strings.HasPrefix(said, "the data of a-3 cannot be restored: x.part is not in the store; ") ||
			strings.Contains(said, "it is tried again") != test.again || strings.Contains(said, "to give up, delete EtcdRestore er") != test.giveUp {
			t.Errorf("%s: %q", name, said)
		}
	}
	if said := new(RestoreStatus).Failing(); said != "" {
		t.Errorf("nothing has failed: %q", said)
	}
}
