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
	{"follow the deletion policy", followPolicy},
	{"pause", pause},
	{"respect what belongs to others", respectOthers},
	{"clear what has ended", clearEnded},
	{"hibernate", hibernate},
	{"adopt kept volumes", adoptVolumes},
	{"freeze the bootstrap plan", freezePlan},
	{"plan again while nothing has begun", replan},
	{"furnish", furnish},
	{"stay one cluster", stayOneCluster},
	{"leave data of another namespace alone", leaveMoved},
	{"seal the bootstrap", sealBootstrap},
	{"remember that it formed", rememberFormation},
	{"guard the bootstrap", guardBootstrap},
	{"recover quorum", recoverQuorum},
	{"miss no writes", missNoWrites},
	{"start members", startMembers},
	{"gather strayed pods", gather},
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
	{"contain corruption", containCorruption},
	{"replace lost members", replaceLost},
	{"strike who is away and too many", strikeAway},
	{"finish learner", finishLearner},
	{"roll back", rollBack},
	{"readmit clients", readmit},
	{"await health", awaitHealth},
	{"await what members need", awaitNeeds},
	{"end the downgrade", endDowngrade},
	{"grow", grow},
	{"furnish the rest", furnishRest},
	{"shrink", shrink},
	{"fit volumes", fitVolumes},
	{"leave room", leaveRoom},
	{"prepare the version", prepareVersion},
	{"roll", roll},
	{"discard old volumes", discardExpired},
	{"say what is barred", sayBarred},
}

// Next returns the one step to take now and the name of the rule that chose it. Where
// nothing else can be done, what clients and drains need is brought, and volumes are fit:
// a member may be down because its disk is full.
func Next(v cluster.View) (Step, string) {
	step, why := first(v)
	if !Rests(step) {
		return step, why
	}
	if rest := furnishRest(v); rest != nil && !isLeftAlone(v) {
		return rest, "furnish the rest"
	}
	if fit := fitVolumes(v); fit != nil {
		return fit, "fit volumes"
	}
	return step, why
}

// isLeftAlone says whether nothing is to be made for the cluster, whatever is missing.
func isLeftAlone(v cluster.View) bool {
	return v.Deleting || v.Newer != "" || v.Want.Paused != "" || len(halting(v)) > 0 || v.Want.Size == 0
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

// refuse says what a person must do.
func refuse(because string) Step { return Refuse{Because: because} }
