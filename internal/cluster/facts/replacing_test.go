package facts

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
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
			s.Cluster.Status.SlowReplacement = &v1beta1.SlowReplacement{Member: "a-7", Since: metav1.NewTime(at.Add(-ago))}
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
			s.Cluster.Spec.Recovery.SlowMembers = v1beta1.SlowKeep
		}, ""},
	} {
		t.Run(what, func(t *testing.T) {
			s, v := Snapshot{Cluster: &v1beta1.EtcdCluster{}, Now: at}, cluster.View{}
			s.Cluster.Spec.Recovery.SlowMembers, s.Cluster.Spec.Recovery.SlowMemberTimeout.Duration = v1beta1.SlowReplace, time.Hour
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
		policy v1beta1.SlowMemberPolicy
		want   bool
	}{
		"a moment ago": {time.Minute, v1beta1.SlowReplace, true},
		"too long ago": {2 * time.Hour, v1beta1.SlowReplace, false},
		"not any more": {time.Minute, v1beta1.SlowKeep, false},
	} {
		t.Run(what, func(t *testing.T) {
			c := &v1beta1.EtcdCluster{}
			c.Spec.Recovery.SlowMembers = test.policy
			c.Status.SlowReplacement = &v1beta1.SlowReplacement{Member: "a-1", Since: metav1.NewTime(at.Add(-test.ago))}
			j := begin(Snapshot{Cluster: c, Now: at})
			j.members["a-1"], j.members["a-2"] = &cluster.Member{Name: "a-1"}, &cluster.Member{Name: "a-2"}
			j.replacing()
			if j.members["a-1"].Outworn != test.want || j.members["a-2"].Outworn {
				t.Errorf("a-1: %t, a-2: %t", j.members["a-1"].Outworn, j.members["a-2"].Outworn)
			}
		})
	}
}

// TestExchanging: a member is exchanged whose volume has another class than the spec names, or which the annotation names; a spec without a
// class has none exchanged, and a name that was never a member's is said.
func TestExchanging(t *testing.T) {
	volume := func(name, class string, labels map[string]string) corev1.PersistentVolumeClaim {
		claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		if class != "" {
			claim.Spec.StorageClassName = &class
		}
		return claim
	}
	volumes := []corev1.PersistentVolumeClaim{
		volume("a-0", "fast", nil), volume("a-1", "slow", nil), volume("a-2", "", nil), volume("b-0", "slow", nil),
		volume("a-3", "slow", map[string]string{v1beta1.LabelQuarantined: "true"}),
	}
	for what, test := range map[string]struct {
		class, asked        string
		exchanged, noMember string
	}{
		"no class is named":     {},
		"another class":         {class: "fast", exchanged: "a-1 a-2"},
		"a person asks":         {asked: "a-0", exchanged: "a-0"},
		"both":                  {class: "fast", asked: "a-0, a-2 a-0", exchanged: "a-0 a-1 a-2"},
		"one that was replaced": {asked: "a-4", exchanged: ""},
		"one that never was":    {asked: "a-7,a-1", exchanged: "a-1", noMember: "a-7"},
		"of another cluster":    {asked: "b-0", noMember: "b-0"},
	} {
		t.Run(what, func(t *testing.T) {
			c := &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
			c.Status.NextSerial = 5
			if test.class != "" {
				c.Spec.Storage.StorageClassName = &test.class
			}
			if test.asked != "" {
				c.Annotations = map[string]string{v1beta1.AnnotationReplaceMembers: test.asked}
			}
			j := begin(Snapshot{Cluster: c, Volumes: volumes})
			for _, name := range []string{"a-0", "a-1", "a-2", "a-3"} {
				j.member(name)
			}
			j.replacing()
			var exchanged []string
			for _, m := range j.sorted() {
				if m.Exchange != "" {
					exchanged = append(exchanged, m.Name)
				}
				if m.Asked && !strings.Contains(test.asked, m.Name) {
					t.Errorf("%s was not asked for", m.Name)
				}
			}
			if got := strings.Join(exchanged, " "); got != test.exchanged || j.v.Want.NoMember != test.noMember {
				t.Errorf("got %q, %q", got, j.v.Want.NoMember)
			}
		})
	}
}
