// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"errors"
	"io"
	"net"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// clientUser is the common name of the certificate that applications mount.
const clientUser = "client"

// check says why a certificate must be issued again; nil if it still serves, or if there is one and no other can be issued
// before the next authority signs.
func (a Authority) check(c *v1beta1.EtcdCluster, leaf pki.Pair, r pki.Request, now time.Time) error {
	if a.Phase() == cluster.Introduced && !a.Signs(now) && usable(leaf, now) {
		return nil
	}
	if isRevoked(c, leaf) {
		return errRevoked
	}
	return pki.Check(leaf, a.Pair, r, now)
}

// cannotIssue says why no certificate can be issued now, if there is none to keep until the next authority signs.
func (a Authority) cannotIssue(have pki.Pair, now time.Time) error {
	isIntroduced := a.Phase() == cluster.Introduced
	switch {
	case isIntroduced && usable(have, now):
		return nil
	case a.hasEnded(now):
		return errors.New("it has ended")
	case a.isYetToBegin(now):
		return errors.New("it is not valid yet")
	case isIntroduced && !a.Signs(now):
		return errors.New("it cannot sign any more, and the next one signs when all members trust it")
	default:
		return nil
	}
}

// issue makes a certificate, or keeps the one that there is if nothing is wrong with it.
func (a Authority) issue(
	random io.Reader, now time.Time, c *v1beta1.EtcdCluster, have pki.Pair, r pki.Request,
) (pki.Pair, error) {
	if a.check(c, have, r, now) == nil {
		return have, nil
	}
	return pki.Issue(random, now, a.Pair, r)
}

// serverRequest names every member, the client Service, and what clients outside of the Kubernetes cluster connect by. Servers are
// clients too, because etcdctl in a member's Pod uses the same certificate.
func (h KeyMaterial) serverRequest(c *v1beta1.EtcdCluster) pki.Request {
	names, addresses := specs.ServerNames(c, h.Domain)
	r := pki.Request{
		CommonName: "etcd-server", Server: true, Client: true, Lifetime: c.Spec.TLS.CertificateLifetime(),
		DNSNames: append(names, adoptedHosts(c, h.Domain)...),
	}
	for _, address := range addresses {
		r.IPs = append(r.IPs, net.ParseIP(address))
	}
	return r
}

func peerRequest(c *v1beta1.EtcdCluster) pki.Request {
	return pki.Request{
		CommonName: "etcd-peer", Server: true, Client: true, Lifetime: c.Spec.TLS.CertificateLifetime(),
		DNSNames: append([]string{anyMember(c)}, joiningHosts(c)...),
	}
}

// userRequest is the certificate that applications mount.
func userRequest(c *v1beta1.EtcdCluster) pki.Request {
	return ClientRequest(clientUser, c.Spec.TLS.CertificateLifetime())
}

// rootRequest is the certificate that backups show while authentication is on.
func rootRequest(c *v1beta1.EtcdCluster) pki.Request {
	return ClientRequest(v1beta1.RootUser, c.Spec.TLS.CertificateLifetime())
}

// ClientRequest is a client certificate. Its common name is the etcd user once
// authentication is on (https://etcd.io/docs/v3.6/op-guide/authentication/rbac/).
func ClientRequest(user string, lifetime time.Duration) pki.Request {
	return pki.Request{CommonName: user, Client: true, Lifetime: lifetime}
}

func anyMember(c *v1beta1.EtcdCluster) string { return specs.Host(c, "*") }
