// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// TestRotate: it asks by an annotation, and waits until what was asked for is done.
func TestRotate(t *testing.T) {
	w := newWorld(t, cluster("a", available))
	wantExit(t, w.run(t.Context(), "rotate", "a"), Done)
	asked := func() string {
		var c v1beta1.EtcdCluster
		if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "a"}, &c); err != nil {
			t.Fatal(err)
		}
		return c.Annotations[v1beta1.AnnotationRotate]
	}
	if got := asked(); got != "2026-11-24T12:00:00Z" {
		t.Errorf("asked for %q", got)
	}
	wantExit(t, w.run(t.Context(), "rotate", "a", "--authority", "server"), Failed)
	wantText(t, &w.err, "client or peer")

	looks := 0
	w.operator = func(o client.Object) error {
		c, is := o.(*v1beta1.EtcdCluster)
		if !is || c.Annotations[v1beta1.AnnotationRotate] == "" {
			return nil
		}
		looks++
		phase, reason := v1beta1.RotationIntroduced, v1beta1.ReasonWaiting
		if looks > 3 {
			phase = v1beta1.RotationStable
		}
		if looks > 4 {
			reason = v1beta1.ReasonUpToDate
		}
		c.Status.Authorities = []v1beta1.AuthorityStatus{
			{Name: "client", Secret: "a-client-ca", Phase: v1beta1.RotationStable},
			{Name: "peer", Secret: "a-peer-ca", Phase: phase, Request: c.Annotations[v1beta1.AnnotationRotate]},
		}
		progressing := condition(v1beta1.ConditionProgressing, metav1.ConditionTrue, reason)
		progressing.Message = "waiting for a-1 to trust the next authority"
		c.Status.Conditions = append(c.Status.Conditions, progressing)
		return nil
	}
	wantExit(t, w.run(t.Context(), "rotate", "a", "--authority", "peer", "--wait"), Done)
	wantText(t, &w.out, "the authority of a for peers is rotated")
	wantText(t, &w.err, "waiting for a-1 to trust the next authority")
	if got := asked(); got != "peer:2026-11-24T12:00:00Z" {
		t.Errorf("asked for %q", got)
	}
}

// TestRotateWithoutTLS: there is nothing to rotate, and it says so.
func TestRotateWithoutTLS(t *testing.T) {
	plain := cluster("a", available)
	plain.Spec.TLS.Mode = v1beta1.TLSDisabled
	w := newWorld(t, plain)
	wantExit(t, w.run(t.Context(), "rotate", "a"), Failed)
	wantText(t, &w.err, "has no authority")
}

// TestRotateWhatOthersHave: an external authority is rotated only if it has ended, and another is brought, for which all members restart.
func TestRotateWhatOthersHave(t *testing.T) {
	theirs := cluster("a", available)
	theirs.Spec.TLS.IssuerRef = &v1beta1.IssuerRef{Name: "corp"}
	w := newWorld(t, theirs)
	wantExit(t, w.run(t.Context(), "rotate", "a"), Failed)
	wantText(t, &w.err, "come from others")
	ended := cluster("a", available)
	ended.Spec.TLS.IssuerRef = &v1beta1.IssuerRef{Name: "corp"}
	degraded := condition(v1beta1.ConditionDegraded, metav1.ConditionTrue, v1beta1.ReasonAuthorityEnds)
	ended.Status.Conditions = append(ended.Status.Conditions, degraded)
	w = newWorld(t, ended)
	wantExit(t, w.run(t.Context(), "rotate", "a"), Done)
}
