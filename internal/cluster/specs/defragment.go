// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// defragmentAbove is the flag by which etcd defragments its database as it starts if more MiB than that are free
// (https://etcd.io/docs/v3.6/op-guide/configuration/). etcd 3.5 has it with a prefix.
const (
	defragmentAbove = "bootstrap-defrag-threshold-megabytes"
	experimental    = "experimental-"
)

// Defragmenting has a Pod's etcd, of the version in the spec, defragment its database as it starts, until StartPlainly. It is no part of
// the Pod's fingerprint. The flag is set by the environment, where etcd leaves alone what it does not know: the image of a Pod may be
// exchanged in place.
func Defragmenting(c *v1beta1.EtcdCluster, pod *corev1.Pod) *corev1.Pod {
	StartPlainly(pod)
	for _, flag := range []string{defragmentAbove, experimental + defragmentAbove} {
		if _, given := c.Spec.Etcd.ExtraArgs[flag]; given {
			return pod // etcd refuses to start with a setting that it finds twice
		}
	}
	flag := defragmentAbove
	if strings.HasPrefix(c.Spec.Version, "3.5.") {
		flag = experimental + flag
	}
	etcd := Etcd(pod)
	etcd.Env = append(etcd.Env, fromAnnotation(environment(flag), v1beta1.AnnotationDefragments))
	pod.Annotations[v1beta1.AnnotationDefragments] = always
	return pod
}

// always and never are the values of the setting: so many MiB have to be free, and 0 turns it off.
const always, never = "1", "0"

// StartPlainly has a Pod that was made to defragment not do so when its container starts again: there may be no room by then.
func StartPlainly(pod *corev1.Pod) {
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1beta1.AnnotationDefragments, never)
}

// DefragmentsAgain says whether a Pod's container has been started to defragment, and would do so again each time that it starts. Those of
// releases up to 0.9 do, and cannot be told otherwise.
func DefragmentsAgain(pod *corev1.Pod) bool {
	etcd := EtcdStatus(pod)
	started := etcd.State.Running != nil || etcd.State.Terminated != nil || etcd.LastTerminationState.Terminated != nil
	return started && pod.Annotations[v1beta1.AnnotationDefragments] == always
}

// Holding is the cluster with a quota of so many bytes at least.
func Holding(c *v1beta1.EtcdCluster, size int64) *v1beta1.EtcdCluster {
	if c.QuotaBytes() >= size {
		return c
	}
	holding := c.DeepCopy()
	holding.Spec.Etcd.Quota = resource.NewQuantity(size, resource.BinarySI)
	return holding
}

// environment is the variable that etcd takes for a flag.
func environment(flag string) string {
	return "ETCD_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// IsDefragmenting says whether a Pod was made to defragment its database as it starts.
func IsDefragmenting(pod *corev1.Pod) bool {
	return pod.Annotations[v1beta1.AnnotationDefragments] != ""
}
