package facts

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

const (
	// compareEvery is how often the data of all voters is compared.
	compareEvery = 6 * time.Hour
	// quicklyCompared is the largest database, in bytes in use, that is compared at any time. etcd reads all of it for its hash, and no write
	// is applied meanwhile: 1.3 seconds were measured at 1.1 GiB, so that this much holds up clients for a tenth of a second.
	quicklyCompared = 100 << 20
	// compareAgain is how soon that is tried again where it could not be done.
	compareAgain = 10 * time.Minute
)

// isComparisonDue says whether the data of voters is to be compared, by what the status says of the last time.
func isComparisonDue(s Snapshot) bool {
	last, asked := s.Cluster.Status.LastHashCheck, s.Cluster.Annotations[v1beta1.AnnotationCheckHashes]
	switch {
	case last != nil && last.Verdict == v1beta1.HashesDifferent:
		return true
	case last != nil && last.Verdict == v1beta1.HashesUnknown && s.isRecent(last.Time.Time, compareAgain):
		return false
	case asked != "" && (last == nil || last.Request != asked):
		return true
	case s.Cluster.Spec.Maintenance.CorruptionCheck == v1beta1.CorruptionCheckOff:
		return false
	case holdsUpWrites(s):
		return false
	case last == nil, last.Verdict == v1beta1.HashesUnknown:
		return true
	default: // a restore and a replacement bring other members
		return !s.isRecent(last.Time.Time, compareEvery) || !slices.Equal(votersOf(s.Cluster), last.Members)
	}
}

// holdsUpWrites says whether clients would notice a comparison, and no window is open in which they may.
func holdsUpWrites(s Snapshot) bool {
	large := slices.ContainsFunc(s.Answers, func(a *Answer) bool { return a.Status.DBSizeInUse > quicklyCompared })
	window := s.Cluster.Spec.Maintenance.Defragmentation.Window
	return large && (window == nil || !isOpen(window, s.Now))
}

// votersOf are the voters in the status, by serial number.
func votersOf(c *v1beta1.EtcdCluster) []string {
	var all []string
	for _, m := range c.Status.Members {
		if roles[m.Role] == cluster.Voter {
			all = append(all, m.Name)
		}
	}
	return all
}

// compares says whether the data of members can be compared at this look: while one does not start because of it, and else if every voter
// serves. Members of two minor versions are not compared: one of them may know fields that the other does not.
func (j *builder) compares() bool {
	voters, minors := 0, map[string]bool{}
	for _, m := range j.sorted() {
		switch {
		case !cluster.IsListed(m):
			continue
		case m.Differs && !m.Answers:
			return true
		case m.Role == cluster.Voter && !m.Healthy:
			return false
		case m.Role == cluster.Voter:
			voters++
			minors[version.MinorOf(m.Version)] = true
		}
	}
	return isComparisonDue(j.Snapshot) && voters > 1 && len(minors) == 1
}

// noteComparison records what a comparison has shown, if one was made. Clients write meanwhile: a member counts as odd only if the
// comparison before has found a difference, too.
func (j *builder) noteComparison(answers []*Answer) {
	j.noteStopped(answers)
	hashes := j.hashes(answers)
	if !j.compares() || slices.ContainsFunc(hashes, func(h cluster.Hash) bool { return h.Unread == notAsked || h.Unread == silent }) {
		return
	}
	odd, c := cluster.Compare(hashes, revisionOf(answers))
	last := j.c.Status.LastHashCheck
	c.Request = j.c.Annotations[v1beta1.AnnotationCheckHashes]
	c.First = c.Differ && (last == nil || last.Verdict != v1beta1.HashesDifferent || !slices.Equal(last.Members, c.Members))
	j.v.Hashes = c
	switch {
	case !c.Differ || c.First:
	case len(odd) == 0:
		j.v.Undecided = c.Message
	default:
		for _, name := range odd {
			j.member(name).HashMismatch = true
		}
	}
}

// revisionOf is the revision at which hashes were asked for.
func revisionOf(answers []*Answer) int64 {
	for _, a := range answers {
		if a.Hash != nil {
			return a.Hash.Revision
		}
	}
	return 0
}

// noteStopped judges members whose etcd does not start because other members have other data. The data of such a member counts as damaged
// if all other voters have the same, and are a quorum. Otherwise one of the others may have the bad data.
func (j *builder) noteStopped(answers []*Answer) {
	var others []cluster.Hash
	var stopped []*cluster.Member
	voters := 0
	for _, h := range j.hashes(answers) {
		voters++
		if m := j.member(h.Member); m.Differs && !m.Answers {
			stopped = append(stopped, m)
		} else {
			others = append(others, h)
		}
	}
	if len(stopped) == 0 {
		return
	}
	unknown := cluster.Disagreement(others, voters)
	if unknown == "" {
		for _, m := range stopped {
			m.Damage = "its data is not that of the other voters, which have the same: etcd does not start on it"
		}
		return
	}
	j.v.Undecided = fmt.Sprintf("etcd of %s does not start because other members have other data, and %s", stopped[0].Name, unknown)
}
