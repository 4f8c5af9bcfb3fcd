// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// Lost says why the authority of that name can sign nothing more for members that run:
// it is gone, or it is not the one that they trust. It is nil if it can sign, if another is about to, or if
// nothing that it has signed is still valid.
func (h KeyMaterial) Lost(c *v1beta1.EtcdCluster, name string, now time.Time) error {
	ca, bundle := h.of(c, name), h.bundleOf(c, name)
	err := ca.fault()
	if err != nil && h.isDistributed(c, name, h.target(c, name, now)) {
		return nil
	}
	if ca.Phase() == cluster.Introduced || err == nil && ca.has(bundle) {
		return nil
	}
	signer, _ := h.memberTrust(c, name)
	switch {
	case (Authority{Pair: signer}).hasEnded(now):
		return nil
	case ca.Because == ByEnd && h.hasExpired(c, name, now): // it has just been renewed, and members' Secret is next
		return nil
	case err != nil:
		return err
	case len(signer.CertPEM) == 0:
		return nil
	default:
		return fmt.Errorf("it is another than the one that signed Secret %s", specs.MemberSecret(c))
	}
}

// has says whether one of the certificates is the authority's.
func (a Authority) has(bundle []byte) bool {
	ours := pki.Certificates(slices.Concat(a.CertPEM, []byte("\n"), a.Previous))
	return slices.ContainsFunc(pki.Certificates(bundle), func(certificate []byte) bool {
		return slices.ContainsFunc(ours, func(our []byte) bool { return bytes.Equal(our, certificate) })
	})
}

// How long before its end an authority is reported: all that it signed ends with it. For one with a short life it is a
// quarter and a twelfth of that.
const (
	warnEnd = 365 * 24 * time.Hour
	nearEnd = 30 * 24 * time.Hour
)

// Ending are the authorities that end soon.
func (h KeyMaterial) Ending(c *v1beta1.EtcdCluster, now time.Time) []cluster.Ending {
	var all []cluster.Ending
	for _, name := range Authorities(c) {
		if spent, is := h.expired(c, name, now); is {
			all = append(all, spent)
			continue
		}
		ca := h.of(c, name)
		end, known := ca.End()
		left := end.Sub(now)
		if !known || left >= min(warnEnd, ca.life()/4) || ca.External && !(left < 0 && h.succeeds(c, name, now)) {
			continue
		}
		on := end.UTC().Format(time.DateOnly)
		if ca.life() < nearEnd {
			on = end.UTC().Format(time.RFC3339)
		}
		all = append(all, cluster.Ending{Secret: name, On: on, Near: left < min(nearEnd, ca.life()/12), Over: left < 0})
	}
	return all
}

// succeeds says whether there is another authority than the external one that members trust. Its end is reported with its
// certificates: only the restart of all members for the next one needs a person.
func (h KeyMaterial) succeeds(c *v1beta1.EtcdCluster, name string, now time.Time) bool {
	wanted, a := h.target(c, name, now), h.of(c, name)
	return wanted.ready && !wanted.is(a.Pair, a.External)
}

// Holds says whether the members' Secret has a certificate by the authority of that name
// that they trust, whether or not that authority still exists.
func (h KeyMaterial) Holds(c *v1beta1.EtcdCluster, name string) bool {
	signer, _ := h.memberTrust(c, name)
	return len(signer.CertPEM) > 0
}

// MemberCA is the authority by which members trust clients, as their Secret says.
func (h KeyMaterial) MemberCA() []byte { return h.memberCAs[0] }
