// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// serving is a cluster whose status says how far a change of tls.mode is.
func serving(mode v1beta1.TLSMode, phase v1beta1.TLSPhase) *v1beta1.EtcdCluster {
	c := example()
	c.Status.TLS = &v1beta1.TLSStatus{Mode: mode, Phase: phase}
	return c
}

// argument is the value of a flag of the first member.
func argument(c *v1beta1.EtcdCluster, name string) string {
	for _, arg := range specs.Etcd(specs.Pod(c, "example-0", joining())).Args {
		if value, is := strings.CutPrefix(arg, "--"+name+"="); is {
			return value
		}
	}
	return ""
}

// TestMembersOfEachPass: what they listen to, show and join by.
func TestMembersOfEachPass(t *testing.T) {
	const host = "example-0.example.databases.svc"
	one := func(scheme string) string { return scheme + "://" + host + ":2380" }
	listed := one("http") + "," + one("https")
	for _, test := range []struct {
		mode                               v1beta1.TLSMode
		phase                              v1beta1.TLSPhase
		clients, peers, joins, cert, sends string
	}{
		{v1beta1.TLSDisabled, v1beta1.TLSStable, "http", "http", one("http"), "", "http"},
		{v1beta1.TLSDisabled, v1beta1.TLSAdvertised, "http", "http", listed, "", "http"},
		{v1beta1.TLSDisabled, v1beta1.TLSBoth, "http https", "http", listed, "true", "http"},
		{v1beta1.TLSEnabled, v1beta1.TLSBoth, "http https", "http", listed, "true", "https"},
		{v1beta1.TLSEnabled, v1beta1.TLSAdvertised, "https", "https", listed, "true", "https"},
		{v1beta1.TLSEnabled, v1beta1.TLSStable, "https", "https", one("https"), "true", "https"},
	} {
		c := serving(test.mode, test.phase)
		var listens, shows []string
		for _, scheme := range strings.Fields(test.clients) {
			listens, shows = append(listens, scheme+"://0.0.0.0:2379"), append(shows, scheme+"://"+host+":2379")
		}
		for name, want := range map[string]string{
			"listen-client-urls": strings.Join(listens, ","), "advertise-client-urls": strings.Join(shows, ","),
			"listen-peer-urls": test.peers + "://0.0.0.0:2380", "initial-advertise-peer-urls": test.joins,
			"peer-client-cert-auth": test.cert, "client-cert-auth": test.cert,
		} {
			if got := argument(c, name); got != want {
				t.Errorf("%s %s: %s is %q, want %q", test.mode, test.phase, name, got, want)
			}
		}
		pod := specs.Pod(c, "example-0", joining())
		if got := pod.Annotations[v1beta1.AnnotationInitialCluster]; !strings.HasSuffix(got, "example-3="+
			strings.ReplaceAll(strings.ReplaceAll(test.joins, "example-0.", "example-3."), ",", ",example-3=")) {
			t.Errorf("%s %s: it joins by %s", test.mode, test.phase, got)
		}
		if got := specs.Endpoint(c); got != test.sends+"://example-client.databases.svc:2379" {
			t.Errorf("%s %s: clients are sent to %s", test.mode, test.phase, got)
		}
		isTLS := func(m corev1.VolumeMount) bool { return m.Name == "tls" }
		if mounts := slices.ContainsFunc(specs.Etcd(pod).VolumeMounts, isTLS); mounts != (test.cert != "") {
			t.Errorf("%s %s: certificates are mounted: %t", test.mode, test.phase, mounts)
		}
	}
}

// TestPassesThatRestart: members restart twice on the way to TLS, and twice back.
func TestPassesThatRestart(t *testing.T) {
	way := []*v1beta1.EtcdCluster{
		serving(v1beta1.TLSDisabled, v1beta1.TLSStable), serving(v1beta1.TLSDisabled, v1beta1.TLSAdvertised),
		serving(v1beta1.TLSDisabled, v1beta1.TLSBoth), serving(v1beta1.TLSEnabled, v1beta1.TLSBoth),
		serving(v1beta1.TLSEnabled, v1beta1.TLSAdvertised), serving(v1beta1.TLSEnabled, v1beta1.TLSStable),
	}
	restarts := map[int]bool{1: true, 3: true}
	for i := range len(way) - 1 {
		want := cluster.Same
		if restarts[i] {
			want = cluster.Rebuild
		}
		if got := specs.Change(way[i+1], specs.Pod(way[i], "example-0", joining())); got != want {
			t.Errorf("pass %d: %d, want %d", i, got, want)
		}
		if got := specs.Change(way[i], specs.Pod(way[i+1], "example-0", joining())); got != want {
			t.Errorf("pass %d back: %d, want %d", i, got, want)
		}
	}
	earlier, now := with(insecure), with(insecure)
	now.Status.TLS = &v1beta1.TLSStatus{Mode: v1beta1.TLSDisabled, Phase: v1beta1.TLSStable}
	if got := specs.Change(now, specs.Pod(earlier, "example-0", joining())); got != cluster.Same {
		t.Errorf("an update of the operator restarts members: %d", got)
	}
}
