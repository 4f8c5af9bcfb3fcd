package observe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// hashTimeout bounds the sum of all keys of a member: at 8 GiB, the most that etcd suggests for
// a database (https://etcd.io/docs/v3.6/dev-guide/limit/), a disk of 1 GB/s takes that long.
const hashTimeout = 8 * time.Second

// noteAlarms takes down what etcd has raised. Every member tells all alarms; one that is behind
// may tell of one that was disarmed, which then counts for a moment longer.
func noteAlarms(ctx context.Context, answers []*answer, v *cluster.View, members *join) {
	for _, a := range answers {
		if a.err != nil {
			continue
		}
		for _, told := range a.status.Alarms {
			alarm := cluster.Alarm{Kind: told.Kind, ID: told.MemberID, Member: listedAs(told.MemberID, members)}
			if !slices.Contains(v.Alarms, alarm) {
				v.Alarms = append(v.Alarms, alarm)
			}
		}
	}
	slices.SortFunc(v.Alarms, func(a, b cluster.Alarm) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	if v.Unread == "" && len(v.Raised(cluster.Corrupt)) > 0 {
		noteOdd(ctx, answers, v, members)
	}
}

// listedAs is the member that etcd lists under that ID; empty if it lists none of ours.
func listedAs(id uint64, members *join) string {
	for _, m := range members.sorted() {
		if id != 0 && m.ID == id && cluster.IsListed(m) {
			return m.Name
		}
	}
	return ""
}

// noteOdd finds out whose data differs, while etcd says that somebody's does. Nothing is written
// meanwhile, so that all voters can be asked for the same revision.
func noteOdd(ctx context.Context, answers []*answer, v *cluster.View, members *join) {
	if n := v.UnknownVoters(); n > 0 {
		v.Undecided = fmt.Sprintf("unknown voters are not asked for the hash of their data: %d", n)
		return
	}
	odd, undecided := cluster.Odd(hashesOf(ctx, answers, members))
	v.Undecided = undecided
	for _, name := range odd {
		members.member(name).Odd = true
	}
}

// hashesOf asks every voter for the sum of its keys, up to the newest revision that all have.
func hashesOf(ctx context.Context, answers []*answer, members *join) []cluster.Hash {
	revision := int64(0)
	for _, a := range answers {
		if a.serves() && (revision == 0 || a.status.Revision < revision) {
			revision = a.status.Revision
		}
	}
	var hashes []cluster.Hash
	place := map[string]int{}
	for _, m := range members.sorted() {
		if cluster.IsVoter(m) {
			place[m.Name] = len(hashes)
			hashes = append(hashes, cluster.Hash{Member: m.Name, Untold: "it does not answer"})
		}
	}
	each(answers, func(a *answer) {
		if i, votes := place[a.name]; votes && a.serves() {
			hashes[i] = a.hash(ctx, revision)
		}
	})
	return hashes
}

// hash is the sum of the member's keys up to a revision.
func (a *answer) hash(ctx context.Context, revision int64) cluster.Hash {
	ctx, cancel := context.WithTimeout(ctx, hashTimeout)
	defer cancel()
	hash, err := a.client.HashKV(ctx, revision)
	if err != nil {
		return cluster.Hash{Member: a.name, Untold: err.Error()}
	}
	return cluster.Hash{Member: a.name, Sum: hash.Sum, Compacted: hash.Compacted}
}
