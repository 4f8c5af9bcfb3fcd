package facts

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// TestOutworn: a member that stays slow is replaced only if that is allowed, if it is the only one, and once a day.
func TestOutworn(t *testing.T) {
	at := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	slow := func(since time.Duration, names ...string) func(*Snapshot, *cluster.View) {
		return func(_ *Snapshot, v *cluster.View) {
			v.Anomalies = nil
			for i := range v.Members {
				v.Members[i].Sluggish = false
			}
			for _, name := range names {
				v.Anomalies = append(v.Anomalies, cluster.Anomaly{Member: name, Signal: "fsync", Value: 0.4, Usual: 0.002, Since: at.Add(-since)})
				for i := range v.Members {
					v.Members[i].Sluggish = v.Members[i].Sluggish || v.Members[i].Name == name
				}
			}
		}
	}
	replaced := func(ago time.Duration) func(*Snapshot, *cluster.View) {
		return func(s *Snapshot, _ *cluster.View) {
			s.Cluster.Status.SlowReplacement = &v1alpha1.SlowReplacement{Member: "a-7", Since: metav1.NewTime(at.Add(-ago))}
		}
	}
	for what, test := range map[string]struct {
		spoil func(*Snapshot, *cluster.View)
		want  string
	}{
		"an hour":                 {func(*Snapshot, *cluster.View) {}, "a-1"},
		"a moment":                {slow(59*time.Minute, "a-1"), ""},
		"none":                    {slow(time.Hour), ""},
		"two of them":             {slow(time.Hour, "a-1", "a-2"), ""},
		"by two signals":          {slow(time.Hour, "a-2", "a-2"), "a-2"},
		"one was replaced":        {replaced(23 * time.Hour), ""},
		"one was, the day before": {replaced(25 * time.Hour), "a-1"},
		"it is not allowed": {func(s *Snapshot, _ *cluster.View) {
			s.Cluster.Spec.Recovery.SlowMembers = v1alpha1.SlowKeep
		}, ""},
	} {
		t.Run(what, func(t *testing.T) {
			s, v := Snapshot{Cluster: &v1alpha1.EtcdCluster{}, Now: at}, cluster.View{}
			s.Cluster.Spec.Recovery.SlowMembers, s.Cluster.Spec.Recovery.SlowMemberTimeout.Duration = v1alpha1.SlowReplace, time.Hour
			for _, name := range []string{"a-0", "a-1", "a-2"} {
				v.Members = append(v.Members, cluster.Member{Name: name, Role: cluster.Voter})
			}
			slow(time.Hour, "a-1")(&s, &v)
			test.spoil(&s, &v)
			if got := outworn(s, v); got.Member != test.want || (got.Why != "") != (test.want != "") {
				t.Errorf("%+v, want %q", got, test.want)
			}
		})
	}
}

// TestReplacing: the member is marked while it is replaced, for an hour at most, and only while that is allowed.
func TestReplacing(t *testing.T) {
	at := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for what, test := range map[string]struct {
		ago    time.Duration
		policy v1alpha1.SlowMemberPolicy
		want   bool
	}{
		"a moment ago": {time.Minute, v1alpha1.SlowReplace, true},
		"too long ago": {2 * time.Hour, v1alpha1.SlowReplace, false},
		"not any more": {time.Minute, v1alpha1.SlowKeep, false},
	} {
		t.Run(what, func(t *testing.T) {
			c := &v1alpha1.EtcdCluster{}
			c.Spec.Recovery.SlowMembers = test.policy
			c.Status.SlowReplacement = &v1alpha1.SlowReplacement{Member: "a-1", Since: metav1.NewTime(at.Add(-test.ago))}
			j := begin(Snapshot{Cluster: c, Now: at})
			j.members["a-1"], j.members["a-2"] = &cluster.Member{Name: "a-1"}, &cluster.Member{Name: "a-2"}
			j.replacing()
			if j.members["a-1"].Outworn != test.want || j.members["a-2"].Outworn {
				t.Errorf("a-1: %t, a-2: %t", j.members["a-1"].Outworn, j.members["a-2"].Outworn)
			}
		})
	}
}
