// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// shown is what members show that the authority of that name has signed.
func (h KeyMaterial) shown(c *v1beta1.EtcdCluster, name string) (leaf pki.Pair, of part) {
	if name == c.PeerCA() {
		return h.Peer, peer
	}
	return h.Server, server
}

// hasExpired says whether what members show by the authority of that name is valid no more.
func (h KeyMaterial) hasExpired(c *v1beta1.EtcdCluster, name string, now time.Time) bool {
	leaf, _ := h.shown(c, name)
	end, known := pki.ValidUntil(leaf, h.bundleOf(c, name))
	return known && now.After(end)
}

// RefusesClients says whether the certificate that members show to clients has expired, so that clients refuse them.
func (h KeyMaterial) RefusesClients(c *v1beta1.EtcdCluster, now time.Time) bool {
	return h.hasExpired(c, c.ClientCA(), now)
}

// isSpent says whether nothing is valid that members could show by the authority of that name, and it can sign nothing else: it is
// external and has signed nothing else, or it is lost.
func (h KeyMaterial) isSpent(c *v1beta1.EtcdCluster, name string, now time.Time) bool {
	a, expired := h.of(c, name), h.hasExpired(c, name, now)
	if !a.External {
		return expired && (a.fault() != nil || h.Lost(c, name, now) != nil)
	}
	leaf, of := h.shown(c, name)
	_, there := h.given(c, a, of, now)
	return (expired || len(leaf.CertPEM) == 0) && !there
}

// isOver says whether nothing by the authority of that name is valid, nor ever will be.
func (h KeyMaterial) isOver(c *v1beta1.EtcdCluster, name string, now time.Time) bool {
	return h.of(c, name).hasEnded(now) || h.isSpent(c, name, now)
}

// expired is the warning about an authority that is spent and is to be replaced at once. If no other is ready to replace it,
// the fault is one of the external Secrets.
func (h KeyMaterial) expired(c *v1beta1.EtcdCluster, name string, now time.Time) (cluster.Ending, bool) {
	if !h.isSpent(c, name, now) || !h.target(c, name, now).ready {
		return cluster.Ending{}, false
	}
	ending := cluster.Ending{Secret: name, Near: true, Over: true, Expired: true}
	leaf, _ := h.shown(c, name)
	if end, known := pki.ValidUntil(leaf, h.bundleOf(c, name)); known {
		ending.On = end.UTC().Format(time.RFC3339)
	}
	return ending, true
}

// hasCertificates says whether there is, or can be made, what members mount and others accept now.
func (h KeyMaterial) hasCertificates(c *v1beta1.EtcdCluster, now time.Time) bool {
	for _, name := range Authorities(c) {
		leaf, of := h.shown(c, name)
		end, known := pki.ValidUntil(leaf, h.bundleOf(c, name))
		isValid := known && usable(leaf, now) && !now.After(end)
		if !isValid && !h.makes(c, name, of, pki.Pair{}, now) {
			return false
		}
	}
	return true
}

// expiry says that there is nothing valid for members to mount, although external Secrets have certificates that serve: those are by
// no authority that members trust. It is empty otherwise.
func (h KeyMaterial) expiry(c *v1beta1.EtcdCluster, now time.Time) string {
	for _, e := range h.Ending(c, now) {
		if !e.Expired {
			continue
		}
		what := "Secret " + specs.MemberSecret(c) + ": its certificates have expired on " + e.On
		if e.On == "" {
			what = "Secret " + specs.MemberSecret(c) + " has no certificates"
		}
		return what + ", and those that serve are by another authority than members trust: all members restart together when no quorum " +
			"answers, or when you set the annotation " + v1beta1.AnnotationRotate + " to a new value"
	}
	return ""
}
