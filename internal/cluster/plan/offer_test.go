// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"slices"
	"strings"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/quorum"
)

// nightly is the newest verified backup of every world that has formed. It is of 2026-11-24T10:00:00Z.
var nightly = cluster.RestoreCandidate{Backup: "nightly", Revision: 5, Begun: 1795514400}

// offer has the world know of a backup, and of what a person has accepted.
func (w *world) offer(o cluster.RestoreCandidate) {
	o.Request.Name = cluster.AcceptedName(w.view.Name, w.view.UID, w.view.Want.Accepted)
	w.view.Candidate = o
}

// bringBack does what the reconcilers of restores do with the EtcdRestore of the operator: the new members get the next names.
func (w *world) bringBack() {
	v := &w.view
	if v.Candidate.Request.Exists {
		return
	}
	v.Candidate.Request.Exists, v.Candidate.Request.Fills = true, true
	w.giving = giving{from: v.Record.NextSerial, many: v.Want.Size}
	v.Record.NextSerial += v.Want.Size
}

// fills says whether volumes are being filled whose members replace no other yet.
func (w *world) fills() bool { return w.view.Candidate.Request.Fills }

// quorumGone says whether the data of so many voters is gone, or on nodes that are, that the rest is no quorum.
func (w *world) quorumGone() bool {
	left, all := w.voters(func(m *cluster.Member) bool {
		f := w.fate(m.Name)
		return f.data && !f.damaged && !f.nodeGone
	})
	return all > 0 && !quorum.Holds(left, all)
}

// acceptViolation guards the data of survivors: no backup takes its place unless a person has accepted just that.
func acceptViolation(before *world, step plan.Step) string {
	s, is := step.(plan.CreateRestore)
	v := &before.view
	switch {
	case !is:
	case v.Want.Accepted != v.Candidate.String() || s.Accepted != v.Want.Accepted || s.Backup != v.Candidate.Backup:
		return step.String() + ", and it was not"
	case !before.quorumGone():
		return step.String() + ", although the quorum may come back"
	}
	return ""
}

// leavesAccepted says whether the cluster is not brought back to the backup by whose name the loss was accepted. Data that goes with
// its Pod, and that of another cluster, is for a person to decide on first.
func leavesAccepted(w *world) bool {
	v := &w.view
	if v.Want.Accepted != v.Candidate.String() || v.Candidate.Request.Exists || v.Want.Size == 0 || v.Record.Recovering != "" ||
		v.Unread == "" {
		return false
	}
	return w.quorumGone() && !slices.ContainsFunc(v.Members, func(m cluster.Member) bool {
		return w.fate(m.Name).foreign || m.Volume == cluster.Going && m.Pod.Exists()
	})
}

// parseOffer takes down what else a script says of the backup that there is: sealed, or why it does not fit; and of its EtcdRestore:
// exists, foreign, undone, fills, or why it has not begun.
func (w *world) parseOffer(offer cluster.RestoreCandidate, known, request string) {
	switch known {
	case "", "sealed":
		offer.Encrypted = known != ""
		if offer.Encrypted {
			offer.Problem = "it is encrypted"
		}
	default:
		offer.Problem = known
	}
	r := &offer.Request
	r.Exists = request != ""
	switch request {
	case "", "exists":
	case "foreign":
		r.Foreign = true
	case "undone":
		r.Ended = true
	case "fills":
		r.Fills = true
	default:
		r.Message = strings.TrimSpace(request)
	}
	w.offer(offer)
}
