// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Backup is an EtcdBackup that something waits for. It has no owner: it outlives the cluster. It is verified however often backups
// are to be verified, unless none is.
func Backup(c *v1beta1.EtcdCluster, name, before string) *v1beta1.EtcdBackup {
	reason := "before " + before
	if before != v1beta1.BeforeHibernation && before != v1beta1.BeforeDeletion {
		reason = "before etcd " + before
	}
	b := &v1beta1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{
		Namespace: c.Namespace, Name: name,
		Labels:      map[string]string{v1beta1.LabelAwaited: "true", v1beta1.LabelCluster: c.Name},
		Annotations: map[string]string{v1beta1.AnnotationClusterUID: string(c.UID), v1beta1.AnnotationReason: reason},
	}}
	b.Spec = v1beta1.EtcdBackupSpec{Cluster: c.Name, DeletionPolicy: v1beta1.RetainBackup}
	if from := c.Spec.Backup; from != nil {
		b.Spec.Store, b.Spec.Verify = from.Store, ptr.To(from.Verify != v1beta1.VerifyNever)
		b.Spec.Encryption, b.Spec.Decryption = from.Encryption, from.Decryption
	}
	return b
}

// Restore is the EtcdRestore that brings a cluster back to a backup by whose name the loss was accepted. No safety backup is made: there
// is no quorum that could be asked. It is deleted with its cluster, because it has no other use.
func Restore(c *v1beta1.EtcdCluster, name, backup, accepted string) *v1beta1.EtcdRestore {
	return &v1beta1.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Namespace, Name: name, OwnerReferences: []metav1.OwnerReference{Owner(c)},
			Labels: map[string]string{v1beta1.LabelCluster: c.Name},
			Annotations: map[string]string{
				v1beta1.AnnotationClusterUID: string(c.UID), v1beta1.AnnotationReason: "accepted loss", v1beta1.AnnotationAccepted: accepted,
			},
		},
		Spec: v1beta1.EtcdRestoreSpec{Cluster: c.Name, Backup: backup, SkipSafetyBackup: true},
	}
}
