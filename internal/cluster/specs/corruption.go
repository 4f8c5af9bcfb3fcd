// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

const featureGates = "feature-gates"

// checkVariable holds the annotation. The kubelet puts it among the gates.
const checkVariable = "INITIAL_CORRUPT_CHECK"

// checks are etcd's own comparisons of members' data: when a member starts, and of the hashes that compactions leave. Gates of etcd 3.6
// and newer, and flags of etcd 3.5 (https://github.com/etcd-io/etcd/blob/main/CHANGELOG/CHANGELOG-3.6.md). Until 3.5.10 and 3.6.0 the
// second found differences where there were none, after a compaction that was interrupted (https://github.com/etcd-io/etcd/issues/15919);
// no older version is admitted by spec.version.
var checks = []struct{ gate, flag string }{
	{initialCheck, experimental + "initial-corrupt-check"},
	{"CompactHashCheck", experimental + "compact-hash-check-enabled"},
}

// CorruptionChecks is the environment by which an etcd of that version compares members' data by itself. It is the environment because
// etcd leaves alone there what it does not know: the image of a Pod may be exchanged in place, and no version has the flags of all others.
// Whether it compares when it starts is in an annotation, which the kubelet reads at each start of the container.
func CorruptionChecks(version string) []corev1.EnvVar {
	if strings.HasPrefix(version, "3.5") {
		return []corev1.EnvVar{
			fromAnnotation(environment(checks[0].flag), v1beta1.AnnotationInitialCorruptCheck),
			{Name: environment(checks[1].flag), Value: "true"},
		}
	}
	return []corev1.EnvVar{
		fromAnnotation(checkVariable, v1beta1.AnnotationInitialCorruptCheck),
		{Name: environment(featureGates), Value: withGates("")},
	}
}

// checkCorruption has a Pod's etcd compare its data with that of its peers. Pods of earlier releases need not restart for it, nor does a
// change of the setting restart one, so no fingerprint counts it. What the user has set in etcd.extraArgs stays: etcd refuses to start
// with a setting that it finds twice.
func checkCorruption(c *v1beta1.EtcdCluster, pod *corev1.Pod) {
	if !checksCorruption(c) {
		return
	}
	etcd := Etcd(pod)
	gates, set := c.Spec.Etcd.ExtraArgs[featureGates]
	if !set {
		etcd.Env = append(etcd.Env, CorruptionChecks(c.Spec.Version)...)
		return
	}
	if !hasGate(gates, initialCheck) {
		etcd.Env = append(etcd.Env, fromAnnotation(checkVariable, v1beta1.AnnotationInitialCorruptCheck))
	}
	for i, arg := range etcd.Args {
		if arg == "--"+featureGates+"="+gates {
			etcd.Args[i] = "--" + featureGates + "=" + withGates(gates)
		}
	}
}

// checksCorruption says whether the operator sets the checks: the user wants them, and has not set them otherwise.
func checksCorruption(c *v1beta1.EtcdCluster) bool {
	for _, check := range checks {
		if _, set := c.Spec.Etcd.ExtraArgs[check.flag]; set {
			return false
		}
	}
	return c.Spec.Maintenance.CorruptionCheck != v1beta1.CorruptionCheckOff
}

// withGates adds the gates of the checks that are not among those given. etcd passes over a gate that is empty.
func withGates(given string) string {
	var all []string
	if given != "" {
		all = append(all, given)
	}
	for _, check := range checks {
		switch {
		case hasGate(given, check.gate):
		case check.gate == initialCheck:
			all = append(all, "$("+checkVariable+")")
		default:
			all = append(all, check.gate+"=true")
		}
	}
	return strings.Join(all, ",")
}

func hasGate(given, gate string) bool { return strings.Contains(given, gate+"=") }

// CompareAtStart has the Pod's etcd compare its data with that of its peers at each start of its container from now on, if the
// operator sets the checks. It has no effect on Pods of releases up to 0.9, whose environment has it for good.
func CompareAtStart(c *v1beta1.EtcdCluster, pod *corev1.Pod) {
	if IsUnchecked(c, pod) {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1beta1.AnnotationInitialCorruptCheck, comparing(pod))
	}
}

// IsUnchecked says whether the Pod's container would start on any data, and CompareAtStart changes that.
func IsUnchecked(c *v1beta1.EtcdCluster, pod *corev1.Pod) bool {
	wanted := comparing(pod)
	return checksCorruption(c) && wanted != "" && pod.Annotations[v1beta1.AnnotationInitialCorruptCheck] != wanted
}

// comparing is what the annotation must hold for the Pod's etcd to compare when it starts; empty if its container does not read it, or
// never starts again.
func comparing(pod *corev1.Pod) string {
	if pod.Annotations[v1beta1.AnnotationForced] != "" {
		return ""
	}
	for _, v := range Etcd(pod).Env {
		switch {
		case v.ValueFrom == nil:
		case v.Name == checkVariable:
			return initialCheck + "=true"
		case v.Name == environment(checks[0].flag):
			return "true"
		}
	}
	return ""
}
