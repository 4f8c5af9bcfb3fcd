package drill

import (
	"fmt"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/quorum"
)

func missing(v View) string {
	if v.Cluster.Exists {
		return ""
	}
	return fmt.Sprintf("EtcdCluster %s, which does not exist: create it, or delete this EtcdDrill", v.Spec.Cluster)
}

func forbidden(v View) string {
	if v.Cluster.Allowed {
		return ""
	}
	return fmt.Sprintf("spec.drills of EtcdCluster %s is not Allowed: set it, and create another EtcdDrill", v.Spec.Cluster)
}

// noSpare is about actions that take one member. KillAll takes quorum on purpose, for as long as all of them need to start.
func noSpare(v View) string {
	size := v.Cluster.Size
	if v.Spec.Action == v1beta1.KillAll || v.restores() || size == 0 || quorum.Holds(size-1, size) {
		return ""
	}
	return fmt.Sprintf("EtcdCluster %s has spec.size %d, and no quorum without a member: set it to 3 or more, and create another EtcdDrill",
		v.Spec.Cluster, size)
}

// noVolumes is about ephemeral members, whose data goes with their Pods: KillAll would lose all of it.
func noVolumes(v View) string {
	switch action := v.Spec.Action; {
	case !v.Cluster.Ephemeral:
		return ""
	case action == v1beta1.KillAll:
		return "with storage.ephemeral all data would be lost with the Pods: choose another action"
	case v.restores():
		return "with storage.ephemeral there are no volumes, into which backups are restored"
	case action == v1beta1.FillDisk, action == v1beta1.SlowDisk:
		return "with storage.ephemeral members have no volumes: choose another action"
	case action == v1beta1.LoseVolume:
		return "with storage.ephemeral members have no volumes: KillMember loses the data of a member"
	}
	return ""
}

func another(v View) string {
	if v.Earlier == "" {
		return ""
	}
	return fmt.Sprintf("EtcdDrill %s of the same cluster to end", v.Earlier)
}

func notAll(v View) string {
	if v.Cluster.NotWhole == "" {
		return ""
	}
	return fmt.Sprintf("every member of EtcdCluster %s to be healthy: %s", v.Spec.Cluster, v.Cluster.NotWhole)
}

func isBusy(v View) string {
	if v.Cluster.Busy == "" {
		return ""
	}
	return fmt.Sprintf("EtcdCluster %s to be at rest: %s", v.Spec.Cluster, v.Cluster.Busy)
}

func noBackup(v View) string {
	if v.restores() && v.LastBackup.IsZero() {
		return fmt.Sprintf("a verified backup of EtcdCluster %s: create an EtcdBackup", v.Spec.Cluster)
	}
	risks := v.Spec.Action == v1beta1.KillAll || v.Spec.Action == v1beta1.LoseVolume
	if !risks || v.LastBackup.After(v.Now.Add(-freshBackup)) {
		return ""
	}
	return fmt.Sprintf("a verified backup of EtcdCluster %s that is younger than 24 hours: create an EtcdBackup", v.Spec.Cluster)
}
