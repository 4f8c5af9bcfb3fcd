// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"fmt"
	"slices"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
)

// TLSProbe is what one member shows and accepts at its ports.
type TLSProbe struct {
	Member       string
	Client, Peer Port
	Refusal      Refusal // of what is revoked
}

// A Port is what a TLS handshake with a member shows. None of it was verified.
type Port struct {
	Shown   []byte   // the certificate that it shows, in DER
	Between [][]byte // the certificates that it shows with it, in DER
	Accepts [][]byte // the subjects of the authorities that it trusts, in DER
	Err     string   // why nothing is known; empty if it is
}

// shown is the certificate that a port shows, with those in between.
func (p Port) shown() pki.Pair { return pki.Chain(append([][]byte{p.Shown}, p.Between...)) }

// accepts says whether a port trusts the next authorities, given all that it is to trust. TLS names authorities by their subjects alone,
// each as often as there are authorities of that subject: external ones may share one.
func (p Port) accepts(all, next []byte) bool {
	named := map[string]int{}
	for _, subject := range p.Accepts {
		named[string(subject)]++
	}
	wanted := map[string]int{}
	for _, certificate := range pki.Certificates(all) {
		wanted[string(pki.Pair{CertPEM: certificate}.Subject())]++
	}
	return !slices.ContainsFunc(pki.Certificates(next), func(certificate []byte) bool {
		subject := pki.Pair{CertPEM: certificate}.Subject()
		return named[string(subject)] < wanted[string(subject)]
	})
}

type portOf struct {
	Port
	member string
	at     string // as people name it
}

// ports are those of all members that etcd lists.
func (h KeyMaterial) ports(peer bool, f Facts) []portOf {
	if len(f.Members) == 0 {
		return []portOf{{Port: Port{Err: "the member list is not known"}, at: "members"}}
	}
	var all []portOf
	for _, member := range f.Members {
		found := portOf{Port: Port{Err: "it does not run"}, member: member, at: fmt.Sprintf("%s at port %d", member, v1beta1.ClientPort)}
		if peer {
			found.at = fmt.Sprintf("%s at port %d", member, v1beta1.PeerPort)
		}
		for _, sight := range f.Probes {
			if sight.Member != member {
				continue
			}
			if found.Port = sight.Client; peer {
				found.Port = sight.Peer
			}
		}
		all = append(all, found)
	}
	return all
}
