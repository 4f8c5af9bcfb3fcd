// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import "slices"

// NeedsNoopProposal is the leader that is to write an entry to the raft log, beside whatever step is next, because
// a member runs and does not answer: that is what the member may be waiting for. An entry changes no
// data. There is none to ask if no member waits, or all that do have just been given one.
//
// After a snapshot etcd takes its log for unapplied until an entry follows (etcdserver/server.go:
// setAppliedIndex is called for entries alone). Until then, with more than 5000 entries behind it, it
// refuses as one request too many the proposal by which a member publishes its name, again and again,
// and opens its port for clients only after that. In a cluster without writes no entry comes.
func (v View) NeedsNoopProposal() (leader Member, found bool) {
	leader, led := v.Leader()
	waits := slices.ContainsFunc(v.Members, func(m Member) bool { return IsUnresponsive(m) && !m.ProposalSent })
	return leader, led && leader.Answers && waits
}
