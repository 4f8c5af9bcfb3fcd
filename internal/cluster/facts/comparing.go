// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"hash/fnv"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// etcd reads all of its data for a hash, and applies no write meanwhile: writes to that member wait, and reads of it behind them. It goes
// on after the one who has asked has given up.
const (
	// compareEvery is how often the data of all voters is compared.
	compareEvery = 6 * time.Hour
	// turnLasts is the part of that in which a comparison may begin, at another time for each cluster. Looks are half a minute apart.
	turnLasts = 10 * time.Minute
	// turnsInWindow is how often that comes again while a window is open.
	turnsInWindow = time.Hour
	// compareAgain is how soon a comparison is tried again that could not be made; it doubles up to compareEvery.
	compareAgain = 10 * time.Minute

	// usualSpeed is how many bytes etcd hashes in a second, where that was not measured: 1.3 seconds for 1.1 GiB were.
	usualSpeed = 1 << 30
	// leastMeasured is the least data by which the speed is measured: for less the way to the member counts.
	leastMeasured = 100 << 20
	// measuredFor is for how long the speed counts that was measured.
	measuredFor = 7 * 24 * time.Hour
	// holdsUp is the longest time that a member may be held up by a comparison without a request, where no window is set: 100 MiB at the
	// usual speed.
	holdsUp = 100 * time.Millisecond
	// looksFor is how long a look asks members for hashes. Those that are left come at the next one.
	looksFor = 2 * time.Second
	// longestTimeout bounds a call for a comparison on request: 2 GiB that had to be read from a disk took more than HashTimeout. A look
	// must end within a minute.
	longestTimeout = 30 * time.Second
)

// HashTimeout is how long a member has at least to read all of its data: at 8 GiB, the most that etcd suggests for a database
// (https://etcd.io/docs/v3.6/dev-guide/limit/), a disk of 1 GB/s takes that long. Nothing is asked for that is known to take longer, unless
// somebody wants it.
const HashTimeout = 8 * time.Second

// isComparisonDue says whether the data of voters is to be compared, by what the status says of the last time. A comparison that has begun
// goes on.
func isComparisonDue(s Snapshot) bool {
	last := s.Cluster.Status.LastHashCheck
	switch {
	case len(s.Hashes) > 0, last != nil && last.Verdict == v1beta1.HashesDifferent, isComparisonAsked(s):
		return true
	case s.Cluster.Spec.Maintenance.CorruptionCheck == v1beta1.CorruptionCheckOff, !mayCompare(s):
		return false
	case last == nil: // many old clusters may have an operator that has just learnt to compare
		return isTurn(s) || s.isRecent(s.Cluster.CreationTimestamp.Time, compareEvery)
	case last.Verdict == v1beta1.HashesUnknown:
		return !s.isRecent(last.Time.Time, min(compareAgain<<min(max(last.Failures-1, 0), 16), compareEvery))
	case !slices.Equal(votersOf(s.Cluster), last.Members): // a restore and a replacement bring other members
		return true
	default:
		return isTurn(s) && !s.isRecent(last.Time.Time, compareEvery/2)
	}
}

// isComparisonAsked says whether the annotation asks for a comparison that was not made.
func isComparisonAsked(s Snapshot) bool {
	last, asked := s.Cluster.Status.LastHashCheck, s.Cluster.Annotations[v1beta1.AnnotationCheckHashes]
	return asked != "" && (last == nil || last.Request != asked)
}

// mayCompare says whether members may be compared without a request: in the window if one is set, and no member longer than
// it is given; else if clients hardly notice it.
func mayCompare(s Snapshot) bool {
	if window := s.Cluster.Spec.Maintenance.Defragmentation.Window; window != nil {
		return isOpen(window, s.Now) && hashTakes(s) < HashTimeout
	}
	return hashTakes(s) <= holdsUp
}

// isTurn says whether it is the cluster's turn, which its UID decides: many clusters are not compared at once, whatever their operator and
// their windows are. In a window the turn comes again while it is open.
func isTurn(s Snapshot) bool {
	every := compareEvery
	if window := s.Cluster.Spec.Maintenance.Defragmentation.Window; window != nil {
		every = max(min(window.Duration.Duration, turnsInWindow), turnLasts)
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(s.Cluster.UID)) // it never fails
	own := s.Now.Add(-time.Duration(sum.Sum32()) * time.Second % every)
	return own.Sub(own.Truncate(every)) < turnLasts
}

// hashTakes is how long a member is expected to take for the hash of the largest database, at the speed of the last time; at most
// longestTimeout.
func hashTakes(s Snapshot) time.Duration {
	speed := int64(usualSpeed)
	if last := s.Cluster.Status.LastHashCheck; last != nil && last.Speed != nil && s.isRecent(last.Time.Time, measuredFor) {
		speed = max(last.Speed.Value(), 1)
	}
	seconds := float64(largestInUse(s.Answers)) / float64(speed)
	return time.Duration(min(seconds, longestTimeout.Seconds()) * float64(time.Second))
}

// hashSpeed is how many bytes the slowest of these members hashes in a second, if they have so many; 0 if that was not measured.
func hashSpeed(hashes []cluster.Hash, size int64) int64 {
	slowest := time.Duration(0)
	for _, h := range hashes {
		slowest = max(slowest, h.Took)
	}
	if slowest <= 0 || size < leastMeasured {
		return 0
	}
	return max(int64(float64(size)/slowest.Seconds()), 1)
}

// largestInUse is how many bytes of data the largest database has.
func largestInUse(answers []*Answer) int64 {
	largest := int64(0)
	for _, a := range answers {
		largest = max(largest, a.Status.DBSizeInUse)
	}
	return largest
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

// HashReads is who is asked for the hash of its data, one after another: no member if Asked is empty.
type HashReads struct {
	Asked    []*Answer      // the leader last: the others go on without a member that is held up
	Revision int64          // up to which it is, the same for all: the newest that all have
	Timeout  time.Duration  // of each request
	Earlier  []cluster.Hash // that looks before have read
	All      bool           // at this look, however long it takes
}

// IsEnough says whether no other is asked at this look, which has taken so long for that: one could not say, or it has taken long enough.
func (r HashReads) IsEnough(last cluster.Hash, took time.Duration) bool {
	return !r.All && (last.Unread != "" || took >= looksFor)
}

// NeedHashKV is who is asked for hashes: no member while no alarm says that data differs, unless members are to be compared. What follows
// an alarm, or a member that does not start because of it, is decided by the hashes of all.
func NeedHashKV(s Snapshot) HashReads {
	alarmed := slices.ContainsFunc(s.Answers, func(a *Answer) bool { return len(a.Status.Alarms) > 0 })
	if !alarmed && !isComparisonDue(s) && !slices.ContainsFunc(s.Pods, func(pod corev1.Pod) bool { return differs(&pod) }) {
		return HashReads{}
	}
	j := begin(s)
	j.kubernetes()
	j.etcd()
	isCorrupt := len(j.v.Raised(cluster.Corrupt)) > 0
	if j.v.Unread != "" || j.v.UnknownVoters() > 0 || !isCorrupt && !j.compares() {
		return HashReads{}
	}
	reads := HashReads{Timeout: min(max(HashTimeout, 2*hashTakes(s)), longestTimeout), All: isCorrupt || j.doesNotStart()}
	if isComparisonAsked(s) && !reads.All { // etcd goes on when the call is given up, so that there is nothing to win by that
		reads.Timeout = longestTimeout
	}
	if !reads.All && len(s.Hashes) > 0 {
		reads.Revision, reads.Earlier = s.Hashes[0].Revision, s.Hashes
	}
	reads.ask(j.credible())
	return reads
}

// ask chooses those that serve, and whose hash is not known.
func (r *HashReads) ask(credible []*Answer) {
	isKnown := func(a *Answer) bool {
		return slices.ContainsFunc(r.Earlier, func(h cluster.Hash) bool { return h.Member == a.Member })
	}
	for _, a := range credible {
		if !a.serves() || isKnown(a) {
			continue
		}
		r.Asked = append(r.Asked, a)
		if len(r.Earlier) == 0 && (r.Revision == 0 || a.Status.Revision < r.Revision) {
			r.Revision = a.Status.Revision
		}
	}
	leader := newest(credible).leader
	slices.SortStableFunc(r.Asked, func(a, b *Answer) int {
		switch leader {
		case a.Status.MemberID:
			return 1
		case b.Status.MemberID:
			return -1
		default:
			return 0
		}
	})
}
