// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

const (
	// rotateAt is how many percent of its life are over when an authority is rotated: two thirds.
	rotateAt = 67
	// joinAt is when it joins the rotation of the other one, so that members restart once for both.
	joinAt = 60
	// settles is how long it takes until every kubelet has updated the content of a Secret in Pods: each syncs
	// a Pod once in 60 to 90 seconds
	// (https://kubernetes.io/docs/concepts/configuration/secret/#using-secrets-as-files-from-a-pod).
	settles = 2 * time.Minute
	// reloads is for how long an authority that was only old is trusted beside the next one, for clients that read
	// their certificates rarely; a twentieth of its life if that is less, and never less than settles.
	reloads = 24 * time.Hour
	// share is that part of its life.
	share = 20
)

// Facts are what else the next pass of a rotation depends on.
type Facts struct {
	Now     time.Time         // by the clock that Secrets were written by
	Come    time.Time         // that has come by the API server's clock, too: a wrong one alone rotates nothing
	Members []string          // that etcd lists
	Probes  []TLSProbe        // of members that run
	Users   []*corev1.Secret  // of EtcdUsers of the cluster
	Made    map[string]string // what the Pods of members that have one say of when a certificate was revoked last
}

// Refusal is whether a member refuses the list of revoked certificates that the Secret has which it mounts.
type Refusal struct {
	Is  bool
	Err string // why it is not known; empty if it is
}

// IsRotating says whether members are to be looked at.
func (h KeyMaterial) IsRotating() bool {
	return h.ClientCA.Phase() != cluster.Stable || h.PeerCA.Phase() != cluster.Stable
}

// Rotation is what there is to do now. All authorities that are being rotated take each pass together, so that members
// restart once for both: one that becomes due after the other has switched waits until that is over.
func (h KeyMaterial) Rotation(c *v1beta1.EtcdCluster, f Facts) cluster.Rotation {
	r := cluster.Rotation{Authorities: h.summary(c), Together: h.isTogether()}
	if turns := h.begin(c, f); len(turns) > 0 {
		r.Turns = turns
		return r
	}
	for _, name := range Authorities(c) {
		var turn cluster.Object
		switch h.of(c, name).Phase() {
		case cluster.Introduced:
			r.Await, turn = h.awaitSwitch(c, name, f), pass(name, "every member trusts the next authority",
				cluster.RotationStep{Stage: cluster.Switch})
		case cluster.Switched:
			if h.ClientCA.Phase() == cluster.Introduced || h.PeerCA.Phase() == cluster.Introduced {
				continue // both are dropped together
			}
			r.Await = h.awaitDrop(c, name, f)
			turn = pass(name, "nothing shows what the authority before has signed", cluster.RotationStep{Stage: cluster.Drop})
		case cluster.Stable:
			continue
		}
		if r.Await != "" {
			r.Turns = nil
			return r
		}
		r.Turns = append(r.Turns, turn)
	}
	return r
}

// pass is what brings an authority on.
func pass(name, why string, turn cluster.RotationStep) cluster.Object {
	return cluster.Object{Kind: "Secret", Name: name, Why: why, CanWait: true, RotationStep: turn}
}

// clockOf is the time by which an authority is too old: both clocks have to say so. One that is to live for hours would have ended by the
// time that a clock says so which is behind, and is rotated by whichever is ahead.
func (f Facts) clockOf(a Authority) time.Time {
	if known := len(a.CertPEM) > 0; known && a.life() <= pki.Backdate {
		return f.Now
	}
	return f.Come
}

// begin are the authorities whose rotation is to begin.
func (h KeyMaterial) begin(c *v1beta1.EtcdCluster, f Facts) []cluster.Object {
	var turns []cluster.Object
	for _, percent := range []time.Duration{rotateAt, joinAt} {
		for _, name := range Authorities(c) {
			taken := slices.ContainsFunc(turns, func(o cluster.Object) bool { return o.Name == name })
			if o, begins := h.begins(c, name, percent, f.clockOf(h.of(c, name))); begins && !taken {
				turns = append(turns, o)
			}
		}
		if len(turns) == 0 && !h.IsRotating() {
			return nil
		}
	}
	return turns
}

// begins says whether the rotation of the authority is to begin. While one that was replaced is still trusted only one
// begins that can sign no more: also an external one that was replaced, so that a certificate by it may never be shown.
func (h KeyMaterial) begins(c *v1beta1.EtcdCluster, name string, percent time.Duration, now time.Time) (cluster.Object, bool) {
	why, because := h.due(c, name, percent, now)
	busy := h.ClientCA.Phase() == cluster.Switched || h.PeerCA.Phase() == cluster.Switched
	a := h.of(c, name)
	begun := a.Phase() == cluster.Introduced && because != BySource && !h.isSpent(c, name, now)
	isMute := because == ByLoss || because == ByEnd || because == BySource && a.External
	if because == "" || begun || busy && !isMute {
		return cluster.Object{}, false
	}
	return pass(name, why, h.turn(c, name, because)), true
}

// turn begins a rotation. A request that there is counts as acted on, whatever the rotation begins for.
func (h KeyMaterial) turn(c *v1beta1.EtcdCluster, name, because string) cluster.RotationStep {
	asked, a := requestOf(c, name), h.of(c, name)
	turn := cluster.RotationStep{Stage: cluster.Introduce, Because: because, Request: asked, Asked: asked != "" && asked != a.Request}
	if because == ByEnd {
		turn.Stage, turn.Replaced = cluster.Renew, a.External
	}
	return turn
}

// due says why an authority is to be rotated; because is empty if it is not.
func (h KeyMaterial) due(c *v1beta1.EtcdCluster, name string, percent time.Duration, now time.Time) (why, because string) {
	a, wanted := h.of(c, name), h.target(c, name, now)
	asked := requestOf(c, name)
	lost := h.Lost(c, name, now)
	switch {
	case !wanted.ready:
		return "", ""
	case a.hasEnded(now):
		return "it has ended", ByEnd
	case h.isSpent(c, name, now):
		return "certificates by it have expired", ByEnd
	case lost != nil && h.Holds(c, name):
		return lost.Error(), ByLoss
	case lost != nil || len(a.CertPEM) == 0:
		return "", ""
	case !wanted.is(a.coming()):
		return "certificates are to be by another one", BySource
	case wanted.external:
		return "", ""
	case asked != "" && asked != a.Request:
		return "it was asked for", ByRequest
	case a.Adopted && a.Because == "" && name == c.ClientCA():
		return "", "" // clients of the sources may trust no other authority yet
	case a.Adopted && a.Because == "" && c.Adopts() == nil:
		return "it is of the cluster that was adopted", ByOrigin
	case a.hasPassed(percent, now):
		return "two thirds of its life are over", ByAge
	default:
		return "", ""
	}
}

// longestRequest is how much of a request is remembered.
const longestRequest = 64

// requestOf is what is asked for of an authority; empty if nothing is.
func requestOf(c *v1beta1.EtcdCluster, name string) string {
	request := c.Annotations[v1beta1.AnnotationRotate]
	other := specs.PeerAuthority
	if name == c.PeerCA() {
		other = specs.ClientAuthority
	}
	if strings.HasPrefix(request, other+":") {
		return ""
	}
	return strings.ToValidUTF8(request[:min(len(request), longestRequest)], "")
}

// awaitSwitch says what the next authority waits for before it signs; empty if nothing.
func (h KeyMaterial) awaitSwitch(c *v1beta1.EtcdCluster, name string, f Facts) string {
	a := h.of(c, name)
	if a.NextExternal && !h.target(c, name, f.Now).ready {
		return "certificates by the next authority of Secret " + name + ": " + h.Certificates(c, f.Now).Fault
	}
	for _, port := range h.ports(name == c.PeerCA(), f) {
		switch {
		case port.Err != "":
			return fmt.Sprintf("%s to show which authorities it trusts: %s", port.at, port.Err)
		case !a.trusts(port.shown()):
			return fmt.Sprintf("%s to show a certificate that an authority in Secret %s has signed", port.at, name)
		case !port.accepts(a.Bundle(), a.Next.CertPEM):
			return fmt.Sprintf("%s to trust the next authority of Secret %s; it has started without: delete pod %s if this lasts",
				port.at, name, port.member)
		}
	}
	return h.awaitPods(c, name, "trust", settles, f)
}

// awaitDrop says what the previous authority is still needed for; empty if it is not needed.
func (h KeyMaterial) awaitDrop(c *v1beta1.EtcdCluster, name string, f Facts) string {
	a := h.of(c, name)
	for _, port := range h.ports(name == c.PeerCA(), f) {
		switch {
		case port.Err != "":
			return fmt.Sprintf("%s to show its certificate: %s", port.at, port.Err)
		case !a.hasSigned(port.shown()):
			return fmt.Sprintf("%s to show a certificate by the new authority of Secret %s", port.at, name)
		}
	}
	pause := settles
	if h.isOnlyOld() {
		pause = max(settles, min(reloads, a.life()/share))
	}
	return h.awaitPods(c, name, "show what is signed by", pause, f)
}

// isOnlyOld says whether nothing is rotated for another reason than its age.
func (h KeyMaterial) isOnlyOld() bool {
	for _, a := range []Authority{h.ClientCA, h.PeerCA} {
		if a.Phase() != cluster.Stable && a.Because != ByAge {
			return false
		}
	}
	return true
}

// awaitPods says until when Pods may have something older than what the Secrets hold that they mount.
func (h KeyMaterial) awaitPods(c *v1beta1.EtcdCluster, name, what string, pause time.Duration, f Facts) string {
	pods, secret, at := "clients", c.ClientSecret(), h.written.client
	if name == c.PeerCA() {
		pods, secret, at = "members", specs.MemberSecret(c), h.written.peer
	}
	for _, needed := range Names(c)[len(Authorities(c)):] {
		if h.Fault(c, needed, f.Now) != nil && h.CanMake(c, needed, f.Now) {
			return fmt.Sprintf("Secret %s to be as wanted", needed)
		}
	}
	what += " the new authority of Secret " + name
	switch {
	case f.Now.Sub(at).Abs() < pause:
		return mounted(pods, what, secret, at, pause)
	case name == c.ClientCA():
		return h.awaitUsers(what, pause, f)
	default:
		return ""
	}
}

// isTogether says whether members that run with older authorities can connect to each other only when all have restarted:
// what was replaced last had ended.
func (h KeyMaterial) isTogether() bool {
	last := h.ClientCA
	if h.PeerCA.RotatedAt.After(last.RotatedAt) {
		last = h.PeerCA
	}
	return last.Because == ByEnd
}

// summary is what the status reports of each authority.
func (h KeyMaterial) summary(c *v1beta1.EtcdCluster) []cluster.Authority {
	var all []cluster.Authority
	for _, name := range Authorities(c) {
		a := h.of(c, name)
		authority := cluster.Authority{Name: specs.ClientAuthority, Secret: name, Phase: a.Phase(), Request: a.Request}
		if name == c.PeerCA() {
			authority.Name = specs.PeerAuthority
		}
		if end, known := a.End(); known {
			authority.End = end.Unix()
		}
		all = append(all, authority)
	}
	return all
}
