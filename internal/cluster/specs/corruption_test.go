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

// TestCorruptionChecks: each version gets the settings that it knows, and what the user has set stays. No Pod restarts for any of it.
func TestCorruptionChecks(t *testing.T) {
	gates := "ETCD_FEATURE_GATES=InitialCorruptCheck=true,CompactHashCheck=true"
	flags := "ETCD_EXPERIMENTAL_INITIAL_CORRUPT_CHECK=true ETCD_EXPERIMENTAL_COMPACT_HASH_CHECK_ENABLED=true"
	for what, test := range map[string]struct {
		version, want string
		args          map[string]string
		off           bool
	}{
		"3.5":           {version: "3.5.35", want: flags},
		"3.6":           {version: "3.6.16", want: gates},
		"newest of 3.7": {version: "3.7", want: gates},
		"off":           {version: "3.6.16", off: true},
		"other gates": {
			version: "3.6.16", args: map[string]string{"feature-gates": "StopGRPCServiceOnDefrag=true"},
			want: "--feature-gates=StopGRPCServiceOnDefrag=true,InitialCorruptCheck=true,CompactHashCheck=true",
		},
		"a gate of the user's": {
			version: "3.6.16", args: map[string]string{"feature-gates": "CompactHashCheck=false"},
			want: "--feature-gates=CompactHashCheck=false,InitialCorruptCheck=true",
		},
		"a flag of the user's": {
			version: "3.6.16", args: map[string]string{"experimental-initial-corrupt-check": "true"},
			want: "--experimental-initial-corrupt-check=true",
		},
	} {
		c := with(func(s *v1beta1.EtcdClusterSpec) { s.Version, s.Etcd.ExtraArgs = test.version, test.args })
		earlier := specs.Pod(c, "example-0", forming())
		if test.off {
			c.Spec.Maintenance.CorruptionCheck = v1beta1.CorruptionCheckOff
		}
		pod := specs.Pod(c, "example-0", forming())
		if got := strings.Join(checksOf(pod.Spec.Containers[0].Env, pod.Spec.Containers[0].Args), " "); got != test.want {
			t.Errorf("%s: %s, want %s", what, got, test.want)
		}
		if change := specs.Change(c, earlier); change != cluster.Same {
			t.Errorf("%s: a Pod of the other setting restarts: %v", what, change)
		}
	}
}

// checksOf are the settings that have to do with checks.
func checksOf(variables []corev1.EnvVar, args []string) []string {
	var all []string
	for _, v := range variables {
		all = append(all, v.Name+"="+v.Value)
	}
	return slices.DeleteFunc(append(all, args...), func(setting string) bool {
		return !strings.Contains(setting, "FEATURE_GATES") && !strings.Contains(setting, "feature-gates") &&
			!strings.Contains(setting, "CORRUPT_CHECK") && !strings.Contains(setting, "HASH_CHECK") && !strings.Contains(setting, "corrupt-check")
	})
}
