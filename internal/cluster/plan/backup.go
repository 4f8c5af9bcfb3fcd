// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// lastBackup keeps a finalizer on an EtcdCluster that is to be backed up before it is deleted, and removes it when nothing is left to
// wait for. Meanwhile its members are reconciled as before: the backup needs one that serves.
func lastBackup(v cluster.View) Step {
	switch b := v.Backup; {
	case !b.Leaving && v.Want.Last != b.Held:
		return Hold{Held: v.Want.Last, Because: "deletionPolicy is no longer Backup"}
	case !b.Leaving || !b.Held || v.Adoption.Held:
		return nil
	case !v.Want.Last:
		return Hold{Because: "deletionPolicy is no longer Backup"}
	case b.Orphans:
		return Hold{Because: "it was deleted without what it owns (cascade=orphan), which stays as it is"}
	case isUndone(v):
		return Hold{Because: "its adoption is undone: the data is where it was"}
	case !v.Formed():
		return Hold{Because: "it has never formed: there is nothing to back up"}
	case v.Record.Backed() == cluster.BeforeDeletion:
		return letGo(v)
	case b.Cascades:
		return Hold{Because: "it was deleted with its members first (cascade=foreground), so that no last backup can be made; " +
			"its volumes stay: an EtcdCluster of the same name comes back with the data"}
	case v.Want.Size == 0 && v.Count(cluster.HasPod) == 0 && v.Record.Backed() != cluster.BeforeHibernation:
		return refuse("no last backup can be made, because spec.size is 0 and no member runs: set spec.size to 3 to have it made, " +
			"or spec.deletionPolicy to Retain or Delete to go on without")
	default:
		return backUp(v)
	}
}

// expire deletes what was to live for a while. Its volumes are owned by it: applyDeletionPolicy has seen to that.
func expire(v cluster.View) Step {
	if !v.Want.Expired || v.Backup.Leaving {
		return nil
	}
	return Expire{}
}

// letGo removes the finalizer once all volumes are owned by the EtcdCluster, and so are deleted with it.
func letGo(v cluster.View) Step {
	kept := slices.IndexFunc(v.Misfits, func(o cluster.Object) bool { return o.Part == cluster.Owner })
	if kept >= 0 {
		return Wait{For: "volume " + v.Misfits[kept].Name + " to go with the EtcdCluster"}
	}
	return Hold{Because: "its last backup is good: EtcdBackup " + v.Record.Awaited.Name}
}

func backUpFirst(v cluster.View) Step {
	if v.Backup.Before == cluster.BeforeDeletion || keepWithin(v) != nil {
		return nil // lastBackup has seen to it, or what it is for is refused
	}
	return backUp(v)
}

// backUp makes the backup that something waits for. What waits is held back by its own rules.
func backUp(v cluster.View) Step {
	r, b := v.Record.Awaited, v.Backup
	switch {
	case b.Before == r.Before && (r.Done || b.Before == ""):
		return nil
	case b.Before == "":
		return recordAwaited(v, cluster.Awaited{}, "nothing waits for EtcdBackup "+r.Name+" any more", "BackupNotAwaited")
	case b.Before == cluster.BeforeDeletion && v.Record.Backed() == cluster.BeforeHibernation && v.Count(cluster.HasPod) == 0:
		r.Before = cluster.BeforeDeletion // nothing was written since
		return recordAwaited(v, r, "the last backup is EtcdBackup "+r.Name+", made before the hibernation", "BackupGood")
	case b.Before != r.Before:
		r = cluster.Awaited{Name: v.AwaitedName(), Before: b.Before}
		return recordAwaited(v, r, "EtcdBackup "+r.Name+" is to be made before "+waits(b.Before), "BackupAwaited")
	case b.Good:
		r.Done = true
		return recordAwaited(v, r, "EtcdBackup "+r.Name+" is good: "+waits(b.Before)+" may go on", "BackupGood")
	case !b.Exists:
		return CreateBackup{Name: r.Name, Before: b.Before, LetGo: b.Leaving}
	default:
		return nil
	}
}

func recordAwaited(v cluster.View, awaited cluster.Awaited, what, event string) Step {
	fact := v.Record
	fact.Awaited = awaited
	return Record{Fact: fact, What: what, Event: event}
}

// waits is what waits for a backup.
func waits(before string) string {
	switch before {
	case cluster.BeforeHibernation:
		return "the hibernation"
	case cluster.BeforeDeletion:
		return "the deletion"
	default:
		return "the change to etcd " + before
	}
}

// awaitBackup never gives up: without the backup the change would be the very risk that was to be avoided.
func awaitBackup(v cluster.View) Step {
	r, b := v.Record.Awaited, v.Backup
	if b.Before == "" || v.Record.Backed() == b.Before {
		return nil
	}
	past := "set spec.upgrade.backup to Skip"
	if b.Before == cluster.BeforeDeletion {
		past = "set spec.deletionPolicy to Retain or Delete"
	}
	if b.Failed {
		return refuse(fmt.Sprintf("EtcdBackup %s, which %s waits for, is not good: %s; delete that EtcdBackup, which leaves what is "+
			"stored, to have another one made, "+
			"or %s to go on without", r.Name, waits(b.Before), b.Why, past))
	}
	return Wait{For: fmt.Sprintf("EtcdBackup %s to be verified before %s (%s to go on without): %s", r.Name, waits(b.Before), past, b.Why)}
}
