// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/quorum"
)

// isServed says whether the members of the restore have begun to serve, so that clients may have seen its revisions. Before, none of them
// has started.
func isServed(v View, p *v1beta1.RestoreStatus) bool {
	b := v.Cluster.Status.Bootstrap
	return b != nil && b.Restore == p.ID()
}

// instead is what to do if the data of the old members cannot be waited for, or there is no store.
const instead = "if no client watches the cluster, spec.undoKeepRevisions brings the old members back at once, with the " +
	"revisions that they had"

// rescue brings back what the old members had by backups of their volumes: the one is restored whose member they would have elected, above
// all revisions that clients have seen. Any majority of them has every write that was acknowledged.
func rescue(v View, p *v1beta1.RestoreStatus) Step {
	missing, complete := map[string]string{}, []*v1beta1.EtcdBackup{}
	var waits string
	for _, volume := range v.Volumes {
		if !slices.Contains(p.SetAside, volume.Name) {
			continue
		}
		name := rescueName(v, volume.Name)
		i := slices.IndexFunc(v.Backups, func(b v1beta1.EtcdBackup) bool { return b.Name == name })
		switch {
		case i < 0:
			missing[name] = volume.Name
		case !isOurBackup(v, &v.Backups[i]) || v.Backups[i].Spec.Volume != volume.Name:
			return undoing(v, p, fmt.Sprintf("EtcdBackup %s is not of this EtcdRestore: delete it, which leaves what is stored; or, %s",
				name, instead))
		case IsComplete(&v.Backups[i]) && v.Backups[i].Status.Log != nil:
			complete = append(complete, &v.Backups[i])
		default:
			waits = cmp.Or(waits, name+quoted(meta.FindStatusCondition(v.Backups[i].Status.Conditions, v1beta1.ConditionComplete)))
		}
	}
	switch {
	case quorum.Holds(len(complete), len(p.SetAside)):
		return bringBack(v, p, slices.MaxFunc(complete, compareLogs))
	case len(missing) > 0:
		return rescueVolumes(v, p, missing)
	}
	return undoing(v, p, fmt.Sprintf("waiting for backups of the volumes of the old members, of which a majority is needed: %s; %s",
		waits, instead))
}

// compareLogs orders logs as members do that elect one of them.
func compareLogs(a, b *v1beta1.EtcdBackup) int {
	x, y := a.Status.Log, b.Status.Log
	return cmp.Or(cmp.Compare(x.Term, y.Term), cmp.Compare(x.Index, y.Index))
}

// rescueName is that of the backup of an old member's volume.
func rescueName(v View, volume string) string {
	suffix := fmt.Sprintf("-undo-%d", cluster.Serial(v.Cluster.Name, volume))
	name := v.Restore.Name
	return strings.TrimRight(name[:min(len(name), longestName-len(suffix))], "-.") + suffix
}

func rescueVolumes(v View, p *v1beta1.RestoreStatus, missing map[string]string) Step {
	recipients, problem := rescuedFor(v, p)
	if problem != "" {
		return undoing(v, p, problem+"; or, "+instead)
	}
	store := p.Store
	if own := v.Cluster.Spec.Backup; own != nil && own.Store != "" {
		store = own.Store
	}
	if store == "" { // what is undone was a VolumeSnapshot, and a volume that no member has is not taken
		return undoing(v, p, fmt.Sprintf("there is no store for backups of the volumes of the old members: name one in spec.backup.store of "+
			"EtcdCluster %s; or, %s", v.Cluster.Name, instead))
	}
	return Rescue{Volumes: missing, Store: store, Recipients: recipients}
}

// rescuedFor are the recipients of the backups, which are those of a safety backup.
func rescuedFor(v View, p *v1beta1.RestoreStatus) (recipients []string, problem string) {
	own := v.Cluster.Spec.Backup
	i := slices.IndexFunc(v.Backups, func(b v1beta1.EtcdBackup) bool { return b.Name == p.Backup })
	switch {
	case own != nil && own.Encryption != nil && v.Restore.Spec.Decryption == nil:
		return nil, fmt.Sprintf("spec.backup.encryption of EtcdCluster %s encrypts what the old members had: name the Secret that decrypts it "+
			"in spec.decryption", v.Cluster.Name)
	case own != nil && own.Encryption != nil, p.Decryption == "":
		return nil, ""
	case i >= 0 && v.Backups[i].Spec.Encryption != nil:
		return v.Backups[i].Spec.Encryption.Recipients, ""
	}
	return nil, fmt.Sprintf("EtcdBackup %s is encrypted, and what the old members had would not be: name recipients in "+
		"spec.backup.encryption of EtcdCluster %s", p.Backup, v.Cluster.Name)
}

// bringBack freezes the plan of the undo, which is that of a restore.
func bringBack(v View, p *v1beta1.RestoreStatus, b *v1beta1.EtcdBackup) Step {
	want := inPlaceRequest(v.Restore, v.Cluster)
	want.Backup, want.Store, want.Target = b.Name, "", nil // a volume has no log after it
	if _, problem := Choose(want, v.Backups, v.Store); problem != "" {
		return undoing(v, p, problem+"; or, "+instead)
	}
	serial := nextSerial(v)
	made := newPlan(want, alone(b), startPoint{Serial: serial, Seen: seen(v), Now: v.Now})
	made.Request, made.RequestUID, made.Undoes, made.KeepFor = p.Request, p.RequestUID, true, p.KeepFor
	made.FromRevision = p.FromRevision
	for _, volume := range v.Volumes {
		if !volume.Quarantined && !volume.Foreign {
			made.SetAside = append(made.SetAside, volume.Name)
		}
	}
	return Begin{
		Plan: made, NextSerial: int64(serial + len(made.Members)),
		What: fmt.Sprintf("bring %s back to what %s had before backup %s was restored", v.Cluster.Name, b.Spec.Volume, p.Backup),
	}
}

func undoing(v View, p *v1beta1.RestoreStatus, message string) Step {
	step := wait(v, v1beta1.RestoreUndoing, v1beta1.ReasonUndoing, message)
	step.Status.SetAside, step.Status.UndoUntil = setAside(p), undoUntil(p)
	return step
}
