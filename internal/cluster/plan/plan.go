// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan decides the one next step for an etcd cluster. The same View
// always gives the same Step.
//
// It must never import a client, a clock, a logger or a context.
package plan

import (
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/rules"
)

type policy = rules.List[cluster.View, Step]

var rule, under = rules.New[cluster.View, Step], rules.Under[cluster.View, Step]

// The rules are asked in order, and the first to decide wins. Their order is the policy: know before
// acting, finish before starting, repair before growing, grow before shrinking, upgrade last.
// docs/reference/rules.md is made of them.
//
// repairs bring members to the wanted state. Nothing that only clients need comes before them.
var repairs = policy{
	under("leave alone what is not ours to change",
		rule("leave deleted clusters alone", leaveDeleted, "leaves an EtcdCluster that is being deleted to Kubernetes"),
		rule("leave newer clusters alone", leaveNewer, "changes nothing where a newer operator has written the status"),
		rule("hold the adoption", holdAdoption, "holds an EtcdCluster that adopts a running one, if it is deleted, until its members have left "+
			"that"),
		rule("apply the deletion policy", applyDeletionPolicy, "has volumes stay or go with the EtcdCluster, by their owner and labels"),
		rule("make the last backup", lastBackup, "holds an EtcdCluster with deletionPolicy Backup until its last backup is verified"),
		rule("pause", pause, "changes nothing while spec.paused or the annotation says so"),
		rule("expire", expire, "deletes an EtcdCluster with its volumes when spec.expiresAfter is over"),
		rule("leave foreign objects alone", leaveForeignObjects, "refuses to go on while another owner's object has a name that is needed"),
		rule("delete ended pods", deleteEnded, "deletes Pods at once whose containers have all ended, and does not wait for the kubelet"),
		rule("keep to the limits", keepLimits, "refuses a spec that asks for more than the operator's administrator allows; members go on"),
		rule("back up first", backUpFirst, "makes a backup before etcd's minor version changes or the cluster hibernates"),
		rule("hibernate", hibernate, "deletes every Pod and keeps every volume while the size is 0"),
		rule("restore in place", restoreInPlace, "replaces all members by those whose volumes have the data of a backup"),
	),
	under("form once",
		rule("wait for the restore", awaitRestore, "lets nothing begin before volumes have the data of the backup that the cluster "+
			"begins with, and applies objects meanwhile"),
		rule("adopt the running cluster", adoptCluster, "writes down which members a cluster has that others have made, if it can be adopted"),
		rule("adopt volumes", adoptVolumes, "takes volumes that were kept for this cluster as its members"),
		rule("choose the first members", chooseFirstMembers, "writes the names of the first members into the status, before any Pod"),
		rule("choose the first members again", chooseAgain, "follows a changed size or storage class while no first member can have run"),
		rule("introduce both authorities", introduceBoth, "introduces the other authority, too, before members mount one of two"),
		rule("ensure needed objects", ensureObjects, "applies what members need to start; before the cluster has formed, all objects"),
		rule("wait for certificates", awaitCertificates, "starts no member, where none runs, before there are certificates that serve"),
		rule("defragment once", defragmentOnce, "has containers that were started to defragment start plainly from then on"),
		rule("detach foreign data", detachForeign, "detaches members that run on the data of another cluster from the client Service"),
		rule("leave data of another namespace alone", leaveMoved, "refuses data whose member list names another namespace"),
		rule("attach restored members", attachRestored, "sends clients to members that have served beside those that they have replaced"),
		rule("set initial-cluster-state", setInitialClusterState, "tells containers that the cluster exists: none forms it again"),
		rule("record the cluster ID", recordClusterID, "writes the cluster ID into the status and on a volume when the cluster has formed"),
		rule("protect first volumes", protectFirstVolumes, "never gives a first member a second empty volume"),
	),
	under("bring back members that have data",
		rule("recover quorum", recoverQuorum, "forces a new cluster from one survivor, once a person or the policy has accepted the loss"),
		rule("protect acknowledged writes", protectWrites, "changes nothing while a quorum answers with an older revision than the cluster had"),
		rule("renew authorities that have ended", renewEnded, "replaces an authority that has ended, if no member runs or it was asked for"),
		rule("restart together", restartTogether, "restarts all members at once whose authorities, or what those signed, had ended"),
		rule("turn back", turnBack, "gives up turning TLS on or off while clients were not sent to the other scheme, if that "+
			"is no longer wanted"),
		rule("start members", startMembers, "creates the Pods of members that have none"),
		rule("restore pod labels", restoreLabels, "gives Pods back the labels and the owner that somebody has removed"),
		rule("delete finished pods", deleteFinished, "deletes Pods that never run again, so that their members can start"),
		rule("give up a defragmentation", giveUpDefragmenting, "ends one that fails or is held up, with the reason, and gives a member "+
			"back its plain Pod that does not start while it is defragmented"),
		rule("scale members", scale, "writes into the status what processor and memory members are given beyond the spec, "+whenShort+
			"; or that there is no more"),
		rule("restart broken pods", restartBroken, "gives a Pod that does not run well the spec that is wanted now"),
		rule("change nothing beyond the limits", keepWithin, "refuses more than starting members as they were, where limits were narrowed"),
		rule("wait for the cluster to form", awaitFormation, "waits until the first members have formed the cluster"),
		rule("roll back the only member", rollBackOnly, "rolls back a failed update of a cluster that has one member"),
	),
	under("know before acting",
		rule("read etcd", readEtcd,
			"waits or refuses while the member list cannot be read with quorum, or goes on with the loss that was accepted"),
		rule("keep quorum", keepQuorum, "waits while fewer voters than a quorum are healthy"),
		rule("serve beside", serveBeside, "starts the members of a restore in place, detached from the client Service, beside those that "+
			"they are to replace"),
		rule("move the leader", moveLeader, "moves leadership away from a Pod that is about to end"),
		rule("leave a slow leader", leaveSlow, "moves leadership away from a member that has become slower than the others"),
		rule("report unknown members", reportUnknown, "refuses to change the membership beside members that somebody else has added"),
		rule("keep running members", keepRunning, "refuses to restart members while the Secret that they mount cannot be made"),
	),
	under("finish before starting, repair before growing",
		rule("clean up removed members", cleanUpRemoved, "deletes the Pods of removed members and quarantines their volumes"),
		rule("undo the adoption", undoAdoption, "removes the members that have joined a running cluster again, if an annotation asks for it"),
		rule("contain corruption", containCorruption, "while members do not have the same data, only removes one whose data differs"),
		rule("replace lost members", replaceLost, "removes a member whose data is gone or not its own, or whose node is silent for too long"),
		rule("remove unreachable surplus members", removeUnreachable, "removes a voter that is not wanted any more and does not run"),
		rule("end NOSPACE", endNoSpace, "compacts if it has to, defragments the members that are full, and disarms the alarm when none is, "+
			"before anything that only wants to change members"),
		rule("finish the learner", finishLearner, "starts the learner and promotes it, or removes it if it is not wanted any more"),
		rule("roll back", rollBack, "rolls back an update whose first member fails, if the user allows that"),
		rule("attach to the client service", attach, "sends clients to members again that are well"),
		rule("hand volumes over", handOverVolumes, "stops a source whose volume is that of a member, and waits for its Pod to be gone"),
		rule("wait for health", awaitHealth, "waits until every voter is healthy and none is about to restart"),
		rule("wait for needed objects", awaitNeeded, "waits while Kubernetes refuses an object that a member needs to start"),
		rule("update peer URLs", updatePeerURLs, "has etcd list members by the schemes by which they are to be found, before any joins"),
	),
	under("grow before shrinking",
		rule("cancel the downgrade", cancelDowngrade, "cancels etcd's downgrade once a member has gone down: none may join before"),
		rule("stay awake", stayAwake, "refuses to hibernate while a running cluster is adopted, whose quorum needs the members that have joined"),
		rule("grow", grow, "reserves a name and adds a learner"),
		rule("take volumes over", takeVolumes, "has one source after the other become a member with its volume, if the adoption keeps volumes"),
	),
}

// objects are supporting objects that are not as wanted. They are applied if there is no repair to make,
// or if the repair only waits.
var objects = policy{under("ensure supporting objects",
	rule("ensure other objects", ensureOtherObjects, "applies the objects that only clients and drains need"),
)}

// changes are made to members that all run well, with the objects that they need.
var changes = policy{
	under("shrink when all is well",
		rule("shrink", shrink, "moves leadership and clients to members that stay, and removes the others one at a time"),
		rule("update volumes", updateVolumes, "grows volumes and writes on them what their members run"),
	),
	under("take over from the sources",
		rule("remove the sources", removeSources, "routes clients and leadership of an adopted cluster to members of the operator, and removes "+
			"those that were there one at a time"),
	),
	under("replace what is slow",
		rule("replace a slow member", replaceSlow, "writes into the status which member is replaced because it stays slow, "+whenOutworn),
	),
	under("make room",
		rule("end a defragmentation", endDefragmenting, "writes what a defragmentation has given back, once the member serves again"),
		rule("grow volumes", growVolumes, "has volumes grow by a quarter, up to the size that the user allows, "+whenOutgrown),
		rule("defragment", defragment, "chooses the next member to be defragmented, the leader last, "+whenFragmented+"; one that has no room "+
			"is given up next, with the reason"),
	),
	under("upgrade last",
		rule("keep room for the database", keepRoom, "refuses a quota that is smaller than a member's database"),
		rule("wait for the backup", awaitBackup, "waits until the backup is verified that something waits for"),
		rule("prepare the version", prepareVersion, "enables etcd's downgrade, or waits for etcd between two minor versions"),
		rule("roll out", rollOut, "brings one outdated member at a time to the spec, the leader last"),
	),
	under("then clean up",
		rule("delete expired volumes", deleteExpired, "deletes volumes whose quarantine is over"),
		rule("turn TLS on or off", switchTLS, "in passes: members are listed by both schemes, serve both, clients move, members serve one"),
		rule("rotate authorities", rotate, "replaces an authority in passes: both are trusted, the next one signs, the old one is dropped"),
		rule("report what cannot be done", reportBlocked, "refuses with what is wanted and cannot be done"),
		rule("revoke certificates", revoke, "waits until every member was seen to refuse certificates that are revoked"),
	),
}

// Next returns the one step to take now and the name of the rule that chose it. Of the record that the cluster has formed it also says
// whether nothing is left to do after it: one write then says both.
func Next(v cluster.View) (Step, string) {
	step, why := next(v)
	record, records := step.(Record)
	if !records || record.Fact.ClusterID == "" || record.Fact.ClusterID == v.Record.ClusterID {
		return step, why
	}
	v.Record.ClusterID = record.Fact.ClusterID
	last, _ := next(v)
	record.Last = last == Done{}
	return record, why
}

// next is the step by the lists of rules. Where nothing else can be done volumes are updated: a member may be down because its disk is
// full.
func next(v cluster.View) (Step, string) {
	step, why := repairs.Next(v)
	if step == nil || Rests(step) && !isLeftAlone(v) {
		if apply, ensured := objects.Next(v); apply != nil {
			return apply, ensured
		}
	}
	if step == nil {
		step, why = changes.Next(v)
	}
	if step == nil {
		return Done{}, "as wanted"
	}
	if volumes := updateVolumes(v); volumes != nil && Rests(step) {
		return volumes, "update volumes"
	}
	return step, why
}

// isLeftAlone says whether nothing is to be made for the cluster, whatever is missing.
func isLeftAlone(v cluster.View) bool {
	return v.Deleting || v.Newer != "" || v.Want.Paused != "" || len(halting(v)) > 0 || v.Want.Size == 0 || v.Restore.InPlace != ""
}

// refuse says what a person must do.
func refuse(because string) Step { return Refuse{Because: because} }
