// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

const (
	// rotationTakes bounds a rotation, which waits for kubelets and clients twice and restarts members twice.
	rotationTakes = 15 * time.Minute
	// shorterLife is what certificates are asked to live for, so that they are issued again.
	shorterLife = 30 * 24 * time.Hour
)

// rotateAuthorities asks for other authorities, and waits until nothing trusts those of before.
func (b *bench) rotateAuthorities(ctx context.Context, cluster string) error {
	var c v1beta1.EtcdCluster
	if err := b.client.Get(ctx, client.ObjectKey{Namespace: b.namespace, Name: cluster}, &c); err != nil {
		return fmt.Errorf("get EtcdCluster: %w", err)
	}
	signed, before := c.Status.Authorities, c.DeepCopy()
	metav1.SetMetaDataAnnotation(&c.ObjectMeta, v1beta1.AnnotationRotate, "bench")
	if err := b.client.Patch(ctx, &c, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("ask for a rotation: %w", err)
	}
	err := poll(ctx, "authorities of "+cluster+" to be rotated", look, rotationTakes, func() (bool, error) {
		err := b.client.Get(ctx, client.ObjectKeyFromObject(&c), &c)
		return isRotated(signed, c.Status.Authorities), err
	})
	if err != nil {
		return err
	}
	return b.calm(ctx, cluster, 3)
}

// isRotated says whether each authority is another one than before, and the only one that is trusted.
func isRotated(before, now []v1beta1.AuthorityStatus) bool {
	for i, a := range now {
		if i >= len(before) || a.Phase != v1beta1.RotationStable || a.NotAfter.Equal(before[i].NotAfter) {
			return false
		}
	}
	return len(now) > 0
}

// reissue asks for certificates that live shorter, and waits until each member shows another one, without a restart.
func (b *bench) reissue(ctx context.Context, cluster string) error {
	pods, err := b.pods(ctx, cluster)
	if err != nil {
		return err
	}
	shown := map[string][]byte{}
	for i := range pods {
		if shown[pods[i].Name], err = b.shows(ctx, cluster, &pods[i]); err != nil {
			return err
		}
	}
	err = b.edit(ctx, cluster, func(spec *v1beta1.EtcdClusterSpec) { spec.TLS.Lifetimes.Certificate.Duration = shorterLife })
	if err != nil {
		return err
	}
	for i := range pods {
		err := poll(ctx, pods[i].Name+" to show another certificate", look, patience, func() (bool, error) {
			now, err := b.shows(ctx, cluster, &pods[i])
			return !bytes.Equal(now, shown[pods[i].Name]), err
		})
		if err != nil {
			return err
		}
	}
	return b.calm(ctx, cluster, 3)
}

// shows is the certificate that a member shows to who connects now.
func (b *bench) shows(ctx context.Context, cluster string, pod *corev1.Pod) ([]byte, error) {
	config, err := b.mounted(ctx, cluster)
	if err != nil {
		return nil, err
	}
	config.ServerName = pod.Name + "." + cluster + "." + b.namespace + ".svc"
	connection, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", pod.Status.PodIP+":"+strconv.Itoa(v1beta1.ClientPort))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", pod.Name, err)
	}
	defer connection.Close()
	return connection.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw, nil
}

// mounted is how an application connects that reads what it mounts for every connection. A watch stands in for its kubelet.
func (b *bench) mounted(ctx context.Context, cluster string) (*tls.Config, error) {
	if _, err := b.seen.GetInformer(ctx, &corev1.Secret{}); err != nil {
		return nil, fmt.Errorf("watch Secrets: %w", err)
	}
	read := func() (*tls.Config, error) {
		var secret corev1.Secret
		if err := b.seen.Get(ctx, client.ObjectKey{Namespace: b.namespace, Name: cluster + "-client"}, &secret); err != nil {
			return nil, fmt.Errorf("get the Secret for clients: %w", err)
		}
		return pki.ClientConfig(secret.Data[specs.CAKey], //nolint:wrapcheck // said where it is used
			pki.Pair{CertPEM: secret.Data[corev1.TLSCertKey], KeyPEM: secret.Data[corev1.TLSPrivateKeyKey]})
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection verifies, by what is mounted then
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			now, err := read()
			if err != nil {
				return nil, err
			}
			return &now.Certificates[0], nil
		},
		VerifyConnection: func(state tls.ConnectionState) error {
			now, err := read()
			if err == nil {
				_, err = state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: now.RootCAs, DNSName: state.ServerName})
			}
			return err
		},
	}, nil
}
