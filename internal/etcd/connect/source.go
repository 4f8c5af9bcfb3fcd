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

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// Source is a client of a member of the cluster that is adopted, by its URL.
func (d *Dialer) Source(ctx context.Context, c *v1alpha1.EtcdCluster, text string) (etcd.Client, error) {
	target, err := d.source(ctx, c, text)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", text, err)
	}
	return d.Pool.Client(owner(c), target)
}

func (d *Dialer) source(ctx context.Context, c *v1alpha1.EtcdCluster, text string) (etcd.Target, error) {
	u, err := url.Parse(text)
	if err != nil {
		return etcd.Target{}, fmt.Errorf("parse the URL: %w", err)
	}
	target := etcd.Target{Instance: text, Address: u.Host, ServerName: u.Hostname()}
	if target.User, target.Password, err = d.credentials(ctx, c); err != nil {
		return target, err
	}
	adopt := c.Adopts()
	if u.Scheme != "https" || adopt == nil || adopt.ClientSecretRef == nil {
		return target, nil
	}
	target.TLS, err = d.sourceTLS(ctx, c, adopt.ClientSecretRef.Name)
	return target, err
}

// sourceTLS is made once for each content of the Secret, so that connections are used again.
func (d *Dialer) sourceTLS(ctx context.Context, c *v1alpha1.EtcdCluster, name string) (*tls.Config, error) {
	secret, err := d.secret(ctx, c, name)
	if err != nil {
		return nil, err
	}
	data := secret.Data
	held, key := string(data[specs.CAKey])+string(data[corev1.TLSCertKey])+string(data[corev1.TLSPrivateKeyKey]), owner(c)+" source"
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if known, ok := d.identities[key]; ok && known.source == held {
		return known.config, nil
	}
	config, err := pki.ClientConfig(data[specs.CAKey], pki.Pair{CertPEM: data[corev1.TLSCertKey], KeyPEM: data[corev1.TLSPrivateKeyKey]})
	if err != nil {
		return nil, fmt.Errorf("use the certificate in Secret %s: %w", name, err)
	}
	if d.identities == nil {
		d.identities = map[string]identity{}
	}
	d.identities[key] = identity{source: held, config: config}
	return config, nil
}

// credentials are those of root where a password says who a client is: without TLS. They are needed also when the adoption is complete.
func (d *Dialer) credentials(ctx context.Context, c *v1alpha1.EtcdCluster) (user, password string, err error) {
	if c.Spec.Bootstrap == nil || c.Spec.Bootstrap.Adopt == nil || c.Spec.Bootstrap.Adopt.CredentialsRef == nil {
		return "", "", nil
	}
	ref := c.Spec.Bootstrap.Adopt.CredentialsRef
	secret, err := d.secret(ctx, c, ref.Name)
	if err != nil {
		return "", "", err
	}
	if refused := c.MayUse("secret/"+ref.Name, secret.Annotations); refused != "" {
		return "", "", errors.New(refused)
	}
	data := secret.Data
	passwordKey := cmp.Or(ref.PasswordKey, "password")
	if len(data[passwordKey]) == 0 {
		return "", "", fmt.Errorf("the Secret %s has no %s", ref.Name, passwordKey)
	}
	return cmp.Or(string(data[cmp.Or(ref.UsernameKey, "username")]), v1alpha1.RootUser), string(data[passwordKey]), nil
}

func (d *Dialer) secret(ctx context.Context, c *v1alpha1.EtcdCluster, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	if err := d.Reader.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, secret); err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", name, err)
	}
	return secret, nil
}
