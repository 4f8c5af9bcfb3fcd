// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package initialdata

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// Source is a ConfigMap or Secret.
type Source struct {
	Exists  bool
	Refused string // why it is not imported, whatever is in it
	Entries map[string][]byte
}

// Name is the kind and name of what the cluster begins with.
func Name(c *v1beta1.EtcdCluster) string {
	if ref := c.Spec.Bootstrap.Import.SecretRef; ref != nil {
		return "Secret " + ref.Name
	}
	return "ConfigMap " + c.Spec.Bootstrap.Import.ConfigMapRef.Name
}

// OfConfigMap is a ConfigMap that exists.
func OfConfigMap(c *corev1.ConfigMap) *Source {
	s := &Source{Exists: true, Entries: map[string][]byte{}}
	for name, text := range c.Data {
		s.Entries[name] = []byte(text)
	}
	for name, content := range c.BinaryData {
		s.Entries[name] = content
	}
	return s
}

// OfSecret is a Secret that exists. A user who may write EtcdClusters, but not read Secrets, could have a key of an authority or a token
// written where that user can read it: what Kubernetes or the operator has made for a purpose of its own is not imported.
func OfSecret(secret *corev1.Secret) *Source {
	switch {
	case secret.Labels[specs.ManagedByLabel] == v1beta1.FieldOwner:
		return &Source{Exists: true, Refused: "the operator has made it for a cluster; name a Secret of yours"}
	case secret.Type != corev1.SecretTypeOpaque && secret.Type != "":
		return &Source{Exists: true, Refused: fmt.Sprintf("its type is %q, and only Secrets of the type %q are; make one with the keys",
			secret.Type, corev1.SecretTypeOpaque)}
	}
	return &Source{Exists: true, Entries: secret.Data}
}
