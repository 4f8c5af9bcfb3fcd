// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Keys of the Secret that members mount.
const (
	// ClientCAKey is the authority that clients and servers trust.
	ClientCAKey = "client-ca.crt"
	// ServerCertKey and ServerKeyKey are what members show to clients.
	ServerCertKey = "server.crt"
	ServerKeyKey  = "server.key"
	// PeerCAKey is the authority that members trust among themselves.
	PeerCAKey = "peer-ca.crt"
	// PeerCertKey and PeerKeyKey are what members show to each other.
	PeerCertKey = "peer.crt"
	PeerKeyKey  = "peer.key"
	// RevokedKey is the list of the certificates of clients that members refuse, in DER.
	RevokedKey = "client.crl"
)

// Names of the authorities, as people ask for them.
const (
	ClientAuthority = "client"
	PeerAuthority   = "peer"
)

// Keys of the Secret of an authority while it is rotated.
const (
	// NextCertKey and NextKeyKey are the authority that signs next.
	NextCertKey = "next.crt"
	NextKeyKey  = "next.key"
	// PreviousKey has those that signed before and are still trusted.
	PreviousKey = "previous.crt"
	// ExternalKey says which of tls.crt and next.crt are external authorities, separated by a space: their keys are not here. It is there
	// also while nothing is rotated.
	ExternalKey = "of-others"
)

// Keys of the Secrets of authorities and clients; the standard ones.
const (
	// CAKey is the authority's certificate.
	CAKey = "ca.crt"
	// EndpointsKey is where clients connect to.
	EndpointsKey = "endpoints"
)

// MemberSecret is the name of the Secret that all members mount.
func MemberSecret(c *v1beta1.EtcdCluster) string { return c.Name + "-member-tls" }

// Authority is the Secret of a certificate authority.
func Authority(c *v1beta1.EtcdCluster, name string, cert, key []byte) *corev1.Secret {
	return secret(c, name, corev1.SecretTypeTLS, map[string][]byte{
		CAKey: cert, corev1.TLSCertKey: cert, corev1.TLSPrivateKeyKey: key,
	})
}

// MemberTLS is the Secret that all members mount.
func MemberTLS(c *v1beta1.EtcdCluster, data map[string][]byte) *corev1.Secret {
	return secret(c, MemberSecret(c), corev1.SecretTypeOpaque, data)
}

// Client is the Secret that an application mounts as it is. Without a certificate, applications have their own.
func Client(c *v1beta1.EtcdCluster, ca, cert, key []byte) *corev1.Secret {
	data := map[string][]byte{EndpointsKey: []byte(Endpoint(c))}
	if c.HasCertificates() {
		data[CAKey] = ca
	}
	if len(cert) > 0 {
		data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey] = cert, key
	}
	return secret(c, c.ClientSecret(), corev1.SecretTypeOpaque, data)
}

// Noted gives a Secret those annotations that have a value.
func Noted(secret *corev1.Secret, notes map[string]string) *corev1.Secret {
	for name, value := range notes {
		if value != "" {
			metav1.SetMetaDataAnnotation(&secret.ObjectMeta, name, value)
		}
	}
	return secret
}

// Root is the Secret by which Jobs of backups connect while authentication is enabled. Read access to it gives every permission, as
// read access to the authority does.
func Root(c *v1beta1.EtcdCluster, ca, cert, key []byte) *corev1.Secret {
	return secret(c, c.RootSecret(), corev1.SecretTypeOpaque, map[string][]byte{
		EndpointsKey: []byte(Endpoint(c)), CAKey: ca, corev1.TLSCertKey: cert, corev1.TLSPrivateKeyKey: key,
	})
}

func secret(c *v1beta1.EtcdCluster, name string, kind corev1.SecretType, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: owned(c, name),
		Type:       kind,
		Data:       data,
	}
}
