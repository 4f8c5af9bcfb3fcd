// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certs knows the Secrets by which a cluster's connections are secured:
// two authorities, what members show, and what clients mount.
//
// It is pure, given a clock and randomness. It must never put a key anywhere but
// into a Secret.
package certs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// KeyMaterial is what the Secrets hold; empty pairs are missing.
type KeyMaterial struct {
	ClientCA, PeerCA     Authority
	Server, Peer, Client pki.Pair
	Root                 pki.Pair  // only if the operator's own certificate is in a Secret
	memberCAs            [2][]byte // the authorities in the members' Secret, which they trust, clients' first
	clientCA, rootCA     []byte
	endpoints            string
	rootEndpoints        string
	trust                string // fingerprint that is written on the members' Secret
	written              written
	revocation           revocation
	seeds                [2]pki.Pair           // authorities of the cluster that is adopted, clients' first
	external             [parts]externalSecret // what external Secrets hold; empty if certificates are ours

	// Domain is that of the Kubernetes cluster, for the names of members; empty if none is known.
	Domain string

	// Issued are the Secrets that certificates of EtcdUsers are taken from while the authority of clients is external, by the name
	// of the EtcdUser.
	Issued map[string]*corev1.Secret
}

// written is since when the Secrets that are mounted have the authorities of peers and of clients that they have, and
// certificates by those that sign; zero if they are missing.
type written struct{ peer, client time.Time }

// Names are the Secrets that the cluster needs, authorities first.
func Names(c *v1beta1.EtcdCluster) []string {
	if !c.HasCertificates() {
		return []string{c.ClientSecret()}
	}
	names := append(Authorities(c), specs.MemberSecret(c), c.ClientSecret())
	if c.HasRootSecret() {
		names = append(names, c.RootSecret())
	}
	return names
}

// Authorities are those of them that sign the others.
func Authorities(c *v1beta1.EtcdCluster) []string {
	if !c.HasCertificates() {
		return nil
	}
	return []string{c.ClientCA(), c.PeerCA()}
}

// Read takes the pairs out of the Secrets; a nil Secret is a missing one.
func Read(c *v1beta1.EtcdCluster, get func(name string) *corev1.Secret) KeyMaterial {
	data := func(secret *corev1.Secret) map[string][]byte {
		if secret != nil {
			return secret.Data
		}
		return nil
	}
	memberSecret, clientSecret := get(specs.MemberSecret(c)), get(c.ClientSecret())
	member, client, root := data(memberSecret), data(clientSecret), data(get(c.RootSecret()))
	held := KeyMaterial{
		ClientCA:  readAuthority(get(c.ClientCA())),
		PeerCA:    readAuthority(get(c.PeerCA())),
		Server:    pki.Pair{CertPEM: member[specs.ServerCertKey], KeyPEM: member[specs.ServerKeyKey]},
		Peer:      pki.Pair{CertPEM: member[specs.PeerCertKey], KeyPEM: member[specs.PeerKeyKey]},
		Client:    pairOf(client),
		Root:      pairOf(root),
		memberCAs: [2][]byte{member[specs.ClientCAKey], member[specs.PeerCAKey]},
		clientCA:  client[specs.CAKey],
		rootCA:    root[specs.CAKey],
		endpoints: string(client[specs.EndpointsKey]), rootEndpoints: string(root[specs.EndpointsKey]),
		written:  written{writtenAt(memberSecret), writtenAt(clientSecret)},
		external: readExternal(c, get),
	}
	for i, name := range adoptedSecrets(c) {
		if name != "" {
			held.seeds[i] = readAdopted(c, get(name))
		}
	}
	if memberSecret != nil {
		held.trust = memberSecret.Annotations[v1beta1.AnnotationTrust]
		held.revocation = readRevocation(memberSecret)
	}
	return held
}

func pairOf(data map[string][]byte) pki.Pair {
	return pki.Pair{CertPEM: data[corev1.TLSCertKey], KeyPEM: data[corev1.TLSPrivateKeyKey]}
}

// writtenAt is when the operator has written other authorities into the Secret.
func writtenAt(secret *corev1.Secret) time.Time {
	if secret == nil {
		return time.Time{}
	}
	if at, err := time.Parse(time.RFC3339, secret.Annotations[v1beta1.AnnotationWrittenAt]); err == nil {
		return at
	}
	return secret.CreationTimestamp.Time
}

// of is the authority in the Secret of that name.
func (h KeyMaterial) of(c *v1beta1.EtcdCluster, name string) Authority {
	if name == c.PeerCA() {
		return h.PeerCA
	}
	return h.ClientCA
}

// Trust is the fingerprint of the authorities that a member reads which starts now; empty if none was ever rotated. It
// is not known while the Secret is missing that members mount.
func (h KeyMaterial) Trust() (fingerprint string, known bool) {
	return h.trust, len(h.memberCAs[0]) > 0
}

// wantedTrust is what that is to be.
func (h KeyMaterial) wantedTrust() string {
	if h.trust == "" && h.ClientCA.Because == "" && h.PeerCA.Because == "" {
		return ""
	}
	return fingerprint(h.ClientCA.Bundle(), h.PeerCA.Bundle())
}

// Fault says what is wrong with the Secret of that name; nil if nothing is.
func (h KeyMaterial) Fault(c *v1beta1.EtcdCluster, name string, now time.Time) error {
	switch name {
	case c.ClientCA():
		return h.ClientCA.fault()
	case c.PeerCA():
		return h.PeerCA.fault()
	case specs.MemberSecret(c):
		return errors.Join(
			same("client authority", h.memberCAs[0], h.ClientCA.Bundle()), same("peer authority", h.memberCAs[1], h.PeerCA.Bundle()),
			same("fingerprint of authorities", []byte(h.trust), []byte(h.wantedTrust())),
			h.checkPart(c, h.ClientCA, server, h.Server, h.serverRequest(c), now),
			h.checkPart(c, h.PeerCA, peer, h.Peer, peerRequest(c), now), h.listFault(c, now))
	case c.RootSecret():
		return errors.Join(same("list of endpoints", []byte(h.rootEndpoints), []byte(specs.Endpoint(c))),
			same("authority", h.rootCA, h.ClientCA.Bundle()), h.checkPart(c, h.ClientCA, root, h.Root, rootRequest(c), now))
	}
	endpoints := same("list of endpoints", []byte(h.endpoints), []byte(specs.Endpoint(c)))
	if !c.HasCertificates() {
		return errors.Join(endpoints, same("authority", h.clientCA, nil))
	}
	return errors.Join(endpoints, same("authority", h.clientCA, h.ClientCA.Bundle()),
		h.checkPart(c, h.ClientCA, client, h.Client, userRequest(c), now))
}

// CanMake says whether the Secret of that name can be made now. It cannot when the authority that is to sign has ended or is
// not valid yet, while one is replaced that can sign no more, or while an external authority has yet to sign, if there is no
// certificate by it to keep.
func (h KeyMaterial) CanMake(c *v1beta1.EtcdCluster, name string, now time.Time) bool {
	switch name {
	case specs.MemberSecret(c):
		return h.makes(c, c.ClientCA(), server, h.Server, now) && h.makes(c, c.PeerCA(), peer, h.Peer, now)
	case c.ClientSecret():
		return !c.HasCertificates() || h.makes(c, c.ClientCA(), client, h.Client, now)
	case c.RootSecret():
		return h.makes(c, c.ClientCA(), root, h.Root, now)
	default:
		return h.target(c, name, now).ready
	}
}

// makes says whether there can be a certificate for a part.
func (h KeyMaterial) makes(c *v1beta1.EtcdCluster, authority string, of part, have pki.Pair, now time.Time) bool {
	a := h.of(c, authority)
	switch {
	case a.fault() != nil && c.CertificateSecrets() != nil:
		return h.target(c, authority, now).ready
	case a.External:
		_, there := h.given(c, a, of, now)
		return there || of == client || usable(have, now) && a.trusts(have)
	default:
		return a.cannotIssue(have, now) == nil
	}
}

func same(what string, have, want []byte) error {
	if bytes.Equal(have, want) {
		return nil
	}
	return fmt.Errorf("its %s is not the current one", what)
}

// Signs says whether the authority of that name is that Secret, or signs what is in it.
func Signs(c *v1beta1.EtcdCluster, authority, secret string) bool {
	isClients := secret == c.ClientSecret() || secret == c.RootSecret()
	return secret == authority || secret == specs.MemberSecret(c) || isClients && authority == c.ClientCA()
}

// Make makes a new Secret of that name, and remembers what it holds. The
// authorities must be made before what they sign.
func (h *KeyMaterial) Make(random io.Reader, now time.Time, c *v1beta1.EtcdCluster, name string) (*corev1.Secret, error) {
	switch name {
	case c.ClientCA(), c.PeerCA():
		return h.makeAuthority(random, now, c, name)
	case specs.MemberSecret(c):
		return h.makeMember(random, now, c)
	case c.RootSecret():
		return h.makeRoot(random, now, c)
	}
	if !c.HasCertificates() {
		return specs.Client(c, nil, nil, nil), nil
	}
	var err error
	since := h.ClientCA.since(c, h.written.client, now, h.clientCA, h.Client)
	if h.Client, err = h.issue(random, now, c, h.ClientCA, client, h.Client, userRequest(c)); err != nil {
		return nil, fmt.Errorf("issue client certificate: %w", err)
	}
	secret := specs.Client(c, h.ClientCA.Bundle(), h.Client.CertPEM, h.Client.KeyPEM)
	return specs.Noted(secret, writtenSince(since)), nil
}

func (h *KeyMaterial) makeAuthority(random io.Reader, now time.Time, c *v1beta1.EtcdCluster, name string) (*corev1.Secret, error) {
	if wanted := h.target(c, name, now); h.isDistributed(c, name, wanted) {
		return h.keep(c, name, h.adopted(c, name, wanted)), nil
	}
	if seed, is := h.adoptedAuthority(c, name); is {
		return h.keep(c, name, seed), nil
	}
	made, err := h.wanted(random, now, c, name)
	made.Request = requestOf(c, name)
	return h.keep(c, name, made), err
}

// Turn is the Secret of an authority after a pass of its rotation; nil if that was taken before.
func (h *KeyMaterial) Turn(
	random io.Reader, now time.Time, c *v1beta1.EtcdCluster, name string, turn cluster.RotationStep,
) (*corev1.Secret, error) {
	a, changed, err := h.advance(random, now, c, name, turn)
	if err != nil || !changed {
		return nil, err
	}
	return h.keep(c, name, a), nil
}

func (h *KeyMaterial) keep(c *v1beta1.EtcdCluster, name string, a Authority) *corev1.Secret {
	if name == c.PeerCA() {
		h.PeerCA = a
	} else {
		h.ClientCA = a
	}
	return a.secret(c, name)
}

func (h *KeyMaterial) makeMember(random io.Reader, now time.Time, c *v1beta1.EtcdCluster) (*corev1.Secret, error) {
	var err error
	since := h.PeerCA.since(c, h.written.peer, now, h.memberCAs[1], h.Peer)
	if h.Server, err = h.issue(random, now, c, h.ClientCA, server, h.Server, h.serverRequest(c)); err != nil {
		return nil, fmt.Errorf("issue server certificate: %w", err)
	}
	if h.Peer, err = h.issue(random, now, c, h.PeerCA, peer, h.Peer, peerRequest(c)); err != nil {
		return nil, fmt.Errorf("issue peer certificate: %w", err)
	}
	if h.revocation, err = h.revoke(random, now, c); err != nil {
		return nil, err
	}
	notes := writtenSince(since)
	notes[v1beta1.AnnotationTrust], notes[v1beta1.AnnotationRevokedAt] = h.wantedTrust(), h.revocation.at
	data := map[string][]byte{
		specs.ClientCAKey: h.ClientCA.Bundle(), specs.ServerCertKey: h.Server.CertPEM, specs.ServerKeyKey: h.Server.KeyPEM,
		specs.PeerCAKey: h.PeerCA.Bundle(), specs.PeerCertKey: h.Peer.CertPEM, specs.PeerKeyKey: h.Peer.KeyPEM,
	}
	if len(h.revocation.list) > 0 {
		data[specs.RevokedKey] = h.revocation.list
	}
	return specs.Noted(specs.MemberTLS(c, data), notes), nil
}

// since is when a Secret got the authorities that it is to have, and a certificate by the one that signs which is not revoked: now,
// unless it has had them before. A certificate that is only issued again delays nothing.
func (a Authority) since(c *v1beta1.EtcdCluster, written, now time.Time, bundle []byte, leaf pki.Pair) time.Time {
	if len(bundle) == 0 || bytes.Equal(bundle, a.Bundle()) && a.hasSigned(leaf) && !isRevoked(c, leaf) {
		return written
	}
	return now
}

func writtenSince(at time.Time) map[string]string {
	if at.IsZero() {
		return map[string]string{}
	}
	return map[string]string{v1beta1.AnnotationWrittenAt: at.UTC().Format(time.RFC3339)}
}

func (h *KeyMaterial) makeRoot(random io.Reader, now time.Time, c *v1beta1.EtcdCluster) (*corev1.Secret, error) {
	var err error
	if h.Root, err = h.issue(random, now, c, h.ClientCA, root, h.Root, rootRequest(c)); err != nil {
		return nil, fmt.Errorf("issue the certificate of %s: %w", v1beta1.RootUser, err)
	}
	return specs.Root(c, h.ClientCA.Bundle(), h.Root.CertPEM, h.Root.KeyPEM), nil
}
