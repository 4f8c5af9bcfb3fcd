// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1_test

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestEveryKindHasAStatusForTools: kstatus, and with it Flux, Argo CD and kubectl wait, looks at status.observedGeneration and at the
// condition Ready.
func TestEveryKindHasAStatusForTools(t *testing.T) {
	for kind, of := range known(t) {
		status, has := of.FieldByName("Status")
		if !has {
			t.Errorf("%s has no status", kind)
			continue
		}
		for name, want := range map[string]reflect.Type{
			"ObservedGeneration": reflect.TypeFor[int64](), "Conditions": reflect.TypeFor[[]metav1.Condition](),
		} {
			if field, has := status.Type.FieldByName(name); !has || field.Type != want {
				t.Errorf("the status of %s has no %s", kind, name)
			}
		}
	}
}
