package facts

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
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
	if r.SlowMembers != v1beta1.SlowReplace || len(v.Select(cluster.IsSluggish)) != 1 || wasOne {
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

// replacing marks the members that are to be replaced.
func (j *builder) replacing() {
	j.exchanging()
	last := j.c.Status.SlowReplacement
	if last != nil && j.isRecent(last.Since.Time, replacedWithin) && j.c.Spec.Recovery.SlowMembers == v1beta1.SlowReplace {
		if m, known := j.members[last.Member]; known {
			m.Outworn = true
		}
	}
}

// exchanging marks the members whose place others are to take although they are well: those that a person names, and those whose volume has
// another storage class than the spec names.
func (j *builder) exchanging() {
	for i := range j.Volumes {
		claim := &j.Volumes[i]
		if m, known := j.members[claim.Name]; known && !isQuarantined(claim) {
			m.Exchange = otherClass(j.c.Spec.Storage.StorageClassName, claim)
		}
	}
	for _, name := range askedFor(j.c) {
		serial := cluster.Serial(j.c.Name, name)
		if m, known := j.members[name]; known {
			m.Exchange, m.Asked = "the annotation "+v1beta1.AnnotationReplaceMembers+" names it", true
		} else if serial < 0 || serial >= j.v.Record.NextSerial {
			j.v.Want.NoMember = name
		}
	}
}

// otherClass says which storage class a volume has, if the spec names another one.
func otherClass(wanted *string, claim *corev1.PersistentVolumeClaim) string {
	has := claim.Spec.StorageClassName
	switch {
	case wanted == nil, has != nil && *has == *wanted:
		return ""
	case has == nil:
		return fmt.Sprintf("its volume has no storage class, and %q is wanted", *wanted)
	default:
		return fmt.Sprintf("its volume has the storage class %q, and %q is wanted", *has, *wanted)
	}
}

// askedFor are the names that a person wants replaced.
func askedFor(c *v1beta1.EtcdCluster) []string {
	names := strings.FieldsFunc(c.Annotations[v1beta1.AnnotationReplaceMembers], func(r rune) bool { return r == ',' || r == ' ' })
	slices.Sort(names)
	return slices.Compact(names)
}
