// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// rescue is the Job that backs up the volume of a member that does not run.
func (m JobBuilder) rescue(seen Seen, v View, step CreateJob, order jobspec.Order) *batchv1.Job {
	copying := order
	copying.Verb, copying.Backup = jobspec.Rescue, nil
	copying.Rescue = &jobspec.RescueOrder{DataDirectory: specs.DataDirectory}
	order.Backup.Stopped, order.Backup.Secure, order.Backup.ClusterID = true, true, v.Volume.ClusterID
	order.Backup.Members = []jobspec.Member{{Name: v.Volume.Name, Address: jobspec.TrialAddress}}
	room := *resource.NewQuantity(v.Volume.Size+beside, resource.BinarySI)
	image := m.EtcdImage(v.Volume.Version, seen.Cluster)
	return jobs.Rescue(seen.Backup, seen.Store, seen.Cluster, step.Name, copying, order, image, room, m.Image)
}
