package facts

import (
	"fmt"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

const (
	// replacedWithin is for how long the member that is to take the place of a slow one may take to join.
	replacedWithin = time.Hour
	// replacedAgain is the least time between two of them: what makes members slow again and again is no member.
	replacedAgain = 24 * time.Hour
)

// outworn is the member that is to be replaced next, because it stays slow and that is allowed: not if several are slow.
func outworn(s Snapshot, v cluster.View) cluster.Replacing {
	r, last := s.Cluster.Spec.Recovery, s.Cluster.Status.SlowReplacement
	wasOne := last != nil && s.isRecent(last.Since.Time, replacedAgain)
	if r.SlowMembers != v1alpha1.SlowReplace || len(v.Select(cluster.IsSluggish)) != 1 || wasOne {
		return cluster.Replacing{}
	}
	for _, a := range v.Anomalies {
		if lasts := s.Now.Sub(a.Since); lasts >= max(r.SlowMemberTimeout.Duration, time.Minute) {
			why := fmt.Sprintf("it has been slower than the others for %s: %s %s, usually %s", lasts.Round(time.Minute), a.Signal,
				a.Figure(a.Value), a.Figure(a.Usual))
			return cluster.Replacing{Member: a.Member, Why: why, Since: s.Now.Unix()}
		}
	}
	return cluster.Replacing{}
}

// replacing marks the member that is being replaced.
func (j *builder) replacing() {
	last := j.c.Status.SlowReplacement
	if last != nil && j.isRecent(last.Since.Time, replacedWithin) && j.c.Spec.Recovery.SlowMembers == v1alpha1.SlowReplace {
		if m, known := j.members[last.Member]; known {
			m.Outworn = true
		}
	}
}
