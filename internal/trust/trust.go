// Package trust knows the Secrets by which a cluster's connections are secured:
// two authorities, what members show, and what clients mount.
//
// It is pure, given a clock and randomness. It must never put a key anywhere but
// into a Secret.
package trust

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/build"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/pki"
)

// LeafLifetime is how long certificates of members and clients are valid. They
// are issued again when a third of it is left.
const LeafLifetime = 365 * 24 * time.Hour

// clientUser is the common name of the certificate that applications mount.
const clientUser = "client"

// Held is what the Secrets hold; empty pairs are missing.
type Held struct {
	ClientCA, PeerCA     pki.Pair
	Server, Peer, Client pki.Pair
	Root                 pki.Pair  // only with authentication
	memberCAs            [2][]byte // the authorities that members were told to trust
	clientCA, rootCA     []byte
	endpoints            string
	rootEndpoints        string
}

// Names are the Secrets that the cluster needs, authorities first.
func Names(c *v1alpha1.EtcdCluster) []string {
	if !c.IsSecure() {
		return []string{c.ClientSecret()}
	}
	names := append(Authorities(c), build.MemberSecret(c), c.ClientSecret())
	if c.HasAuth() {
		names = append(names, c.RootSecret())
	}
	return names
}

// Authorities are those of them that sign the others.
func Authorities(c *v1alpha1.EtcdCluster) []string {
	if !c.IsSecure() {
		return nil
	}
	return []string{c.ClientCA(), c.PeerCA()}
}

// Read takes the pairs out of the Secrets; a nil Secret is a missing one.
func Read(c *v1alpha1.EtcdCluster, get func(name string) *corev1.Secret) Held {
	data := func(name string) map[string][]byte {
		if secret := get(name); secret != nil {
			return secret.Data
		}
		return nil
	}
	member, client, root := data(build.MemberSecret(c)), data(c.ClientSecret()), data(c.RootSecret())
	return Held{
		ClientCA:  authority(data(c.ClientCA())),
		PeerCA:    authority(data(c.PeerCA())),
		Server:    pki.Pair{CertPEM: member[build.ServerCertKey], KeyPEM: member[build.ServerKeyKey]},
		Peer:      pki.Pair{CertPEM: member[build.PeerCertKey], KeyPEM: member[build.PeerKeyKey]},
		Client:    authority(client),
		Root:      authority(root),
		memberCAs: [2][]byte{member[build.ClientCAKey], member[build.PeerCAKey]},
		clientCA:  client[build.CAKey],
		rootCA:    root[build.CAKey],
		endpoints: string(client[build.EndpointsKey]), rootEndpoints: string(root[build.EndpointsKey]),
	}
}

func authority(data map[string][]byte) pki.Pair {
	return pki.Pair{CertPEM: data[corev1.TLSCertKey], KeyPEM: data[corev1.TLSPrivateKeyKey]}
}

// Fault says what is wrong with the Secret of that name; nil if nothing is.
func (h Held) Fault(c *v1alpha1.EtcdCluster, name string, now time.Time) error {
	switch name {
	case c.ClientCA():
		return usable(h.ClientCA)
	case c.PeerCA():
		return usable(h.PeerCA)
	case build.MemberSecret(c):
		return errors.Join(
			same("client authority", h.memberCAs[0], h.ClientCA.CertPEM), same("peer authority", h.memberCAs[1], h.PeerCA.CertPEM),
			pki.Check(h.Server, h.ClientCA, serverRequest(c), now), pki.Check(h.Peer, h.PeerCA, peerRequest(c), now))
	case c.RootSecret():
		return errors.Join(same("list of endpoints", []byte(h.rootEndpoints), []byte(build.Endpoint(c))),
			same("authority", h.rootCA, h.ClientCA.CertPEM), pki.Check(h.Root, h.ClientCA, ClientRequest(v1alpha1.RootUser, LeafLifetime), now))
	}
	endpoints := same("list of endpoints", []byte(h.endpoints), []byte(build.Endpoint(c)))
	if !c.IsSecure() {
		return endpoints
	}
	return errors.Join(endpoints, same("authority", h.clientCA, h.ClientCA.CertPEM),
		pki.Check(h.Client, h.ClientCA, ClientRequest(clientUser, LeafLifetime), now))
}

func usable(ca pki.Pair) error {
	if len(ca.CertPEM) == 0 {
		return errors.New("it is missing")
	}
	if _, err := ca.TLSCertificate(); err != nil {
		return fmt.Errorf("it holds no certificate with its key: %w", err)
	}
	return nil
}

func same(what string, have, want []byte) error {
	if bytes.Equal(have, want) {
		return nil
	}
	return fmt.Errorf("its %s is not the current one", what)
}

// Signs says whether the authority of that name is that Secret, or signs what is in it.
func Signs(c *v1alpha1.EtcdCluster, authority, secret string) bool {
	isClients := secret == c.ClientSecret() || secret == c.RootSecret()
	return secret == authority || secret == build.MemberSecret(c) || isClients && authority == c.ClientCA()
}

// Lost says why the authority of that name can sign nothing more for members that run:
// it is gone, or another than theirs. It is nil if it can sign.
func (h Held) Lost(c *v1alpha1.EtcdCluster, name string) error {
	ca, told, leaf := h.ClientCA, h.memberCAs[0], h.Server
	if name == c.PeerCA() {
		ca, told, leaf = h.PeerCA, h.memberCAs[1], h.Peer
	}
	if err := usable(ca); err != nil {
		return err
	}
	if bytes.Equal(ca.CertPEM, told) || pki.IsSignedBy(leaf, ca) || !h.Holds(c, name) {
		return nil
	}
	return fmt.Errorf("it is another than the one that signed Secret %s", build.MemberSecret(c))
}

// How long before an authority ends it is told: all that it signed ends with it.
const (
	tellEnd = 365 * 24 * time.Hour
	nearEnd = 30 * 24 * time.Hour
)

// Ending are the authorities that end within a year. The end of one is near 30 days before.
func (h Held) Ending(c *v1alpha1.EtcdCluster, now time.Time) []cluster.Ending {
	var all []cluster.Ending
	for _, name := range Authorities(c) {
		ca := h.ClientCA
		if name == c.PeerCA() {
			ca = h.PeerCA
		}
		if end, known := ca.End(); known && end.Sub(now) < tellEnd {
			on := end.UTC().Format(time.DateOnly)
			all = append(all, cluster.Ending{Secret: name, Holder: build.MemberSecret(c), On: on, Near: end.Sub(now) < nearEnd})
		}
	}
	return all
}

// Holds says whether the members' Secret has a certificate by the authority of that name
// that they were told to trust, whatever has become of that.
func (h Held) Holds(c *v1alpha1.EtcdCluster, name string) bool {
	if name == c.PeerCA() {
		return pki.IsSignedBy(h.Peer, pki.Pair{CertPEM: h.memberCAs[1]})
	}
	return pki.IsSignedBy(h.Server, pki.Pair{CertPEM: h.memberCAs[0]})
}

// ToldCA is the authority that members were told to trust clients by.
func (h Held) ToldCA() []byte { return h.memberCAs[0] }

// Make makes a new Secret of that name, and remembers what it holds. The
// authorities must be made before what they sign.
func (h *Held) Make(random io.Reader, now time.Time, c *v1alpha1.EtcdCluster, name string) (*corev1.Secret, error) {
	var err error
	switch name {
	case c.ClientCA():
		h.ClientCA, err = pki.NewCA(random, now, c.Name+" clients")
		return build.Authority(c, name, h.ClientCA.CertPEM, h.ClientCA.KeyPEM), err
	case c.PeerCA():
		h.PeerCA, err = pki.NewCA(random, now, c.Name+" peers")
		return build.Authority(c, name, h.PeerCA.CertPEM, h.PeerCA.KeyPEM), err
	case build.MemberSecret(c):
		return h.makeMember(random, now, c)
	case c.RootSecret():
		h.Root, err = pki.Issue(random, now, h.ClientCA, ClientRequest(v1alpha1.RootUser, LeafLifetime))
		return build.Root(c, h.ClientCA.CertPEM, h.Root.CertPEM, h.Root.KeyPEM), err
	}
	if c.IsSecure() {
		h.Client, err = pki.Issue(random, now, h.ClientCA, ClientRequest(clientUser, LeafLifetime))
	}
	return build.Client(c, h.ClientCA.CertPEM, h.Client.CertPEM, h.Client.KeyPEM), err
}

func (h *Held) makeMember(random io.Reader, now time.Time, c *v1alpha1.EtcdCluster) (*corev1.Secret, error) {
	var err error
	if h.Server, err = pki.Issue(random, now, h.ClientCA, serverRequest(c)); err != nil {
		return nil, fmt.Errorf("issue server certificate: %w", err)
	}
	if h.Peer, err = pki.Issue(random, now, h.PeerCA, peerRequest(c)); err != nil {
		return nil, fmt.Errorf("issue peer certificate: %w", err)
	}
	return build.MemberTLS(c, map[string][]byte{
		build.ClientCAKey: h.ClientCA.CertPEM, build.ServerCertKey: h.Server.CertPEM, build.ServerKeyKey: h.Server.KeyPEM,
		build.PeerCAKey: h.PeerCA.CertPEM, build.PeerCertKey: h.Peer.CertPEM, build.PeerKeyKey: h.Peer.KeyPEM,
	}), nil
}

// serverRequest names every member and the client Service. Servers are clients
// too, because etcdctl in a member's Pod uses the same certificate.
func serverRequest(c *v1alpha1.EtcdCluster) pki.Request {
	client := c.ClientService()
	return pki.Request{
		CommonName: "etcd-server", Server: true, Client: true, Lifetime: LeafLifetime,
		DNSNames: []string{
			anyMember(c), client, client + "." + c.Namespace, client + "." + c.Namespace + ".svc",
			client + "." + c.Namespace + ".svc.cluster.local", "localhost",
		},
		IPs: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
}

func peerRequest(c *v1alpha1.EtcdCluster) pki.Request {
	return pki.Request{
		CommonName: "etcd-peer", Server: true, Client: true, Lifetime: LeafLifetime,
		DNSNames: []string{anyMember(c)},
	}
}

// ClientRequest is a client certificate. Its common name is the etcd user once
// authentication is on (https://etcd.io/docs/v3.6/op-guide/authentication/rbac/).
func ClientRequest(user string, lifetime time.Duration) pki.Request {
	return pki.Request{CommonName: user, Client: true, Lifetime: lifetime}
}

func anyMember(c *v1alpha1.EtcdCluster) string { return build.Host(c, "*") }
