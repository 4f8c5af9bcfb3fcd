// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestNoArgumentForms: the arguments of a Pod cannot change, so none of them may say that the
// member forms a cluster, or which members it joins. The kubelet reads that at each start.
func TestNoArgumentForms(t *testing.T) {
	pod := specs.Pod(example(), "example-0", forming())
	etcd := specs.Etcd(pod)
	if !slices.Contains(etcd.Args, "--initial-cluster=$(INITIAL_CLUSTER)") {
		t.Errorf("initial-cluster is fixed: %v", etcd.Args)
	}
	for variable, annotation := range map[string]string{
		"INITIAL_CLUSTER": v1beta1.AnnotationInitialCluster, "ETCD_INITIAL_CLUSTER_STATE": v1beta1.AnnotationInitialClusterState,
	} {
		i := slices.IndexFunc(etcd.Env, func(e corev1.EnvVar) bool { return e.Name == variable })
		if i < 0 || etcd.Env[i].Value != "" || etcd.Env[i].ValueFrom.FieldRef.FieldPath != "metadata.annotations['"+annotation+"']" {
			t.Errorf("%s is not read from the Pod: %v", variable, etcd.Env)
		}
	}
}

func TestEntry(t *testing.T) {
	unset := specs.Pod(example(), "example-0", forming())
	delete(unset.Annotations, v1beta1.AnnotationInitialClusterState)
	alone := specs.Pod(example(), "example-0", forming())
	specs.SetJoining(example(), alone, specs.Joining{Members: []string{"example-0"}})
	for name, test := range map[string]struct {
		pod   *corev1.Pod
		want  cluster.Entry
		peers []string
	}{
		"first":             {specs.Pod(example(), "example-0", forming()), cluster.Forms, plan().Members},
		"later":             {specs.Pod(example(), "example-3", joining()), cluster.Joins, joining().Members},
		"alone":             {alone, cluster.Ends, []string{"example-0"}},
		"forced":            {specs.ForcedPod(example(), "example-0"), cluster.Ends, []string{"example-0"}},
		"without a state":   {unset, cluster.Forms, plan().Members},
		"of release v0.3.0": {byThird(), cluster.Unalterable, plan().Members},
	} {
		if got := specs.Entry(test.pod); got != test.want || !slices.Equal(specs.Peers(test.pod), test.peers) {
			t.Errorf("%s: got %d, peers %v", name, got, specs.Peers(test.pod))
		}
	}
}

// byThird is a Pod as v0.3.0 made it: its arguments say how it joins.
func byThird() *corev1.Pod {
	pod := specs.Pod(example(), "example-0", specs.Joining{})
	pod.Annotations = map[string]string{v1beta1.AnnotationTemplate: "2-74aa109bf96f4de4-ae95e371ebb89083-44136fa355b3678a"}
	etcd := specs.Etcd(pod)
	etcd.Env = etcd.Env[:len(etcd.Env)-2]
	etcd.Args = append(etcd.Args[:len(etcd.Args)-2],
		"--initial-cluster=example-0=https://example-0.example.databases.svc:2380,"+
			"example-1=https://example-1.example.databases.svc:2380,example-2=https://example-2.example.databases.svc:2380",
		"--initial-cluster-state=new", "--initial-cluster-token="+plan().Token)
	return pod
}

// TestThirdReleaseStays: an update of the operator alone makes no Pod of v0.3.0 again.
func TestThirdReleaseStays(t *testing.T) {
	if got := specs.Change(example(), byThird()); got != cluster.Same {
		t.Errorf("got %d, want no change", got)
	}
}
