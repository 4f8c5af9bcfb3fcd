// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// Source is a client of a member of the cluster that is adopted, by its URL.
func (d *Dialer) Source(ctx context.Context, c *v1beta1.EtcdCluster, text string) (etcd.Client, error) {
	target, err := d.source(ctx, c, text)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", text, err)
	}
	return d.Pool.Client(owner(c), target)
}

func (d *Dialer) source(ctx context.Context, c *v1beta1.EtcdCluster, text string) (etcd.Target, error) {
	var who access
	if adopt := c.Adopts(); adopt != nil {
		who.certificate, who.credentials = adopt.ClientSecretRef, adopt.CredentialsRef
	}
	return d.byURL(ctx, c, text, who)
}

// Copied is a client of the running cluster that is copied, by its URL.
func (d *Dialer) Copied(ctx context.Context, c *v1beta1.EtcdCluster, text string) (etcd.Client, error) {
	target, err := d.copied(ctx, c, text)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", text, err)
	}
	return d.Pool.Client(owner(c), target)
}

func (d *Dialer) copied(ctx context.Context, c *v1beta1.EtcdCluster, text string) (etcd.Target, error) {
	var who access
	if from := c.Copies(); from != nil {
		who = access{from.ClientSecretRef, from.CredentialsRef, true}
	}
	return d.byURL(ctx, c, text, who)
}

// access is who the operator is to a cluster of others.
type access struct {
	certificate *v1beta1.LocalSecret
	credentials *v1beta1.Credentials
	older       bool // it may have no TLS 1.3, and want no certificate of a client; the Secret of that has to agree
}

func (d *Dialer) byURL(ctx context.Context, c *v1beta1.EtcdCluster, text string, who access) (etcd.Target, error) {
	u, err := url.Parse(text)
	if err != nil {
		return etcd.Target{}, fmt.Errorf("parse the URL: %w", err)
	}
	target := etcd.Target{Instance: text, Address: u.Host, ServerName: u.Hostname()}
	if target.User, target.Password, err = d.credentialsIn(ctx, c, who.credentials, text); err != nil {
		return target, err
	}
	if u.Scheme != "https" || who.certificate == nil {
		return target, nil
	}
	target.TLS, err = d.sourceTLS(ctx, c, who.certificate.Name, who.older)
	return target, err
}

// toSource is the key of the identity by which a cluster's source is reached.
func toSource(owner string) string { return owner + " source" }

// sourceTLS is made once for each content of the Secret, so that connections are used again.
func (d *Dialer) sourceTLS(ctx context.Context, c *v1beta1.EtcdCluster, name string, older bool) (*tls.Config, error) {
	secret, err := d.secret(ctx, c, name)
	if err != nil {
		return nil, err
	}
	if refused := c.MayUse("secret/"+name, secret.Annotations); older && refused != "" {
		return nil, errors.New(refused)
	}
	data := secret.Data
	held, key := string(data[specs.CAKey])+string(data[corev1.TLSCertKey])+string(data[corev1.TLSPrivateKeyKey]), toSource(owner(c))
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if known, ok := d.identities[key]; ok && known.source == held {
		return known.config, nil
	}
	pairs := []pki.Pair{{CertPEM: data[corev1.TLSCertKey], KeyPEM: data[corev1.TLSPrivateKeyKey]}}
	if older && len(data[corev1.TLSCertKey]) == 0 {
		pairs = nil
	}
	config, err := pki.ClientConfig(data[specs.CAKey], pairs...)
	if err != nil {
		return nil, fmt.Errorf("use the certificate in Secret %s: %w", name, err)
	}
	if older {
		config.MinVersion = tls.VersionTLS12
	}
	if d.identities == nil {
		d.identities = map[string]identity{}
	}
	d.identities[key] = identity{source: held, config: config}
	return config, nil
}

// credentials are those of root where a password says who a client is: without TLS. They are needed also when the adoption is complete.
func (d *Dialer) credentials(ctx context.Context, c *v1beta1.EtcdCluster) (user, password string, err error) {
	if c.Spec.Bootstrap == nil || c.Spec.Bootstrap.Adopt == nil {
		return "", "", nil
	}
	return d.credentialsIn(ctx, c, c.Spec.Bootstrap.Adopt.CredentialsRef)
}

// credentialsIn are those in a Secret whose annotation allows it, at those URLs of sources, too; empty if none is named.
func (d *Dialer) credentialsIn(ctx context.Context, c *v1beta1.EtcdCluster, ref *v1beta1.Credentials, urls ...string) (
	user, password string, err error,
) {
	if ref == nil {
		return "", "", nil
	}
	secret, err := d.secret(ctx, c, ref.Name)
	if err != nil {
		return "", "", err
	}
	if refused := c.MayUse("secret/"+ref.Name, secret.Annotations, urls...); refused != "" {
		return "", "", errors.New(refused)
	}
	data := secret.Data
	passwordKey := cmp.Or(ref.PasswordKey, "password")
	if len(data[passwordKey]) == 0 {
		return "", "", fmt.Errorf("the Secret %s has no %s", ref.Name, passwordKey)
	}
	return cmp.Or(string(data[cmp.Or(ref.UsernameKey, "username")]), v1beta1.RootUser), string(data[passwordKey]), nil
}

func (d *Dialer) secret(ctx context.Context, c *v1beta1.EtcdCluster, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	if err := d.Reader.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, secret); err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", name, err)
	}
	return secret, nil
}
