// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restoring

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Choices are what a person says of the new cluster; what is empty is that of the backup's cluster.
type Choices struct {
	Size         int32
	Version      string
	StorageSize  string
	StorageClass string
	ExpiresAfter time.Duration // 0: never
}

// Cluster is the EtcdCluster that begins with a backup. What belongs to the data is that of the cluster which the backup is of, if that is
// still there: size, version, image and its pull secrets, storage, resources, settings of etcd, TLS, authentication. backup is nil where a
// store is looked through.
func Cluster(namespace, name string, from v1beta1.Restore, backup *v1beta1.EtcdBackup, source *v1beta1.EtcdCluster, chosen Choices,
) (*v1beta1.EtcdCluster, error) {
	c := &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	c.SetGroupVersionKind(v1beta1.GroupVersion.WithKind("EtcdCluster"))
	if backup != nil {
		c.Spec.Version = minor(backup.Status.EtcdVersion)
	}
	if source != nil {
		of := source.DeepCopy().Spec
		c.Spec = v1beta1.EtcdClusterSpec{
			Size: of.Size, Version: of.Version, Image: of.Image, Storage: of.Storage, Resources: of.Resources, Etcd: of.Etcd, TLS: of.TLS,
			ImagePullSecrets: of.ImagePullSecrets,
			Auth:             of.Auth, // the backup has the users: without it the operator would take authentication for another's
		}
	}
	if ptr.Deref(c.Spec.Size, 0) == 0 {
		c.Spec.Size = ptr.To[int32](v1beta1.DefaultSize) // one that hibernates still has a size for data to be restored into
	}
	c.Spec.Bootstrap = &v1beta1.BootstrapSpec{Restore: &from}
	return c, chosen.apply(&c.Spec)
}

// Notes are what a person must know of the new cluster that its spec does not say. of is the name of the backup's cluster, empty if it is
// not known; source is nil if that is not there or may not be read.
func Notes(c *v1beta1.EtcdCluster, backup *v1beta1.EtcdBackup, of string, source *v1beta1.EtcdCluster) []string {
	var all []string
	if from := c.Spec.Bootstrap.Restore; from != nil && from.Target != nil {
		all = append(all, "the data is that of the backup with the log after it: a Job looks for the target first, and status.restore "+
			"has what it has found")
	} else if backup != nil && backup.Status.StartedAt != nil {
		all = append(all, fmt.Sprintf("the data is that of revision %d, as it was at %s: what was written later is not in it",
			backup.Status.Revision, clock(backup.Status.StartedAt)))
	}
	if source == nil && of != "" {
		all = append(all, fmt.Sprintf("EtcdCluster %s is not there, or may not be read: what no flag says is as by default", of))
	}
	if !c.IsSecure() {
		return all
	}
	auth := "if it is on, set spec.auth.enabled, and the operator manages it"
	if c.HasAuth() {
		auth = "spec.auth.enabled is that of EtcdCluster " + of
	}
	return append(all, "users, roles, passwords and authentication of etcd are those of the backup; "+auth,
		fmt.Sprintf("EtcdUsers and EtcdRoles are not copied: create some with spec.cluster %s for applications, which need certificates "+
			"that the new cluster trusts", c.Name))
}

func (c Choices) apply(spec *v1beta1.EtcdClusterSpec) error {
	if c.ExpiresAfter > 0 {
		spec.ExpiresAfter, spec.DeletionPolicy = &metav1.Duration{Duration: c.ExpiresAfter}, v1beta1.Delete
	}
	if c.Size > 0 {
		spec.Size = ptr.To(c.Size)
	}
	if c.Version != "" {
		spec.Version = c.Version
	}
	if c.StorageSize != "" {
		size, err := resource.ParseQuantity(c.StorageSize)
		if err != nil {
			return fmt.Errorf("--storage-size %s: %w", c.StorageSize, err)
		}
		spec.Storage.Size = &size
	}
	if c.StorageClass != "" {
		spec.Storage.StorageClassName = &c.StorageClass
	}
	if spec.Storage.Ephemeral != nil {
		return errors.New("the cluster of the backup has ephemeral storage, and nothing can be restored into that: " +
			"create the EtcdCluster yourself, with storage.size and bootstrap.restore")
	}
	return nil
}

// minor of a version: 3.6 of 3.6.16, which follows its newest patch.
func minor(version string) string {
	parts := strings.Split(version, ".")
	if len(parts) < 2 {
		return ""
	}
	return parts[0] + "." + parts[1]
}

// ClusterProgress is how far a new cluster is that begins with a backup: served says whether it is there, with its data.
func ClusterProgress(c *v1beta1.EtcdCluster) (served bool, what string) {
	available := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionAvailable)
	r := c.Status.Restore
	switch {
	case r != nil && r.Problem != "":
		return false, r.Problem
	case r != nil && r.Failure != nil:
		return false, r.Failing()
	case r != nil && r.RestoredAt.IsZero() && r.Progress != "":
		return false, "waiting for " + r.Progress
	case available == nil:
		return false, "waiting for the operator"
	case r != nil && !r.CompletedAt.IsZero() && available.Status == metav1.ConditionTrue:
		return true, available.Message
	default:
		return false, available.Message
	}
}
