package crash_test

import (
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster/crash"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestFault27InitialCheck: with the checks that members get, etcd does not start on data that is not that of its peers, and says so. A
// member with the same data starts. The words prove nothing about whose data is the good one.
func TestFault27InitialCheck(t *testing.T) {
	ofAllVersions(t, func(t *testing.T, version string) {
		a := withoutM1(t, version)
		flags := a.all("existing")
		for _, v := range specs.CorruptionChecks(version) {
			name, value := flagOf(v.Name), v.Value
			flags = append(flags, "--"+name+"="+value)
		}
		others := func(*testing.T, string) { a.m1.Rewrite(strings.Repeat("value", 20), strings.Repeat("other", 20)) }
		a.after(others, flags)
		a.ends("on other data", crash.Differs)
		a.after(nothing, flags)
		a.Serves("m1")
	})
}

// flagOf is the flag that etcd takes from a variable.
func flagOf(variable string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(variable, "ETCD_"), "_", "-"))
}
