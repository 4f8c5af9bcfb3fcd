package restore

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/version"
)

// Choose is the backup that the spec means, or why there is none that can be restored, and what to do. The store is the one that
// the spec names; nil if there is none.
func Choose(
	c *v1alpha1.EtcdCluster, all []v1alpha1.EtcdBackup, store *v1alpha1.EtcdBackupStore,
) (chosen *v1alpha1.EtcdBackup, problem string) {
	want := c.Spec.Bootstrap.Restore
	if want.Backup != "" {
		chosen = named(want.Backup, all)
		if chosen == nil {
			return nil, fmt.Sprintf("there is no EtcdBackup %s in this namespace: kubectl get etcdbackups lists those that there are", want.Backup)
		}
	} else if chosen = newest(c, all); chosen == nil {
		return nil, none(c, all, store)
	}
	if why := unfit(c, chosen); why != "" {
		return nil, fmt.Sprintf("EtcdBackup %s cannot be restored: %s", chosen.Name, why)
	}
	return chosen, ""
}

func named(name string, all []v1alpha1.EtcdBackup) *v1alpha1.EtcdBackup {
	i := slices.IndexFunc(all, func(b v1alpha1.EtcdBackup) bool { return b.Name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// source is the cluster whose backup is meant, as <namespace>/<name>.
func source(c *v1alpha1.EtcdCluster) string {
	want := cmp.Or(c.Spec.Bootstrap.Restore.Cluster, c.Name)
	if strings.Contains(want, "/") {
		return want
	}
	return c.Namespace + "/" + want
}

// sourceOf is the cluster that a backup is of, by its folder in the store: v1/<namespace>/<cluster>/<ID>. It is empty for one of
// another program.
func sourceOf(b *v1alpha1.EtcdBackup) string {
	folder := strings.Split(b.Status.Path, "/")
	if len(folder) != 4 {
		return ""
	}
	return folder[1] + "/" + folder[2]
}

// candidates are the backups in the store that could be restored by anybody, of whichever cluster, the newest first.
func candidates(c *v1alpha1.EtcdCluster, all []v1alpha1.EtcdBackup) []*v1alpha1.EtcdBackup {
	var found []*v1alpha1.EtcdBackup
	for i := range all {
		b := &all[i]
		if b.Status.Store == c.Spec.Bootstrap.Restore.Store && sourceOf(b) != "" && isComplete(b) && !isBeingRemoved(b) {
			found = append(found, b)
		}
	}
	slices.SortFunc(found, func(a, b *v1alpha1.EtcdBackup) int {
		return cmp.Or(began(b).Compare(began(a)), cmp.Compare(b.Status.Revision, a.Status.Revision), strings.Compare(a.Name, b.Name))
	})
	return found
}

// newest is the newest backup of the cluster that is meant and not newer than is asked for.
func newest(c *v1alpha1.EtcdCluster, all []v1alpha1.EtcdBackup) *v1alpha1.EtcdBackup {
	for _, b := range candidates(c, all) {
		if sourceOf(b) == source(c) && !isNewer(b, c.Spec.Bootstrap.Restore.At) {
			return b
		}
	}
	return nil
}

// none says why no backup is found, and what there is instead.
func none(c *v1alpha1.EtcdCluster, all []v1alpha1.EtcdBackup, store *v1alpha1.EtcdBackupStore) string {
	want := c.Spec.Bootstrap.Restore
	if store == nil {
		return fmt.Sprintf("there is no EtcdBackupStore %s in this namespace: create it, and the backups that lie in it are found", want.Store)
	}
	var sources []string
	var oldest *v1alpha1.EtcdBackup
	for _, b := range candidates(c, all) {
		if sources = append(sources, sourceOf(b)); sourceOf(b) == source(c) {
			oldest = b
		}
	}
	ready := meta.FindStatusCondition(store.Status.Conditions, v1alpha1.ConditionReady)
	missing := fmt.Sprintf("EtcdBackupStore %s has no backup of cluster %s", want.Store, source(c))
	switch {
	case oldest != nil:
		return fmt.Sprintf("%s that is not newer than %s: the oldest is EtcdBackup %s of revision %d, begun at %s", missing, want.At,
			oldest.Name, oldest.Status.Revision, began(oldest).UTC().Format(time.RFC3339))
	case len(sources) > 0:
		slices.Sort(sources)
		return fmt.Sprintf("%s that is complete; it has backups of %s: name one of these in bootstrap.restore.cluster",
			missing, enumerate(slices.Compact(sources)))
	case ready == nil:
		return fmt.Sprintf("EtcdBackupStore %s was not looked at yet", want.Store)
	case ready.Status != metav1.ConditionTrue:
		return fmt.Sprintf("%s that is known, and is not ready: %s", missing, ready.Message)
	}
	return missing + " that is complete: kubectl get etcdbackups lists those that it has, within a minute after the store is created"
}

// enumerate names a few of many.
func enumerate(names []string) string {
	const most = 5
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

func began(b *v1alpha1.EtcdBackup) time.Time {
	if b.Status.StartedAt == nil {
		return time.Time{}
	}
	return b.Status.StartedAt.Time
}

func isNewer(b *v1alpha1.EtcdBackup, limit string) bool {
	if revision, err := strconv.ParseInt(limit, 10, 64); err == nil {
		return b.Status.Revision > revision
	}
	if moment, err := time.Parse(time.RFC3339, limit); err == nil {
		return began(b).After(moment)
	}
	return limit != "" && limit != "latest" // what is not understood is never taken for the newest
}

func isComplete(b *v1alpha1.EtcdBackup) bool {
	return meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionComplete)
}

// isBeingRemoved says whether what is stored goes with the object.
func isBeingRemoved(b *v1alpha1.EtcdBackup) bool {
	return b.DeletionTimestamp != nil && b.Spec.DeletionPolicy == v1alpha1.DeleteBackup
}

// unfit says why a backup cannot be what the cluster begins with, and what to do; empty if it can.
func unfit(c *v1alpha1.EtcdCluster, b *v1alpha1.EtcdBackup) string {
	verified := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionVerified)
	switch {
	case b.Status.Program != "":
		return fmt.Sprintf("%s has made it, and only backups of this operator can be restored yet", b.Status.Program)
	case !isComplete(b):
		return "it is not complete: " + why(b)
	case isBeingRemoved(b):
		return "it is being deleted with what is stored; choose another one"
	case verified != nil && verified.Status == metav1.ConditionFalse:
		return "it has failed its trial: " + verified.Message + "; choose another one, by its name or by an earlier time"
	case b.Status.Encrypted && c.Spec.Bootstrap.Restore.Decryption == nil:
		return "it is encrypted: name the Secret with the age identities in bootstrap.restore.decryption"
	case c.Spec.Storage.Ephemeral != nil:
		return "storage.ephemeral has no volume to restore into: create the EtcdCluster with volumes"
	}
	return cmp.Or(version.Restorable(b.Status.EtcdVersion, version.Full(c.Spec.Version)), tooLarge(c, b))
}

// beside the database a member's volume needs room for etcd's log (docs/adr/0029-restores-make-volumes.md), in bytes.
const beside = 150_000_000

// tooLarge says what is too small for the database: the volumes, or etcd's quota, at which it refuses all writes.
func tooLarge(c *v1alpha1.EtcdCluster, b *v1alpha1.EtcdBackup) string {
	size, volume := b.Status.DatabaseSize, c.Spec.Storage.VolumeSize()
	switch {
	case size == nil:
		return ""
	case size.Value()+beside > volume.Value():
		return fmt.Sprintf("its database of %s with etcd's log needs more than the volume size of %s: create the EtcdCluster with a larger "+
			"storage.size", size, &volume)
	case size.Value() > c.QuotaBytes():
		return fmt.Sprintf("its database of %s is larger than the quota of etcd, %d bytes, so that etcd would refuse every write: create "+
			"the EtcdCluster with a larger storage.size, of which the quota is three quarters, or set spec.etcd.quota", size, c.QuotaBytes())
	}
	return ""
}

func why(b *v1alpha1.EtcdBackup) string {
	if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionComplete); c != nil {
		return c.Message
	}
	return "it was not looked at yet"
}

func sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }
