// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// TestSwitch: the annotation is another one each time, and is removed by --cancel.
func TestSwitch(t *testing.T) {
	copies := cluster("a", available)
	copies.Spec.Bootstrap = &v1beta1.BootstrapSpec{Copy: &v1beta1.Copy{Endpoints: []string{"http://b:2379"}}}
	w := newWorld(t, copies, cluster("b", available))
	asked := func() string {
		t.Helper()
		var c v1beta1.EtcdCluster
		if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "a"}, &c); err != nil {
			t.Fatal(err)
		}
		return c.Annotations[v1beta1.AnnotationSwitch]
	}
	wantExit(t, w.run(t.Context(), "switch", "b"), Failed)
	wantText(t, &w.err, "it has no spec.bootstrap.copy")
	wantExit(t, w.run(t.Context(), "switch", "a"), Done)
	wantText(t, &w.out, "the switch is asked for")
	if asked() == "" {
		t.Error("it is not asked for")
	}
	wantExit(t, w.run(t.Context(), "switch", "a", "--cancel"), Done)
	if asked() != "" {
		t.Error("it is still asked for")
	}
}

// TestSwitchEnds: made, given up, or on its way.
func TestSwitchEnds(t *testing.T) {
	at, micro := metav1.Now(), metav1.NowMicro()
	for name, c := range map[string]struct {
		status        *v1beta1.CopyStatus
		ended, failed bool
	}{
		"not looked at yet": {nil, false, false},
		"on its way":        {&v1beta1.CopyStatus{Request: "1", StoppedAt: &micro}, false, false},
		"made":              {&v1beta1.CopyStatus{Request: "1", CompletedAt: &at}, true, false},
		"given up":          {&v1beta1.CopyStatus{Request: "1", ReleasedAt: &micro, Failure: "a difference"}, true, true},
		"an earlier one":    {&v1beta1.CopyStatus{Request: "0", ReleasedAt: &micro}, false, false},
	} {
		seen := switchOf(&v1beta1.EtcdCluster{Status: v1beta1.EtcdClusterStatus{Copy: c.status}}, "1")
		if seen.ended != c.ended || (seen.problem != "") != c.failed {
			t.Errorf("%s: %+v", name, seen)
		}
	}
}
