// Package plan decides the one next step for an etcd cluster. The same View
// always gives the same Step.
//
// It must never import a client, a clock, a logger or a context.
package plan

import "github.com/etcd-operator/etcd-operator/internal/cluster"

// A rule looks at a view and either decides the step or passes, returning nil.
type rule struct {
	name   string
	decide func(cluster.View) Step
}

// rules run in order and the first to decide wins. The order is the policy: know
// before acting, finish before starting, repair before growing, grow before
// shrinking, upgrade last.
var rules = []rule{
	{"leave the deleted alone", leaveDeleted},
	{"leave the newer alone", leaveNewer},
	{"pause", pause},
	{"respect what belongs to others", respectOthers},
	{"hibernate", hibernate},
	{"adopt kept volumes", adoptVolumes},
	{"freeze the bootstrap plan", freezePlan},
	{"furnish", furnish},
	{"stay one cluster", stayOneCluster},
	{"remember that it formed", rememberFormation},
	{"guard the bootstrap", guardBootstrap},
	{"recover quorum", recoverQuorum},
	{"start members", startMembers},
	{"clear finished pods", clearFinished},
	{"restart broken pods", restartBroken},
	{"await formation", awaitFormation},
	{"roll back the only one", rollBackOnly},
	{"know before acting", readEtcd},
	{"keep quorum", keepQuorum},
	{"spare the leader", spareLeader},
	{"leave no doubt", nameStrays},
	{"spare who cannot start again", spareRunning},
	{"retire removed members", retireRemoved},
	{"replace lost members", replaceLost},
	{"finish learner", finishLearner},
	{"roll back", rollBack},
	{"readmit clients", readmit},
	{"await health", awaitHealth},
	{"grow", grow},
	{"shrink", shrink},
	{"fit volumes", fitVolumes},
	{"prepare the version", prepareVersion},
	{"roll", roll},
	{"discard old volumes", discardExpired},
	{"say what is barred", sayBarred},
}

// Next returns the one step to take now and the name of the rule that chose it. Where
// nothing else can be done, volumes are fit: a member may be down because its disk is
// full, and what is left of a cluster may be deleted by a policy that has changed.
func Next(v cluster.View) (Step, string) {
	step, why := first(v)
	if fit := fitVolumes(v); fit != nil && Rests(step) {
		return fit, "fit volumes"
	}
	return step, why
}

// first is the step of the first rule that decides.
func first(v cluster.View) (Step, string) {
	for _, r := range rules {
		if step := r.decide(v); step != nil {
			return step, r.name
		}
	}
	return Done{}, "as wanted"
}
