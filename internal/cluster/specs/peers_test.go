// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestFault88PeersAreBoundByName: members whose authority signs for others, too, take only members of their own cluster for peers. Those
// that an earlier release has made do not restart for it, nor does one with an authority of ours have the flag.
func TestFault88PeersAreBoundByName(t *testing.T) {
	const flag = "--peer-cert-allowed-hostname=peer.example.databases.svc"
	brought := with(func(s *v1beta1.EtcdClusterSpec) { s.TLS.SecretRefs = &v1beta1.SecretRefs{} })
	for _, c := range []*v1beta1.EtcdCluster{brought, with(issuedBy(v1beta1.IssuerRef{Name: "corp"}))} {
		pod := specs.Pod(c, "example-0", forming())
		args := specs.Etcd(pod).Args
		if !slices.Contains(args, flag) || !slices.Contains(specs.Etcd(specs.ForcedPod(c, "example-0")).Args, flag) {
			t.Errorf("peers are not bound: %q", args)
		}
		earlier := pod.DeepCopy()
		specs.Etcd(earlier).Args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == flag })
		if change := specs.Change(c, earlier); change != cluster.Same {
			t.Errorf("an update of the operator restarts it: %d", change)
		}
		if specs.Fingerprint(example(), "example-0") != pod.Annotations[v1beta1.AnnotationTemplate] {
			t.Error("another source alone restarts it")
		}
	}
	if slices.Contains(specs.Etcd(specs.Pod(example(), "example-0", forming())).Args, flag) {
		t.Error("members with an authority of their own have the flag")
	}
}

// TestFault88ClientsAreBoundByName: members take only clients of their own cluster where that is asked for, for which each restarts; all
// certificates that are asked for have the name, those of applications as well.
func TestFault88ClientsAreBoundByName(t *testing.T) {
	const flag = "--client-cert-allowed-hostname=client.example.databases.svc"
	shared := v1beta1.IssuerRef{Name: "corp", Kind: "ClusterIssuer"}
	open := with(issuedBy(shared))
	shared.BoundClients = true
	c := with(issuedBy(shared))
	pod := specs.Pod(c, "example-0", forming())
	if !slices.Contains(specs.Etcd(pod).Args, flag) || slices.Contains(specs.Etcd(specs.Pod(open, "example-0", forming())).Args, flag) {
		t.Errorf("clients are not bound, or are without being asked for: %q", specs.Etcd(pod).Args)
	}
	if specs.Change(open, pod) == cluster.Same {
		t.Error("no member restarts for it")
	}
	asked := []*unstructured.Unstructured{specs.UserCertificate(open, user())}
	for _, one := range append(asked, specs.Certificates(open, "")...) {
		names, _, _ := unstructured.NestedStringSlice(one.Object, "spec", "dnsNames")
		if !slices.Contains(names, specs.ClientHost(c)) && !slices.Contains(names, specs.Host(c, "*")) {
			t.Errorf("%s has the names %q", one.GetName(), names)
		}
	}
}
