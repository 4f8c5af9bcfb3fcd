package backup

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operator/etcd-operator/internal/build"
	"github.com/etcd-operator/etcd-operator/internal/jobs"
	"github.com/etcd-operator/etcd-operator/internal/task"
)

// rescue is the Job that backs up the volume of a member that does not run.
func (m Maker) rescue(seen Seen, v View, step CreateJob, order task.Order) *batchv1.Job {
	copying := order
	copying.Verb, copying.Backup = task.Rescue, nil
	copying.Rescue = &task.RescueOrder{DataDirectory: build.DataDirectory}
	order.Backup.Stopped, order.Backup.Secure, order.Backup.ClusterID = true, true, v.Volume.ClusterID
	order.Backup.Members = []task.Member{{Name: v.Volume.Name, Address: task.TrialAddress}}
	room := *resource.NewQuantity(v.Volume.Size+beside, resource.BinarySI)
	image := m.imageOf(v.Volume.Version, seen.Cluster)
	return jobs.Rescue(seen.Backup, seen.Store, seen.Cluster, step.Name, copying, order, image, room, m.Image)
}
