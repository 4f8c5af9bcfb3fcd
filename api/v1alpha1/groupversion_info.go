// Package v1alpha1 is the API that users write: the kinds of group
// etcd-operator.dev, version v1alpha1.
//
// It holds types, defaults and names only; it must never hold behaviour that
// needs a client.
//
// +kubebuilder:object:generate=true
// +groupName=etcd-operator.dev
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "etcd-operator.dev", Version: "v1alpha1"}

// AddToScheme adds this package's kinds to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &EtcdCluster{}, &EtcdClusterList{},
		&EtcdBackup{}, &EtcdBackupList{}, &EtcdBackupStore{}, &EtcdBackupStoreList{},
		&EtcdRestore{}, &EtcdRestoreList{}, &EtcdUser{}, &EtcdUserList{}, &EtcdRole{}, &EtcdRoleList{},
		&EtcdDrill{}, &EtcdDrillList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
