package specs

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
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
func UserData(c *v1alpha1.EtcdCluster, u *v1alpha1.EtcdUser) map[string][]byte {
	return map[string][]byte{
		TypeKey: []byte("etcd"), ProviderKey: []byte(v1alpha1.GroupVersion.Group), UsernameKey: []byte(u.User()),
		HostKey: []byte(c.ClientService() + "." + c.Namespace + ".svc"), PortKey: []byte(strconv.Itoa(v1alpha1.ClientPort)),
		EndpointsKey: []byte(Endpoint(c)),
	}
}

// User is the Secret of an EtcdUser. It is deleted with it. It has no label of the cluster: no change of it concerns the members.
func User(u *v1alpha1.EtcdUser, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: userOwned(u, u.Secret()),
		Type:       SecretTypeBinding,
		Data:       data,
	}
}

func userOwned(u *v1alpha1.EtcdUser, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Namespace: u.Namespace,
		Labels: map[string]string{
			ManagedByLabel: v1alpha1.FieldOwner, "app.kubernetes.io/part-of": v1alpha1.FieldOwner, v1alpha1.LabelUser: u.Name,
		},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(u, v1alpha1.GroupVersion.WithKind("EtcdUser"))},
	}
}
