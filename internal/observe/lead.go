package observe

import (
	"context"
	"fmt"
	"strings"
)

// A lead is the leader that a member follows, and the term of the election that made it leader.
type lead struct{ leader, term uint64 }

func (a *answer) follows() lead { return lead{a.status.LeaderID, a.status.RaftTerm} }

// serves says whether the member is a voter that has answered a linearizable read.
func (a *answer) serves() bool { return a.err == nil && a.read == nil && !a.status.Learner }

// newest is the lead of the newest term that a member knows of.
func newest(answers []*answer) lead {
	var led lead
	for _, a := range answers {
		if a.err == nil && a.status.LeaderID != 0 && a.status.RaftTerm >= led.term {
			led = a.follows()
		}
	}
	return led
}

// confirm asks for a linearizable read. A learner does not serve one. Whoever follows
// another leader is then asked again for its status: it may not have heard of the election
// before, and has to for a read.
func (a *answer) confirm(ctx context.Context, led lead) {
	if a.err != nil || a.status.Learner {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	a.revision, a.read = a.client.Revision(ctx)
	if a.read != nil || a.follows() == led {
		return
	}
	if again, err := a.client.Status(ctx); err == nil {
		a.status.LeaderID, a.status.RaftTerm = again.LeaderID, again.RaftTerm
	}
}

// following are the answers of the members that follow that leader.
func following(answers []*answer, led lead) []*answer {
	var all []*answer
	for _, a := range answers {
		if a.follows() == led {
			all = append(all, a)
		}
	}
	return all
}

// noteHealth says who serves, and follows the leader of all.
func noteHealth(answers []*answer, led lead, members *join) {
	for _, a := range answers {
		if a.serves() && a.follows() == led {
			m := members.member(a.name)
			m.Healthy, m.Confirmed = true, a.revision
		}
	}
}

// split says which members serve reads and follow which leader, if one of them follows
// another than the newest: then there are two clusters of one ID, each with its own quorum.
// One that follows a newer leader only shows that there was an election since.
func split(answers []*answer, led lead, members *join) string {
	var sides []string
	found := false
	for _, a := range answers {
		if !a.serves() || a.status.RaftTerm > led.term {
			continue
		}
		sides = append(sides, a.name+" follows "+nameOf(a.status.LeaderID, members))
		found = found || a.follows() != led
	}
	if !found {
		return ""
	}
	return "members follow different leaders, and each of them answers reads: " + strings.Join(sides, ", ")
}

// nameOf is what to call the leader of that ID.
func nameOf(id uint64, members *join) string {
	for _, m := range members.sorted() {
		if m.ID == id {
			return m.Name
		}
	}
	return fmt.Sprintf("member %x", id)
}
