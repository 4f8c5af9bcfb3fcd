// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 is the API that users write: the kinds of group
// etcd-operator.dev. Version v1alpha1 has the same schema, so that the API
// server converts by changing the version alone, and there are no other types.
//
// It holds types, defaults and names only; it must never hold behaviour that
// needs a client.
//
// +kubebuilder:object:generate=true
// +groupName=etcd-operator.dev
package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the group and version by which the operator reads and writes every kind of this package.
	GroupVersion = schema.GroupVersion{Group: "etcd-operator.dev", Version: "v1beta1"}
	// EarlierVersion is the deprecated version that is served beside it.
	EarlierVersion = schema.GroupVersion{Group: GroupVersion.Group, Version: "v1alpha1"}
	// OwnerVersion is the version that owner references name. Kubernetes' garbage collector looks an owner up by it, also after an update
	// was rolled back to a release that serves v1alpha1 only.
	OwnerVersion = EarlierVersion
)

// AddToScheme adds this package's kinds to a scheme.
func AddToScheme(scheme *runtime.Scheme) error { return AddVersion(scheme, GroupVersion) }

// AddVersion adds this package's kinds to a scheme as those of a version that is served.
func AddVersion(scheme *runtime.Scheme, version schema.GroupVersion) error {
	scheme.AddKnownTypes(version, &EtcdCluster{}, &EtcdClusterList{},
		&EtcdBackup{}, &EtcdBackupList{}, &EtcdBackupStore{}, &EtcdBackupStoreList{},
		&EtcdRestore{}, &EtcdRestoreList{}, &EtcdUser{}, &EtcdUserList{}, &EtcdRole{}, &EtcdRoleList{},
		&EtcdDrill{}, &EtcdDrillList{})
	metav1.AddToGroupVersion(scheme, version)
	return nil
}
