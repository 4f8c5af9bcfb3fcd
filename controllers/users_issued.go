// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/act"
	"github.com/etcd-operator/etcd-operator/internal/cluster/observe"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/users"
)

// issued reads the external certificates of the users of a cluster, and what cert-manager says of them, if the cluster names it.
func (r *UsersReconciler) issued(ctx context.Context, view *users.View) error {
	view.Held.Issued, view.Certificates = map[string]*corev1.Secret{}, map[string]*unstructured.Unstructured{}
	var mutex sync.Mutex
	return inParallel(view.Users, func(u v1beta1.EtcdUser) error {
		r.remembered.Look(&u, u.IssuedSecret())
		secret, err := r.secret(ctx, &u, u.IssuedSecret())
		if err != nil {
			return err
		}
		var certificate *unstructured.Unstructured
		var missing string
		if view.Cluster.Spec.TLS.IssuerRef != nil {
			certificate, missing, err = r.certificate(ctx, client.ObjectKey{Namespace: u.Namespace, Name: u.IssuedSecret()})
		}
		mutex.Lock()
		defer mutex.Unlock()
		if secret != nil {
			view.Held.Issued[u.Name] = secret
		}
		if missing != "" {
			view.NoCertManager = missing
		}
		if certificate != nil {
			view.Certificates[u.Name] = certificate
		}
		return err
	})
}

// certificate reads a Certificate of cert-manager, unless it is remembered.
func (r *UsersReconciler) certificate(ctx context.Context, key client.ObjectKey) (*unstructured.Unstructured, string, error) {
	if have := r.remembered.Certificate(key); have != nil {
		return have, "", nil
	}
	have, missing, err := observe.Certificate(ctx, r.live, key)
	r.remembered.NoteCertificate(key, have)
	return have, missing, err //nolint:wrapcheck // it says which
}

// requestCertificate has cert-manager issue the certificate of a user. It must not write a Secret of that name that is of something else.
func (p *userRun) requestCertificate(ctx context.Context, t *target) error {
	wanted := specs.UserCertificate(p.view.Cluster, t.user)
	if specs.WouldOverwrite(wanted, p.view.Certificates[t.user.Name], p.view.Held.Issued[t.user.Name]) != "" {
		return errSecretTaken
	}
	defer p.remembered.NoteCertificate(client.ObjectKey{Namespace: t.user.Namespace, Name: t.user.IssuedSecret()}, nil)
	return act.ApplyCertificate(ctx, p.live, p.client, wanted, func(there client.Object) bool {
		return metav1.IsControlledBy(there, t.user)
	})
}
