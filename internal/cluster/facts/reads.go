// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// An observation reads in stages that are always the same: what the EtcdCluster names, Kubernetes, etcd, and at last what is only read if
// something is wrong or in progress. What a stage reads follows from those before it, and is decided at once, by one of these functions.

// ClusterReads is what is read by the EtcdCluster alone.
type ClusterReads struct {
	LeftAlone   bool   // nothing is
	MayBeAsleep bool   // the lists of a cache may show that nothing else needs to be
	Live        bool   // Pods and volumes from the API server: the first members may be decided on now
	Awaited     string // the EtcdBackup that something waits for; empty: none
	Accepted    string // the EtcdRestore for a loss that was accepted by the name of a backup; empty: none
}

// ByCluster is what the EtcdCluster says.
func ByCluster(c *v1beta1.EtcdCluster) ClusterReads {
	if IsLeftAlone(c) {
		return ClusterReads{LeftAlone: true}
	}
	return ClusterReads{MayBeAsleep: mayBeAsleep(c), Live: isBeginning(c), Awaited: awaitedName(c), Accepted: acceptedName(c)}
}

// MemberReads is what is read by what Kubernetes has of members.
type MemberReads struct {
	Asleep bool             // no member runs, as an earlier look at this very spec has found: nothing else is read
	Asked  []cluster.Member // members to ask, which may be none; nil: etcd is not asked at all
	Beside []cluster.Member // that serve beside them, and are asked by others: connections to them are kept
	Probed []cluster.Member // members to look at for what they show, accept and refuse
}

// ByKubernetes is what the lists of Pods and volumes say.
func ByKubernetes(s Snapshot) MemberReads {
	reads := MemberReads{Asleep: isHibernated(s), Probed: probed(s)}
	if members, ask := running(s); ask {
		reads.Asked = append([]cluster.Member{}, members...)
	}
	j := begin(s)
	j.kubernetes()
	reads.Beside = j.v.Beside
	return reads
}

// StatusReads is what is read by the statuses of members.
type StatusReads struct {
	Answers   []*Answer // the answers to go by
	Led       bool      // their leader is among them, so that a linearizable read is asked for
	LocalList *Answer   // the member that is asked for the member list that it remembers if there is no read; nil: none
}

// ByStatuses is what the statuses of members say.
func ByStatuses(s Snapshot) StatusReads {
	credible, led := credibleAnswers(s)
	return StatusReads{Answers: credible, Led: led, LocalList: memberListSource(credible)}
}

// LastReads is what is read by all that etcd says.
type LastReads struct {
	Backups bool    // backups, and the EtcdRestore that ClusterReads names: quorum may be lost for good
	Doubts  []Doubt // Pods and volumes to confirm by the API server
	Running bool    // whether a backup is being written: a member may be defragmented
	Users   bool    // Secrets of users, which the next pass of a rotation or revocation waits for
}

// ByEtcd is what members answered.
func ByEtcd(s Snapshot) LastReads {
	return LastReads{Backups: mayBeLost(s), Doubts: doubts(s), Users: needsUsers(s), Running: mayDefragment(s)}
}

// NodeRead is a Pod whose node is read, or the disk that keeps it from one.
type NodeRead struct {
	Pod  *corev1.Pod
	Disk bool // it has found no node for so long that its volume may be bound to one that is gone or silent
}

// ByConfirmed are the Pods of members, after doubts were confirmed.
func ByConfirmed(s Snapshot) []NodeRead {
	var reads []NodeRead
	for _, pod := range confirmedPods(s) {
		reads = append(reads, NodeRead{pod, waitsForNode(s, pod)})
	}
	return reads
}
