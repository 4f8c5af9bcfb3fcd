// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

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

// unknown is about an action that an earlier version has stored, such as FillDisk.
func unknown(v View) Step {
	switch a := v.Spec.Action; a {
	case v1beta1.KillMember, v1beta1.KillLeader, v1beta1.KillAll, v1beta1.LoseVolume, v1beta1.Measure,
		v1beta1.RestoreBackup, v1beta1.LoseQuorum:
		return nil
	default:
		phase := v1beta1.DrillRefused
		if v.Status.StartedAt != nil {
			phase = v1beta1.DrillFailed
		}
		return v.end(phase, v1beta1.ReasonActionUnknown, fmt.Sprintf("this version has no action %s: delete this EtcdDrill, with which "+
			"the Job goes that an earlier version has made for it, and use Measure beside a tool that causes the failure", a))
	}
}

// noSpare is about actions that take one member. KillAll takes quorum on purpose, for as long as all of them need to start.
func noSpare(v View) string {
	size := v.Cluster.Size
	if v.Spec.Action == v1beta1.KillAll || v.measures() || v.restores() || size == 0 || quorum.Holds(size-1, size) {
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
