// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// A part is one of the certificates that a cluster needs.
type part int

const (
	server part = iota
	peer
	root
	client
	parts // how many there are
)

// An externalSecret is what a Secret holds that the operator does not make.
type externalSecret struct {
	secret string // its name; empty if no Secret is named for the part
	found  bool
	pair   pki.Pair
	ca     []byte // the authorities in it, in PEM
}

// TheirSecrets are the names of the Secrets that certificates are taken from, if the operator does not make them.
func TheirSecrets(c *v1beta1.EtcdCluster) []string {
	var all []string
	secrets, adopted := secretsOf(c), adoptedSecrets(c)
	for _, name := range slices.Concat(secrets[:], adopted[:]) {
		if name != "" {
			all = append(all, name)
		}
	}
	return all
}

// secretsOf are those names by part; empty if none is named.
func secretsOf(c *v1beta1.EtcdCluster) (names [parts]string) {
	refs := c.CertificateSecrets()
	if refs == nil {
		return names
	}
	names[server], names[peer], names[root] = refs.Server.Name, refs.Peer.Name, refs.Operator.Name
	if refs.Client != nil {
		names[client] = refs.Client.Name
	}
	return names
}

func readExternal(c *v1beta1.EtcdCluster, get func(name string) *corev1.Secret) (all [parts]externalSecret) {
	for i, name := range secretsOf(c) {
		all[i].secret = name
		if name == "" {
			continue
		}
		if secret := get(name); secret != nil {
			all[i].found, all[i].pair = true, pairOf(secret.Data)
			all[i].ca = secret.Data[specs.CAKey]
		}
	}
	return all
}

// theirRequest is what an external certificate must be issued for. It has not all names that ours have: those by which
// the operator, members and applications connect.
func theirRequest(c *v1beta1.EtcdCluster, of part) pki.Request {
	switch of {
	case server:
		service := c.ClientService() + "." + c.Namespace + ".svc"
		return pki.Request{Server: true, Client: true, DNSNames: []string{anyMember(c), service, "localhost"}}
	case peer:
		return pki.Request{Server: true, Client: true, DNSNames: []string{anyMember(c)}}
	case root:
		return bound(c, pki.Request{CommonName: v1beta1.RootUser, Client: true})
	default:
		return bound(c, pki.Request{Client: true})
	}
}

// bound is a request of a client whose certificate has the name of the cluster's clients, if members accept no other.
func bound(c *v1beta1.EtcdCluster, r pki.Request) pki.Request {
	if c.BindsClients() {
		r.DNSNames = append(r.DNSNames, specs.ClientHost(c))
	}
	return r
}

// lead is the part whose Secret says which authorities are to be trusted: clients and servers trust each other by one.
func (p part) lead() part {
	if p == peer {
		return peer
	}
	return server
}

// acceptance says when the certificate of a part is valid, or why it does not serve.
func (h KeyMaterial) acceptance(c *v1beta1.EtcdCluster, of part, now time.Time) (begin, end time.Time, err error) {
	t, lead := h.external[of], h.external[of.lead()]
	switch {
	case !t.found:
		because := "there is no such Secret: create it, with " + needs(c, of)
		return begin, end, &pki.Rejection{Defect: v1beta1.ReasonSecretMissing, Because: because}
	case of == client && commonName(t.pair) == v1beta1.RootUser:
		return begin, end, &pki.Rejection{Defect: pki.WrongName, Because: "the common name of its certificate is root, " +
			"and etcd gives the user root every permission: have one issued with another common name"}
	}
	ca := lead.ca
	if of == of.lead() || !lead.found || len(t.ca) == 0 {
		ca = t.ca // what lacks its own is incomplete
	}
	begin, end, err = pki.Accept(t.pair, ca, theirRequest(c, of), now)
	var rejected *pki.Rejection
	if of != of.lead() && errors.As(err, &rejected) && rejected.Defect == pki.WrongAuthority {
		rejected.Because = strings.Replace(rejected.Because, "ca.crt", "ca.crt of Secret "+lead.secret, 1)
	}
	return begin, end, err
}

// needs is what the Secret of a part is to hold, in words.
func needs(c *v1beta1.EtcdCluster, of part) string {
	r, usages := theirRequest(c, of), "server auth and client auth"
	if !r.Server {
		usages = "client auth"
	}
	text := "tls.crt, tls.key and ca.crt of a certificate for " + usages
	if r.CommonName != "" {
		text += ", with common name " + r.CommonName
	}
	if len(r.DNSNames) > 0 {
		text += ", with DNS names " + strings.Join(r.DNSNames, ", ")
	}
	return text
}

func commonName(pair pki.Pair) string {
	name, _ := pair.CommonName()
	return name
}

// A target is the authority that certificates are to be issued by.
type target struct {
	external bool
	ready    bool   // all of its certificates serve; ours can be made at any time
	ca       []byte // the external authorities, each in PEM of its own; nil if they are not ready
}

// target is the authority that is to issue the certificates of the authority of that name.
func (h KeyMaterial) target(c *v1beta1.EtcdCluster, name string, now time.Time) target {
	if c.CertificateSecrets() == nil {
		return target{ready: true}
	}
	lead := server
	if name == c.PeerCA() {
		lead = peer
	}
	for i, t := range h.external {
		if of := part(i); t.secret == "" || of.lead() != lead {
			continue
		} else if _, _, err := h.acceptance(c, of, now); err != nil {
			return target{external: true}
		}
	}
	return target{external: true, ready: true, ca: bytes.Join(pki.Certificates(h.external[lead].ca), nil)}
}

// is says whether the target is already this authority. What is not ready is no other one.
func (t target) is(ca pki.Pair, theirs bool) bool {
	return t.external == theirs && (!theirs || !t.ready || fingerprint(t.ca) == fingerprint(ca.CertPEM))
}

// given is the certificate of a part in an external Secret, if it serves and the authority has signed it.
func (h KeyMaterial) given(c *v1beta1.EtcdCluster, a Authority, of part, now time.Time) (pki.Pair, bool) {
	t := h.external[of]
	if t.secret == "" {
		return pki.Pair{}, false
	}
	_, _, err := h.acceptance(c, of, now)
	return t.pair, err == nil && pki.ChainsTo(t.pair, a.CertPEM)
}

// checkPart says why the certificate of a part must be another one; nil if it serves, or if there is one and no better.
func (h KeyMaterial) checkPart(c *v1beta1.EtcdCluster, a Authority, of part, have pki.Pair, r pki.Request, now time.Time) error {
	if !a.External {
		return a.check(c, have, r, now)
	}
	want, there := h.given(c, a, of, now)
	switch {
	case there && !want.Equal(have):
		return fmt.Errorf("it does not have the certificate of Secret %s", h.external[of].secret)
	case there || usable(have, now) && a.trusts(have):
		return nil
	case of == client && len(have.CertPEM) == 0 && h.external[of].secret == "":
		return nil
	default:
		return errors.New("its certificate is missing, or by an authority that is trusted no more")
	}
}

// issue is the certificate that a part is to have: a new one of ours if there is something wrong with the one that there is, or that of
// others.
func (h KeyMaterial) issue(
	random io.Reader, now time.Time, c *v1beta1.EtcdCluster, a Authority, of part, have pki.Pair, r pki.Request,
) (pki.Pair, error) {
	if !a.External {
		return a.issue(random, now, c, have, r)
	}
	given, there := h.given(c, a, of, now)
	switch {
	case there:
		return given, nil
	case usable(have, now) && a.trusts(have):
		return have, nil
	case of == client:
		return pki.Pair{}, nil
	default:
		return pki.Pair{}, fmt.Errorf("secret %s has none that serves", h.external[of].secret)
	}
}

// trusts says whether one of the authorities that are trusted has signed it.
func (a Authority) trusts(leaf pki.Pair) bool { return pki.ChainsTo(leaf, a.Bundle()) }

// adopted is the external authority that members trust, as their Secret says, if its own Secret is missing: nothing is lost with
// that, because it has no key. All else that members trust is still trusted.
func (h KeyMaterial) adopted(c *v1beta1.EtcdCluster, name string, t target) Authority {
	var rest []byte
	for _, certificate := range pki.Certificates(h.bundleOf(c, name)) {
		if !slices.ContainsFunc(pki.Certificates(t.ca), func(ca []byte) bool { return bytes.Equal(ca, certificate) }) {
			rest = append(rest, certificate...)
		}
	}
	return Authority{Pair: pki.Pair{CertPEM: t.ca}, External: true, Previous: rest, Request: requestOf(c, name)}
}

// isDistributed says whether members trust all authorities of the target, as their Secret says.
func (h KeyMaterial) isDistributed(c *v1beta1.EtcdCluster, name string, t target) bool {
	trusted := pki.Certificates(h.bundleOf(c, name))
	return t.external && t.ready && len(trusted) > 0 && !slices.ContainsFunc(pki.Certificates(t.ca), func(ca []byte) bool {
		return !slices.ContainsFunc(trusted, func(one []byte) bool { return bytes.Equal(one, ca) })
	})
}

// bundleOf are the authorities of that name that members trust, by their Secret.
func (h KeyMaterial) bundleOf(c *v1beta1.EtcdCluster, name string) []byte {
	if name == c.PeerCA() {
		return h.memberCAs[1]
	}
	return h.memberCAs[0]
}
