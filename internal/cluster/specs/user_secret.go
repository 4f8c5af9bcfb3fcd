// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Keys of the Secret of an EtcdUser, as applications that follow the Service Binding specification expect them
// (https://servicebinding.io/spec/core/1.0.0/#well-known-secret-entries), beside CAKey, EndpointsKey and those of a certificate.
const (
	TypeKey     = "type"
	ProviderKey = "provider"
	HostKey     = "host"
	PortKey     = "port"
	UsernameKey = "username"
	PasswordKey = "password"
)

// SecretTypeBinding is the type of the Secret of an EtcdUser.
const SecretTypeBinding corev1.SecretType = "servicebinding.io/etcd"

// UserData is what the Secret of a user says of the cluster and of the user's identity; keys and passwords come to it.
func UserData(c *v1beta1.EtcdCluster, u *v1beta1.EtcdUser) map[string][]byte {
	return map[string][]byte{
		TypeKey: []byte("etcd"), ProviderKey: []byte(v1beta1.GroupVersion.Group), UsernameKey: []byte(u.User()),
		HostKey: []byte(c.ClientService() + "." + c.Namespace + ".svc"), PortKey: []byte(strconv.Itoa(v1beta1.ClientPort)),
		EndpointsKey: []byte(Endpoint(c)),
	}
}

// FurtherData is what the Secret of a user has under the further keys of its spec, given what it has under the others. A certificate that
// there is not is missing here, too.
func FurtherData(u *v1beta1.EtcdUser, data map[string][]byte) map[string][]byte {
	further := map[string][]byte{}
	if u.Spec.Secret == nil {
		return further
	}
	for _, each := range u.Spec.Secret.Keys {
		if value := valueOf(each.Value, data); len(value) > 0 {
			further[each.Key] = value
		}
	}
	return further
}

func valueOf(value v1beta1.SecretValue, data map[string][]byte) []byte {
	switch value {
	case v1beta1.ValueCA:
		return data[CAKey]
	case v1beta1.ValueCertificate:
		return data[corev1.TLSCertKey]
	case v1beta1.ValuePrivateKey:
		return data[corev1.TLSPrivateKeyKey]
	case v1beta1.ValueURL:
		return data[EndpointsKey]
	case v1beta1.ValueAddress:
		return slices.Concat(data[HostKey], []byte(":"), data[PortKey]) // the host is a name of DNS
	case v1beta1.ValueUsername:
		return data[UsernameKey]
	case v1beta1.ValuePassword:
		return data[PasswordKey]
	}
	return nil
}

// User is the Secret of an EtcdUser. It is deleted with it. It has no label of the cluster: no change of it concerns the members.
func User(u *v1beta1.EtcdUser, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: userOwned(u, u.Secret()),
		Type:       SecretTypeBinding,
		Data:       data,
	}
}

func userOwned(u *v1beta1.EtcdUser, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Namespace: u.Namespace,
		Labels: map[string]string{
			ManagedByLabel: v1beta1.FieldOwner, "app.kubernetes.io/part-of": v1beta1.FieldOwner, v1beta1.LabelUser: u.Name,
		},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(u, v1beta1.OwnerVersion.WithKind("EtcdUser"))},
	}
}
