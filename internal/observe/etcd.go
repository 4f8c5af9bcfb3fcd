package observe

import (
	"context"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

const (
	// statusTimeout bounds the call that a living member answers from memory.
	statusTimeout = 500 * time.Millisecond
	// readTimeout bounds a linearizable read beside a leader that answers.
	readTimeout = time.Second
	// inSync is the part of the leader's log that etcd wants a learner to have
	// before it may vote: readyPercent in etcd's server.go.
	inSync = 0.9
)

// An answer is what one member said.
type answer struct {
	name   string
	client etcd.Client
	status etcd.Status
	err    error
	read   error // of the linearizable read; nil when it succeeded

	revision int64 // as of that read; 0 if etcd does not tell
}

// etcd asks every running member at once, and takes the member list from one that
// has just answered a linearizable read: no older list can then be true.
func (o *Observer) etcd(ctx context.Context, c *v1alpha1.EtcdCluster, v *cluster.View, members *join) {
	if !v.Planned() {
		return
	}
	if v.IsDisplaced() {
		v.Unread = "nobody is asked while " + v.Foreign[0].String() + " is in the way"
		return
	}
	running := runningMembers(members)
	o.Dialer.Keep(ctx, c, running)
	if len(running) == 0 {
		v.Unread = "no member runs"
		return
	}
	answers := o.ask(ctx, c, running)
	o.believe(ctx, c, credible(answers, v.Record.ClusterID, members), v, members)
	noteForeign(answers, v.Record.ClusterID, members)
}

// believe takes down what members say, and the member list.
func (o *Observer) believe(ctx context.Context, c *v1alpha1.EtcdCluster, answers []*answer, v *cluster.View, members *join) {
	for _, a := range answers {
		a.note(members.member(a.name))
	}
	noteVersions(answers, v, members)
	led := newest(answers)
	leader := led.leader
	noteLags(answers, members, leader)
	if !answersItself(answers, leader) {
		o.noteRemains(ctx, answers, members)
		hear(ctx, answers, v, members)
		if !isStray(leader, v.Unknown) {
			v.Unread, v.Locked = unreadBecause(answers)
			markLeader(members, leader)
			return
		}
	}
	each(answers, func(a *answer) { a.confirm(ctx, led) })
	v.Split = split(answers, led, members)
	if v.Split != "" {
		v.Unread = v.Split
	} else if strays, listed := listFrom(ctx, following(answers, led), members, true); listed {
		v.Unknown = strays
	} else {
		v.Unread = "no member answers a linearizable read"
		if slices.ContainsFunc(answers, func(a *answer) bool { return etcd.WantsUser(a.read) }) { // some tell all comers their status
			v.Unread, v.Locked = locked, true
		}
		hear(ctx, answers, v, members)
	}
	markLeader(members, leader)
	noteHealth(answers, led, members)
	noteAlarms(ctx, answers, v, members)
	noteLearners(answers, members, leader)
	noteDescent(ctx, answers, v, members)
	o.rouse(ctx, c, answers, leader, members)
}

func runningMembers(members *join) []cluster.Member {
	var running []cluster.Member
	for _, m := range members.sorted() {
		if m.Pod.Running && m.Pod.Address != "" {
			running = append(running, m)
		}
	}
	return running
}

func (o *Observer) ask(ctx context.Context, c *v1alpha1.EtcdCluster, running []cluster.Member) []*answer {
	answers := make([]*answer, 0, len(running))
	for _, m := range running {
		a := &answer{name: m.Name}
		a.client, a.err = o.Dialer.Member(ctx, c, m)
		answers = append(answers, a)
	}
	each(answers, func(a *answer) {
		if a.err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, statusTimeout)
		defer cancel()
		a.status, a.err = a.client.Status(ctx)
	})
	return answers
}

func each(answers []*answer, do func(*answer)) {
	var all sync.WaitGroup
	for _, a := range answers {
		all.Go(func() { do(a) })
	}
	all.Wait()
}

func (a *answer) note(m *cluster.Member) {
	if a.err != nil {
		return
	}
	m.Answers = true
	m.ClusterID = a.clusterID()
	m.Version = a.status.Version
	m.DBSize = a.status.DBSize
	m.Revision, m.Index = a.status.Revision, a.status.RaftIndex
	m.Complaint = complaint(a.status.Errors)
}

// complaint leaves out what the view says in other words. etcd tells its alarms in any
// order; here they are in one, because every change of it is a write.
func complaint(errors []string) string {
	var alarms []string
	for _, e := range errors {
		if !strings.Contains(e, "no leader") {
			alarms = append(alarms, e)
		}
	}
	slices.Sort(alarms)
	return strings.Join(alarms, ", ")
}

// answersItself says whether the leader is among those that answered. Followers
// name a dead leader until they elect another; a read would wait for that.
func answersItself(answers []*answer, leader uint64) bool {
	for _, a := range answers {
		if a.err == nil && leader != 0 && a.status.MemberID == leader {
			return true
		}
	}
	return false
}

const locked = "etcd answers its users only, because authentication is enabled"

// unreadBecause says why nobody tells who leads, and whether etcd keeps that to its users.
func unreadBecause(answers []*answer) (because string, isLocked bool) {
	because = "no member answers"
	for _, a := range answers {
		switch {
		case a.err == nil:
			return "the members have no leader", false
		case etcd.WantsUser(a.err):
			because, isLocked = locked, true
		}
	}
	return because, isLocked
}

// listFrom takes the member list from a voter that answered, best the leader; if
// confirmed, only from one whose linearizable read succeeded. It says whether
// there was a list.
func listFrom(ctx context.Context, answers []*answer, members *join, confirmed bool) ([]cluster.UnknownMember, bool) {
	var best *answer
	for _, a := range answers {
		usable := a.err == nil && !a.status.Learner && (!confirmed || a.read == nil)
		if usable && (best == nil || a.status.RaftAppliedIndex > best.status.RaftAppliedIndex) {
			best = a
		}
	}
	if best == nil {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	list, err := best.client.Members(ctx)
	if err != nil {
		return nil, false
	}
	return members.list(list, confirmed), true
}

func markLeader(members *join, leader uint64) {
	for _, m := range members.members {
		m.Leader = leader != 0 && m.ID == leader
	}
}

// noteRemains asks members that serve no client what data they have: one that was
// restarted without a quorum serves none, and its data may be all that is left.
func (o *Observer) noteRemains(ctx context.Context, answers []*answer, members *join) {
	remains := make([]etcd.Remains, len(answers))
	var all sync.WaitGroup
	for i, a := range answers {
		if a.err == nil {
			continue
		}
		address := net.JoinHostPort(members.member(a.name).Pod.Address, strconv.Itoa(v1alpha1.MetricsPort))
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, statusTimeout)
			defer cancel()
			if told, err := o.Remains(ctx, address); err == nil {
				remains[i] = told
			}
		})
	}
	all.Wait()
	for i, a := range answers {
		if m := members.member(a.name); remains[i].Index > 0 {
			m.Revision, m.Index, m.Lists, m.Unsigned = remains[i].Revision, remains[i].Index, remains[i].Members, true
		}
	}
}

// appliedBy is how far the leader has applied its log.
func appliedBy(leader uint64, answers []*answer) uint64 {
	for _, a := range answers {
		if a.err == nil && a.status.MemberID == leader {
			return a.status.RaftAppliedIndex
		}
	}
	return 0
}

// noteLags says who is behind the leader. All are asked at once, so it is only
// roughly true of a busy cluster.
func noteLags(answers []*answer, members *join, leader uint64) {
	log := appliedBy(leader, answers)
	for _, a := range answers {
		if a.err == nil && a.status.RaftAppliedIndex < log {
			members.member(a.name).Behind = log - a.status.RaftAppliedIndex
		}
	}
}

func noteLearners(answers []*answer, members *join, leader uint64) {
	log := appliedBy(leader, answers)
	for _, a := range answers {
		if a.err == nil && a.status.Learner {
			m := members.member(a.name)
			m.Synced = log > 0 && float64(a.status.RaftAppliedIndex) >= inSync*float64(log)
			m.Healthy = a.status.LeaderID == leader
		}
	}
}
