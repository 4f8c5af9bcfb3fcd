// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func (w *world) revoked() []string {
	w.t.Helper()
	var c v1beta1.EtcdCluster
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: "default", Name: "a"}, &c); err != nil {
		w.t.Fatal(err)
	}
	var all []string
	for _, r := range c.Spec.TLS.Revocations {
		all = append(all, r.Serial+" "+r.Reason)
	}
	return all
}

// TestRevokeSerial: a number is taken as others print it, once, and beside those that are revoked already.
func TestRevokeSerial(t *testing.T) {
	w := newWorld(t, cluster("a", available))
	for given, want := range map[string]string{
		"serial=0A1B2C": "a1b2c", "00:FF:01": "ff01", " 7f ": "7f", "0x10": "10", "A": "a",
	} {
		wantExit(t, w.run(t.Context(), "revoke", "a", "--serial", given, "--reason", "leaked"), Done)
		wantExit(t, w.run(t.Context(), "revoke", "a", "--serial", given), Done)
		if !slices.Contains(w.revoked(), want+" leaked") {
			t.Errorf("%q became %q", given, w.revoked())
		}
	}
	if got := w.revoked(); len(got) != 5 {
		t.Errorf("revoked are %q", got)
	}
	for _, bad := range []string{"0", "::", "g1", "-1", "1,2", "7fffffffffffffffffffffffffffffffffffffff0", "7f\n"} {
		exit := w.run(t.Context(), "revoke", "a", "--serial", bad)
		if bad == "7f\n" {
			wantExit(t, exit, Done) // as a shell gives it
			continue
		}
		wantExit(t, exit, Failed)
		wantText(t, &w.err, "hexadecimal")
	}
	wantExit(t, w.run(t.Context(), "revoke", "a"), Failed)
	wantExit(t, w.run(t.Context(), "revoke", "a", "--serial", "1", "--user", "orders"), Failed)
	wantText(t, &w.err, "one of --serial and --user")
}

// TestRevokeUser: the number is that of the certificate which the EtcdUser has now, by its status.
func TestRevokeUser(t *testing.T) {
	user := func(name, of, serial string) *v1beta1.EtcdUser {
		return &v1beta1.EtcdUser{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec:       v1beta1.EtcdUserSpec{Cluster: of}, Status: v1beta1.EtcdUserStatus{Serial: serial},
		}
	}
	w := newWorld(t, cluster("a", available), user("orders", "a", "beef"), user("others", "b", "dead"), user("new", "a", ""))
	wantExit(t, w.run(t.Context(), "revoke", "a", "--user", "orders"), Done)
	wantText(t, &w.out, "certificate beef is being revoked")
	if got := w.revoked(); !slices.Equal(got, []string{"beef of EtcdUser orders"}) {
		t.Errorf("revoked are %q", got)
	}
	for name, says := range map[string]string{"others": "is of EtcdCluster b", "new": "give it with --serial", "nobody": "not found"} {
		wantExit(t, w.run(t.Context(), "revoke", "a", "--user", name), Failed)
		wantText(t, &w.err, says)
	}
}

// TestRevokeWaits until no connection is left, and says what for.
func TestRevokeWaits(t *testing.T) {
	w := newWorld(t, cluster("a", available))
	looks := 0
	w.operator = func(o client.Object) error {
		c, is := o.(*v1beta1.EtcdCluster)
		if !is || len(c.Spec.TLS.Revocations) == 0 {
			return nil
		}
		looks++
		told := &v1beta1.RevocationStatus{Phase: v1beta1.RevocationDone, RevokedAt: "then", Serials: []string{"1"}} // of one before
		if looks > 1 {
			told.Phase, told.Serials = "Listed", []string{"1", "beef"}
		}
		if looks > 3 {
			told.Phase = v1beta1.RevocationDone
		}
		c.Status.Revocations = told
		progressing := condition(v1beta1.ConditionProgressing, metav1.ConditionTrue, v1beta1.ReasonWaiting)
		progressing.Message = "waiting for a-1 to refuse certificates"
		c.Status.Conditions = append(c.Status.Conditions, progressing)
		return nil
	}
	wantExit(t, w.run(t.Context(), "revoke", "a", "--serial", "beef", "--wait"), Done)
	wantText(t, &w.out, "certificate beef is revoked")
	wantText(t, &w.err, "waiting for a-1 to refuse certificates")
	if looks < 4 {
		t.Errorf("it was over after %d looks", looks)
	}
}

// TestRevokeBesideOthers: what was revoked meanwhile by another user stays.
func TestRevokeBesideOthers(t *testing.T) {
	w := newWorld(t, cluster("a", available))
	first := true
	w.operator = func(o client.Object) error {
		c, is := o.(*v1beta1.EtcdCluster)
		if !is || !first {
			return nil
		}
		first = false
		other := c.DeepCopy()
		other.Spec.TLS.Revocations = []v1beta1.Revocation{{Serial: "1", Reason: "of others"}}
		if err := w.client.Update(t.Context(), other); err != nil {
			return fmt.Errorf("update: %w", err)
		}
		return nil
	}
	wantExit(t, w.run(t.Context(), "revoke", "a", "--serial", "2", "--reason", "ours"), Done)
	if got := w.revoked(); !slices.Equal(got, []string{"1 of others", "2 ours"}) {
		t.Errorf("revoked are %q", got)
	}
}

// TestRevokeIsRefused: without TLS there is nothing to revoke, and what the API server refuses is reported.
func TestRevokeIsRefused(t *testing.T) {
	plain := cluster("a", available)
	plain.Spec.TLS.Mode = v1beta1.TLSDisabled
	w := newWorld(t, plain)
	wantExit(t, w.run(t.Context(), "revoke", "a", "--serial", "1"), Failed)
	wantText(t, &w.err, "has no certificates")
	w = newWorld(t, cluster("a", available))
	w.operator = func(client.Object) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "etcdclusters"}, "a", nil)
	}
	wantExit(t, w.run(t.Context(), "revoke", "a", "--serial", "1"), Failed)
	wantText(t, &w.err, "forbidden")
}
