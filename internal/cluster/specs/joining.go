// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// Joining says how a member enters the cluster. etcd reads it only while the
// member's data directory is empty, and Compares only if it is not.
type Joining struct {
	New     bool     // form a new cluster; else join the one that exists
	Token   string   // of the bootstrap plan
	Members []string // names of all members, this one too
	Others  []string // name=URL of members that the operator has not made, while their cluster is adopted

	// Compares: others serve that it can compare its data with. Members that start together would wait for each other.
	Compares bool
}

const (
	initialCluster = "--initial-cluster="
	// clusterVariable holds initial-cluster. The kubelet puts it into the arguments.
	clusterVariable = "INITIAL_CLUSTER"
	// stateVariable is read by etcd itself. With no value etcd would form a new cluster,
	// but then initial-cluster has none either, and etcd ends if it has no data.
	stateVariable = "ETCD_INITIAL_CLUSTER_STATE"
)

// join lets the Pod's container enter the cluster. What changes once the member has data is
// in annotations, which the kubelet reads at each start of the container: no restart of the
// container may form the cluster again (docs/adr/0023-a-restart-forms-nothing.md).
func join(c *v1beta1.EtcdCluster, pod *corev1.Pod, j Joining) {
	etcd := Etcd(pod)
	for i, arg := range etcd.Args {
		if strings.HasPrefix(arg, advertised) { // etcd wants those of initial-cluster there
			etcd.Args[i] = advertised + strings.Join(PeerURLs(c, pod.Name), ",")
		}
	}
	etcd.Args = append(etcd.Args, initialCluster+"$("+clusterVariable+")", "--initial-cluster-token="+j.Token)
	etcd.Env = append(etcd.Env,
		fromAnnotation(clusterVariable, v1beta1.AnnotationInitialCluster),
		fromAnnotation(stateVariable, v1beta1.AnnotationInitialClusterState))
	SetJoining(c, pod, j)
	if j.Compares {
		CompareAtStart(c, pod)
	}
}

func fromAnnotation(variable, annotation string) corev1.EnvVar {
	return corev1.EnvVar{Name: variable, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
		APIVersion: "v1", FieldPath: "metadata.annotations['" + annotation + "']",
	}}}
}

// SetJoining sets how the Pod's member enters the cluster, from the next start of its container
// on. It has no effect on Pods of releases before 0.4.
func SetJoining(c *v1beta1.EtcdCluster, pod *corev1.Pod, j Joining) {
	state := "existing"
	if j.New {
		state = "new"
	}
	peers := make([]string, 0, len(j.Members))
	for _, member := range j.Members {
		for _, url := range PeerURLs(c, member) {
			peers = append(peers, member+"="+url)
		}
	}
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1beta1.AnnotationInitialCluster, strings.Join(append(peers, j.Others...), ","))
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1beta1.AnnotationInitialClusterState, state)
}

// Entry is what the Pod's container does if it starts on an empty data directory.
func Entry(pod *corev1.Pod) cluster.Entry {
	listens := slices.ContainsFunc(Etcd(pod).Env, func(e corev1.EnvVar) bool { return e.Name == clusterVariable })
	switch {
	case !listens:
		return cluster.Unalterable
	case pod.Annotations[v1beta1.AnnotationInitialClusterState] != "existing":
		return cluster.Forms
	case slices.Equal(Peers(pod), []string{pod.Name}):
		return cluster.Ends
	default:
		return cluster.Joins
	}
}

// IsJoining says whether the initial cluster of the Pod's member has other members: without data
// it can get it from them. Alone it cannot.
func IsJoining(pod *corev1.Pod) bool { return len(Peers(pod)) > 1 }

// Peers are the members in the initial cluster of the Pod's member, itself too.
func Peers(pod *corev1.Pod) []string {
	peers := pod.Annotations[v1beta1.AnnotationInitialCluster]
	for _, arg := range Etcd(pod).Args {
		if text, is := strings.CutPrefix(arg, initialCluster); is && !strings.HasPrefix(text, "$(") {
			peers = text
		}
	}
	var names []string
	for peer := range strings.SplitSeq(peers, ",") {
		if name, _, is := strings.Cut(peer, "="); is && !slices.Contains(names, name) { // one may have several URLs
			names = append(names, name)
		}
	}
	return names
}
