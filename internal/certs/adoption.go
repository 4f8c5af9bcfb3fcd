// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// adoptedSecrets are the names of the Secrets with the authorities of a cluster that is adopted, clients' first; empty: none is named.
func adoptedSecrets(c *v1beta1.EtcdCluster) (names [2]string) {
	adopt := c.Adopts()
	if adopt == nil || !c.HasCertificates() {
		return names
	}
	if adopt.ClientAuthorityRef != nil {
		names[0] = adopt.ClientAuthorityRef.Name
	}
	if adopt.PeerAuthorityRef != nil {
		names[1] = adopt.PeerAuthorityRef.Name
	}
	return names
}

// readAdopted takes an authority out of the Secret of others: tls.crt and tls.key, or ca.crt and ca.key.
func readAdopted(c *v1beta1.EtcdCluster, secret *corev1.Secret) pki.Pair {
	if secret == nil || c.MayUse("secret/"+secret.Name, secret.Annotations) != "" {
		return pki.Pair{}
	}
	const caKeyKey = "ca.key"
	if key := secret.Data[caKeyKey]; len(key) > 0 {
		return pki.Pair{CertPEM: bytes.Clone(secret.Data[specs.CAKey]), KeyPEM: bytes.Clone(key)}
	}
	return pairOf(secret.Data)
}

// CheckAdopted says which of the authorities that the adoption of a running cluster needs cannot sign; nil if all can.
func CheckAdopted(c *v1beta1.EtcdCluster, get func(name string) *corev1.Secret, now time.Time) error {
	for i, name := range adoptedSecrets(c) {
		if name == "" {
			continue
		}
		field := [2]string{"clientAuthorityRef", "peerAuthorityRef"}[i]
		secret := get(name)
		if secret == nil {
			return fmt.Errorf("Secret %s, which bootstrap.adopt.%s names, does not exist", name, field) //nolint:staticcheck // a kind
		}
		if refused := c.MayUse("secret/"+name, secret.Annotations); refused != "" {
			return errors.New(refused)
		}
		a := Authority{Pair: readAdopted(c, secret)}
		err := complete(a.Pair)
		if err == nil && !a.Signs(now) {
			err = errors.New("it has ended")
		}
		if err == nil && !pki.IsAuthority(a.Pair) {
			err = errors.New("its certificate is not that of an authority")
		}
		if err != nil {
			return fmt.Errorf("the authority in Secret %s, which bootstrap.adopt.%s names, cannot sign for members that join: %w", name, field, err)
		}
	}
	return nil
}

// adoptedAuthority is what the authority of that name begins with while a running cluster is adopted; empty if that is one of ours.
func (h KeyMaterial) adoptedAuthority(c *v1beta1.EtcdCluster, name string) (Authority, bool) {
	i := 0
	if name == c.PeerCA() {
		i = 1
	}
	if len(h.seeds[i].CertPEM) == 0 {
		return Authority{}, false
	}
	return Authority{Pair: h.seeds[i], Adopted: true}, true
}

// AdoptedHosts are the names that certificates have because a running cluster is adopted.
func AdoptedHosts(c *v1beta1.EtcdCluster) []string {
	return append(joiningHosts(c), adoptedHosts(c, "")...)
}

// joiningHosts are the names that members of a running cluster find for one that joins: by default their etcd wants a name without a
// wildcard that resolves to its address (checkCertSAN in etcd's client/pkg/transport/listener_tls.go).
func joiningHosts(c *v1beta1.EtcdCluster) []string {
	if c.Adopts() == nil {
		return nil
	}
	var hosts []string
	for serial := range 2 * max(c.Size(), int(c.Status.NextSerial)) {
		hosts = append(hosts, specs.Host(c, cluster.MemberName(c.Name, serial)))
	}
	return hosts
}

// adoptedHosts are the names of the Services by which clients reached the cluster that was adopted or copied, with the domain of the
// Kubernetes cluster.
func adoptedHosts(c *v1beta1.EtcdCluster, domain string) []string {
	var hosts []string
	for _, name := range c.SourceServices() {
		service := name + "." + c.Namespace
		hosts = append(hosts, name, service, service+".svc", service+".svc."+cmp.Or(domain, specs.DefaultDomain))
	}
	return hosts
}

// asAdopted is the note on the Secret of an authority of the cluster that is adopted; empty on others.
func (a Authority) asAdopted() string {
	if a.Adopted {
		return "true"
	}
	return ""
}
