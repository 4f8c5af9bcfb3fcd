package specs

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

const featureGates = "feature-gates"

// checks are etcd's own comparisons of members' data: when a member starts, and of the hashes that compactions leave. Gates of etcd 3.6
// and newer, and flags of etcd 3.5 (https://github.com/etcd-io/etcd/blob/main/CHANGELOG/CHANGELOG-3.6.md). Until 3.5.10 and 3.6.0 the
// second found differences where there were none, after a compaction that was interrupted (https://github.com/etcd-io/etcd/issues/15919);
// no older version is admitted by spec.version.
var checks = []struct{ gate, flag string }{
	{"InitialCorruptCheck", experimental + "initial-corrupt-check"},
	{"CompactHashCheck", experimental + "compact-hash-check-enabled"},
}

// CorruptionChecks is the environment by which an etcd of that version compares members' data by itself. It is the environment because
// etcd leaves alone there what it does not know: the image of a Pod may be exchanged in place, and no version has the flags of all others.
func CorruptionChecks(version string) []corev1.EnvVar {
	if strings.HasPrefix(version, "3.5") {
		var all []corev1.EnvVar
		for _, check := range checks {
			all = append(all, corev1.EnvVar{Name: environment(check.flag), Value: "true"})
		}
		return all
	}
	return []corev1.EnvVar{{Name: environment(featureGates), Value: withGates("")}}
}

// checkCorruption has a Pod's etcd compare its data with that of its peers. Pods of earlier releases need not restart for it, nor does a
// change of the setting restart one, so no fingerprint counts it. What the user has set in etcd.extraArgs stays: etcd refuses to start
// with a setting that it finds twice.
func checkCorruption(c *v1beta1.EtcdCluster, pod *corev1.Pod) {
	given := c.Spec.Etcd.ExtraArgs
	for _, check := range checks {
		if _, set := given[check.flag]; set || c.Spec.Maintenance.CorruptionCheck == v1beta1.CorruptionCheckOff {
			return
		}
	}
	etcd := Etcd(pod)
	gates, set := given[featureGates]
	if !set {
		etcd.Env = append(etcd.Env, CorruptionChecks(c.Spec.Version)...)
		return
	}
	for i, arg := range etcd.Args {
		if arg == "--"+featureGates+"="+gates {
			etcd.Args[i] = "--" + featureGates + "=" + withGates(gates)
		}
	}
}

// withGates adds the gates of the checks that are not among those given.
func withGates(given string) string {
	var all []string
	if given != "" {
		all = append(all, given)
	}
	for _, check := range checks {
		if !strings.Contains(given, check.gate+"=") {
			all = append(all, check.gate+"=true")
		}
	}
	return strings.Join(all, ",")
}
