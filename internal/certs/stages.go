// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// advance is the authority after a pass of its rotation, and whether there is anything to do: it may have been done
// before.
func (h KeyMaterial) advance(
	random io.Reader, now time.Time, c *v1beta1.EtcdCluster, name string, turn cluster.RotationStep,
) (Authority, bool, error) {
	a, lost, wanted := h.of(c, name), h.Lost(c, name, now) != nil, h.target(c, name, now)
	isStale := a.Phase() == cluster.Introduced && !wanted.is(a.coming())
	switch phase := a.Phase(); {
	case turn.Because == BySource && wanted.is(a.coming()):
		return a, false, nil
	case (turn.Stage == cluster.Introduce || turn.Stage == cluster.Renew) && !wanted.ready:
		return a, false, nil // its replacement has become invalid meanwhile
	case turn.Stage == cluster.Introduce && isStale && wanted.is(a.Pair, a.External):
		a.Next, a.NextExternal = pki.Pair{}, false
		return a.rotated(now, turn), true, nil
	case turn.Stage == cluster.Introduce && lost:
		a.External = false
		if a.Pair, a.Previous = h.memberTrust(c, name); len(a.CertPEM) == 0 {
			return a, false, nil // what members trust was lost meanwhile, too
		}
		return h.introduced(random, now, c, name, a, turn)
	case turn.Stage == cluster.Introduce && (phase == cluster.Stable || isStale || turn.Because == BySource && a.External):
		return h.introduced(random, now, c, name, a, turn)
	case turn.Stage == cluster.Switch && phase == cluster.Introduced:
		was := a.CertPEM
		a.Pair, a.Next, a.Previous = a.Next, pki.Pair{}, slices.Concat(a.Previous, bytes.Join(pki.Certificates(was), nil))
		a.External, a.NextExternal = a.NextExternal, false
		turn.Because, turn.Request = a.Because, a.Request
		return a.rotated(now, turn), true, nil
	case turn.Stage == cluster.Drop && phase == cluster.Switched:
		a.Previous = nil
		turn.Because, turn.Request = a.Because, a.Request
		return a.rotated(now, turn), true, nil
	case turn.Stage == cluster.Renew && h.isOver(c, name, now):
		next, err := h.wanted(random, now, c, name)
		return next.rotated(now, turn), true, err
	default:
		return a, false, nil
	}
}

// introduced is an authority with the next one beside it.
func (h KeyMaterial) introduced(
	random io.Reader, now time.Time, c *v1beta1.EtcdCluster, name string, a Authority, turn cluster.RotationStep,
) (Authority, bool, error) {
	next, err := h.wanted(random, now, c, name)
	a.Next, a.NextExternal = next.Pair, next.External
	return a.rotated(now, turn), true, err
}

// wanted is the authority that certificates are to be by: a new one of ours, or an external one.
func (h KeyMaterial) wanted(random io.Reader, now time.Time, c *v1beta1.EtcdCluster, name string) (Authority, error) {
	wanted := h.target(c, name, now)
	switch {
	case !wanted.ready:
		return Authority{}, errors.New("the Secrets that certificates are to come from have none that serve")
	case wanted.external:
		return Authority{Pair: pki.Pair{CertPEM: wanted.ca}, External: true}, nil
	default:
		pair, err := newCA(random, now, c, name)
		return Authority{Pair: pair}, err
	}
}

func (a Authority) rotated(now time.Time, turn cluster.RotationStep) Authority {
	a.RotatedAt, a.Because, a.Request = now, turn.Because, turn.Request
	return a
}

// memberTrust is the certificate by which members verify what a lost authority has signed, without its key, and the other
// authorities that they trust.
func (h KeyMaterial) memberTrust(c *v1beta1.EtcdCluster, name string) (signer pki.Pair, rest []byte) {
	bundle, leaf := h.bundleOf(c, name), h.Server
	if name == c.PeerCA() {
		leaf = h.Peer
	}
	for _, certificate := range pki.Certificates(bundle) {
		if ca := (pki.Pair{CertPEM: certificate}); len(signer.CertPEM) == 0 && pki.ChainsTo(leaf, certificate) {
			signer = ca
			continue
		}
		rest = append(rest, certificate...)
	}
	return signer, rest
}

func newCA(random io.Reader, now time.Time, c *v1beta1.EtcdCluster, name string) (pki.Pair, error) {
	suffix := " clients"
	if name == c.PeerCA() {
		suffix = " peers"
	}
	return pki.NewCA(random, now, c.Name+suffix, c.Spec.TLS.AuthorityLifetime())
}
