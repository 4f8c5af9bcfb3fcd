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

// TestCorruptionChecks: each version gets the settings that it knows, and what the user has set stays. A member that starts with others
// does not compare then, and does when its container starts again. No Pod restarts for any of it.
func TestCorruptionChecks(t *testing.T) {
	for what, test := range map[string]struct {
		version        string
		together, want string
		args           map[string]string
		off            bool
	}{
		"3.5": {
			version:  "3.5.35",
			together: "ETCD_EXPERIMENTAL_COMPACT_HASH_CHECK_ENABLED=true",
			want:     "ETCD_EXPERIMENTAL_INITIAL_CORRUPT_CHECK=true ETCD_EXPERIMENTAL_COMPACT_HASH_CHECK_ENABLED=true",
		},
		"3.6": {
			version: "3.6.16", together: gates(",CompactHashCheck=true"), want: gates("InitialCorruptCheck=true,CompactHashCheck=true"),
		},
		"newest of 3.7": {
			version: "3.7", together: gates(",CompactHashCheck=true"), want: gates("InitialCorruptCheck=true,CompactHashCheck=true"),
		},
		"off": {version: "3.6.16", off: true},
		"other gates": {
			version: "3.6.16", args: map[string]string{"feature-gates": "StopGRPCServiceOnDefrag=true"},
			together: "--feature-gates=StopGRPCServiceOnDefrag=true,,CompactHashCheck=true",
			want:     "--feature-gates=StopGRPCServiceOnDefrag=true,InitialCorruptCheck=true,CompactHashCheck=true",
		},
		"a gate of the user's": {
			version: "3.6.16", args: map[string]string{"feature-gates": "CompactHashCheck=false"},
			together: "--feature-gates=CompactHashCheck=false,",
			want:     "--feature-gates=CompactHashCheck=false,InitialCorruptCheck=true",
		},
		"the gate itself": {
			version: "3.6.16", args: map[string]string{"feature-gates": "InitialCorruptCheck=true"},
			together: "--feature-gates=InitialCorruptCheck=true,CompactHashCheck=true",
			want:     "--feature-gates=InitialCorruptCheck=true,CompactHashCheck=true",
		},
		"a flag of the user's": {
			version: "3.6.16", args: map[string]string{"experimental-initial-corrupt-check": "true"},
			together: "--experimental-initial-corrupt-check=true",
			want:     "--experimental-initial-corrupt-check=true",
		},
	} {
		c := with(func(s *v1beta1.EtcdClusterSpec) { s.Version, s.Etcd.ExtraArgs = test.version, test.args })
		earlier := specs.Pod(c, "example-0", forming())
		if test.off {
			c.Spec.Maintenance.CorruptionCheck = v1beta1.CorruptionCheckOff
		}
		pod := specs.Pod(c, "example-0", forming())
		if got := checksOf(pod); got != test.together {
			t.Errorf("%s, with others: %s, want %s", what, got, test.together)
		}
		if got := specs.IsUnchecked(c, pod); got != (test.together != test.want) {
			t.Errorf("%s: to be changed is %t", what, got)
		}
		if specs.CompareAtStart(c, pod); checksOf(pod) != test.want || specs.IsUnchecked(c, pod) {
			t.Errorf("%s, when it starts again: %s, want %s", what, checksOf(pod), test.want)
		}
		beside := specs.Pod(c, "example-0", besideOthers())
		if got := checksOf(beside); got != test.want {
			t.Errorf("%s, beside others that serve: %s, want %s", what, got, test.want)
		}
		for _, each := range []*corev1.Pod{earlier, pod, beside} {
			if change := specs.Change(c, each); change != cluster.Same {
				t.Errorf("%s: a Pod of the other setting restarts: %v", what, change)
			}
		}
	}
}

// TestNothingToCompareLater: the environment of Pods that 0.9 has made has the check for good; a forced one never starts again; and a
// setting that the user has turned off since turns nothing on.
func TestNothingToCompareLater(t *testing.T) {
	env := func(pod *corev1.Pod, all ...corev1.EnvVar) *corev1.Pod {
		specs.Etcd(pod).Env = all
		return pod
	}
	made := specs.Pod(example(), "example-0", forming())
	byNinth := env(made.DeepCopy(), corev1.EnvVar{Name: "ETCD_FEATURE_GATES", Value: "InitialCorruptCheck=true,CompactHashCheck=true"})
	withFlags := env(made.DeepCopy(), corev1.EnvVar{Name: "ETCD_EXPERIMENTAL_INITIAL_CORRUPT_CHECK", Value: "true"})
	off := with(func(s *v1beta1.EtcdClusterSpec) { s.Maintenance.CorruptionCheck = v1beta1.CorruptionCheckOff })
	for what, test := range map[string]struct {
		c   *v1beta1.EtcdCluster
		pod *corev1.Pod
	}{
		"by 0.9": {example(), byNinth}, "of etcd 3.5, by 0.9": {example(), withFlags},
		"forced": {example(), specs.ForcedPod(example(), "example-0")}, "off": {off, made.DeepCopy()},
	} {
		before := checksOf(test.pod)
		if specs.IsUnchecked(test.c, test.pod) {
			t.Errorf("%s: it is to be changed", what)
		}
		if specs.CompareAtStart(test.c, test.pod); checksOf(test.pod) != before {
			t.Errorf("%s: %s becomes %s", what, before, checksOf(test.pod))
		}
	}
}

// gates are what the environment has of them.
func gates(all string) string { return "ETCD_FEATURE_GATES=" + all }

// besideOthers is how a member starts whose data is on its volume, while its peers serve.
func besideOthers() specs.Joining {
	return specs.Joining{Token: plan().Token, Members: []string{"example-0"}, Compares: true}
}

// checksOf are the settings that have to do with checks, as the kubelet gives them to the container: a variable has what an annotation
// holds, or what its value becomes with variables before it. etcd passes over those that are empty.
func checksOf(pod *corev1.Pod) string {
	var all, known []string
	for _, v := range pod.Spec.Containers[0].Env {
		value := strings.NewReplacer(known...).Replace(v.Value)
		if v.ValueFrom != nil {
			path := strings.TrimSuffix(strings.TrimPrefix(v.ValueFrom.FieldRef.FieldPath, "metadata.annotations['"), "']")
			value = pod.Annotations[path]
		}
		known = append(known, "$("+v.Name+")", value)
		if value != "" && v.Name != "INITIAL_CORRUPT_CHECK" {
			all = append(all, v.Name+"="+value)
		}
	}
	for _, arg := range pod.Spec.Containers[0].Args {
		all = append(all, strings.NewReplacer(known...).Replace(arg))
	}
	return strings.Join(slices.DeleteFunc(all, func(setting string) bool {
		return !strings.Contains(setting, "FEATURE_GATES") && !strings.Contains(setting, "feature-gates") &&
			!strings.Contains(setting, "CORRUPT_CHECK") && !strings.Contains(setting, "HASH_CHECK") && !strings.Contains(setting, "corrupt-check")
	}), " ")
}
