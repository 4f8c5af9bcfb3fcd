package facts_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

// TestQuotaBelowTheDatabase: a member is only spared a quota that is less than it has now. One
// that has outgrown its own is reported by etcd's alarm.
func TestQuotaBelowTheDatabase(t *testing.T) {
	for name, test := range map[string]struct {
		had, want string
		cramped   bool
	}{
		"less than the database, which has 1Mi": {"2Gi", "900Ki", true},
		"less, and enough":                      {"2Gi", "1Gi", false},
		"as it was":                             {"900Ki", "900Ki", false},
		"more than it was, and still too small": {"800Ki", "900Ki", false},
	} {
		s := newScene(t)
		s.c.Spec.Etcd.Quota = ptr.To(resource.MustParse(test.had))
		for _, member := range []string{"a-0", "a-1", "a-2"} {
			s.pod(member).Spec = s.newPod(member).Spec
		}
		s.c.Spec.Etcd.Quota = ptr.To(resource.MustParse(test.want))
		if m := s.member("a-1"); m.Pod.QuotaBelowDBSize != test.cramped {
			t.Errorf("%s: cramped %t, database of %d", name, m.Pod.QuotaBelowDBSize, m.DBSize)
		}
	}
}
