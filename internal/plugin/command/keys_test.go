// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/etcdtest"
)

// TestKeys: a follower is asked, as who the Secret says that is the cluster's, root's, or named. Names of keys are written so that no
// terminal takes them for commands.
func TestKeys(t *testing.T) {
	members := []v1beta1.MemberStatus{
		{Name: "a-0", Role: v1beta1.RoleLeader, Healthy: true},
		{Name: "a-1", Role: v1beta1.RoleVoter},
		{Name: "a-2", Role: v1beta1.RoleVoter, Healthy: true},
	}
	for what, test := range map[string]struct {
		set   func(*v1beta1.EtcdCluster)
		flags []string
		want  string
	}{
		"plain":            {want: "a-2 as a-client"},
		"authentication":   {set: func(c *v1beta1.EtcdCluster) { c.Spec.Auth.Enabled = true }, want: "a-2 as a-root"},
		"a user":           {flags: []string{"--secret", "alice"}, want: "a-2 as alice"},
		"no TLS":           {set: func(c *v1beta1.EtcdCluster) { c.Spec.TLS.Mode = v1beta1.TLSDisabled }, want: "a-2 as nobody"},
		"the leader alone": {set: func(c *v1beta1.EtcdCluster) { c.Status.Members = members[:2] }, want: "a-0 as a-client"},
		"nobody":           {set: func(c *v1beta1.EtcdCluster) { c.Status.Members = members[1:2] }},
	} {
		t.Run(what, func(t *testing.T) {
			c := cluster("a", available)
			c.Status.Members = members
			if test.set != nil {
				test.set(c)
			}
			w := newWorld(t, c, identity("a-client"), identity("a-root"), identity("alice"))
			w.reads = true
			held, got := etcdtest.New("a-0", "a-1", "a-2"), ""
			held.Put("small", "x")
			held.Put("big/\x1b[2J", strings.Repeat("x", 3000))
			w.dial = func(_ context.Context, pod client.ObjectKey, as *corev1.Secret) (etcd.Client, func(), error) {
				got = pod.Name + " as nobody"
				if as != nil {
					got = pod.Name + " as " + as.Name
				}
				return held.Client(pod.Name), func() {}, nil
			}
			exit := w.run(t.Context(), append([]string{"keys", "a"}, test.flags...)...)
			if got != test.want {
				t.Errorf("asked %q, want %q", got, test.want)
			}
			if test.want == "" {
				wantExit(t, exit, Failed)
				wantText(t, &w.err, "no member of EtcdCluster a is healthy")
				return
			}
			wantExit(t, exit, Done)
			wantText(t, &w.out, `"big/\x1b[2J"`)
			if big, small := strings.Index(w.out.String(), "big/"), strings.Index(w.out.String(), "small"); big > small {
				t.Error("the one with the most data is not the first")
			}
		})
	}
}

// TestKeysThatMayNotBeRead: what is in the way is said, and nothing of the Secret.
func TestKeysThatMayNotBeRead(t *testing.T) {
	c := cluster("a", available)
	c.Status.Members = []v1beta1.MemberStatus{{Name: "a-0", Role: v1beta1.RoleLeader, Healthy: true}}
	w := newWorld(t, c)
	w.reads = true
	wantExit(t, w.run(t.Context(), "keys", "a"), Failed)
	wantText(t, &w.err, "read Secret a-client, by which etcd is asked")
	w = newWorld(t, c, identity("a-client"))
	w.reads = true
	w.dial = func(context.Context, client.ObjectKey, *corev1.Secret) (etcd.Client, func(), error) {
		return nil, nil, errors.New("forward a port to Pod a-0: pods \"a-0\" is forbidden")
	}
	wantExit(t, w.run(t.Context(), "keys", "a"), Failed)
	wantText(t, &w.err, "is forbidden")
}

// TestIdentity: a Secret without a certificate or an authority is named.
func TestIdentity(t *testing.T) {
	if target, err := targetOf(nil); err != nil || target.TLS != nil {
		t.Errorf("without TLS: %+v, %v", target, err)
	}
	if _, err := targetOf(identity("empty")); err == nil || !strings.Contains(err.Error(), "Secret empty") {
		t.Errorf("an empty Secret: %v", err)
	}
}

func identity(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}
