// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// TestPausedByAnnotation: nothing is made, and the status says by what. A value that may
// have meant the opposite is reported once, and the cluster continues when it is corrected.
func TestPausedByAnnotation(t *testing.T) {
	o := install(t, "one")
	c := create(t, elsewhere, "annotated")
	annotate := func(value string) {
		t.Helper()
		if err := get(t, c, c.Name, c); err != nil {
			t.Fatal(err)
		}
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, v1beta1.AnnotationPaused, value)
		if err := server.Update(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	for value, warnings := range map[string]int{"true": 0, "yes": 1} {
		annotate(value)
		o.look(c, 3)
		if reason := conditionReason(t, c, v1beta1.ConditionProgressing); reason != v1beta1.ReasonPaused {
			t.Errorf("%q: progressing: %s", value, reason)
		}
		if told := o.told("UnclearPause"); len(told) != warnings || warnings > 0 && !strings.Contains(told[0], `"yes"`) {
			t.Errorf("%q: it says %q", value, told)
		}
		if did := o.did.take(); len(did) != 1 || !strings.HasSuffix(did[0], "/status") {
			t.Errorf("%q: it did %v", value, did)
		}
	}
	annotate("false")
	o.look(c, enough)
	whole(t, c)
}
