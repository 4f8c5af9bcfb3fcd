// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

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

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

// Request is which backup is meant, and where its user has named it.
type Request struct {
	v1beta1.Restore
	Cluster *v1beta1.EtcdCluster // that begins with it, or is brought back to it
	InPlace bool
	// Logged is the cluster whose log may lead to the target; nil: it is not known. What its status says is used for its own backups only.
	Logged *v1beta1.EtcdCluster
	// ByFlags says that a command line requests it, and that data is only read: no member needs room for it.
	ByFlags bool
	// OfPrefix says that only keys below a prefix are restored, into members that serve.
	OfPrefix bool
}

// bootstrapRequest is what the spec of a new cluster requests.
func bootstrapRequest(c *v1beta1.EtcdCluster) Request {
	return Request{Restore: *c.Spec.Bootstrap.Restore, Cluster: c}
}

// inPlaceRequest is what an EtcdRestore requests.
func inPlaceRequest(r *v1beta1.EtcdRestore, c *v1beta1.EtcdCluster) Request {
	want := v1beta1.Restore{Backup: r.Spec.Backup, Store: r.Spec.Store, Decryption: r.Spec.Decryption, Target: r.Spec.Target}
	if from := r.Spec.From; from != nil {
		want.Cluster, want.At = from.Cluster, from.At
	}
	return Request{Restore: want, Cluster: c, InPlace: true, Logged: c, OfPrefix: r.Spec.IsPartial()}
}

// field is what a part of the request is called where its user has written it.
func (w Request) field(part string) string {
	switch {
	case w.ByFlags && part == "cluster":
		return "--from of kubectl etcd restore: a log is read for its own cluster"
	case w.ByFlags:
		return "--" + part
	case !w.InPlace:
		return "bootstrap.restore." + part
	case part == "cluster":
		return "spec.from.cluster"
	}
	return "spec." + part
}

// with says what to do about a spec that the backup does not fit.
func (w Request) with() string {
	if w.InPlace {
		return "give the EtcdCluster"
	}
	return "create the EtcdCluster with"
}

// Choose is the backup that is meant, or why there is none that can be restored, and what to do. The store is the one that
// is named; nil if there is none.
func Choose(want Request, all []v1beta1.EtcdBackup, store *v1beta1.EtcdBackupStore) (chosen *v1beta1.EtcdBackup, problem string) {
	if want.Backup == "" {
		chosen, problem = find(want, all, store)
	} else if chosen = named(want.Backup, all); chosen == nil {
		problem = fmt.Sprintf("there is no EtcdBackup %s in this namespace: kubectl get etcdbackups.etcd-operator.dev lists those that there are",
			want.Backup)
	}
	if chosen == nil {
		return nil, problem
	}
	if why := unfit(want, chosen); why != "" {
		return nil, fmt.Sprintf("EtcdBackup %s cannot be restored: %s", chosen.Name, why)
	}
	return chosen, ""
}

// find is the newest backup that is meant by a cluster and a time or a revision.
func find(want Request, all []v1beta1.EtcdBackup, store *v1beta1.EtcdBackupStore) (*v1beta1.EtcdBackup, string) {
	switch found := newest(want, all); len(found) {
	case 0:
		return nil, none(want, all, store) + hidden(store)
	case 1:
		return found[0].Backup, ""
	default:
		return nil, ambiguous(want, found)
	}
}

func named(name string, all []v1beta1.EtcdBackup) *v1beta1.EtcdBackup {
	i := slices.IndexFunc(all, func(b v1beta1.EtcdBackup) bool { return b.Name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// source is the cluster whose backup is meant, as <namespace>/<name>.
func (w Request) source() string {
	named := cmp.Or(w.Restore.Cluster, w.Cluster.Name)
	if strings.Contains(named, "/") {
		return named
	}
	return w.Cluster.Namespace + "/" + named
}

// sourceOf is the cluster that a backup is of, by its folder in the store: v1/<namespace>/<cluster>/<ID>. It is empty for one of
// another program.
func sourceOf(b *v1beta1.EtcdBackup) string {
	folder := strings.Split(b.Status.Path, "/")
	if len(folder) != 4 || folder[0] != "v1" || b.Status.Program != "" {
		return ""
	}
	return folder[1] + "/" + folder[2]
}

// candidate is a backup that could be restored, and when it counts as begun.
type candidate = v1beta1.Ranked[*v1beta1.EtcdBackup]

// candidates are the backups in the store that could be restored by anybody, of whichever cluster, the newest first.
func candidates(want Request, all []v1beta1.EtcdBackup) []candidate {
	var found []*v1beta1.EtcdBackup
	for i := range all {
		b := &all[i]
		if b.Status.Store == want.Store && sourceOf(b) != "" && IsComplete(b) && !isBeingRemoved(b) {
			found = append(found, b)
		}
	}
	return v1beta1.NewestFirst(found, v1beta1.AgeOf)
}

// none says why no backup is found, and what there is instead.
func none(want Request, all []v1beta1.EtcdBackup, store *v1beta1.EtcdBackupStore) string {
	if store == nil {
		return fmt.Sprintf("there is no EtcdBackupStore %s in this namespace: create it, and the backups that lie in it are found", want.Store)
	}
	var sources []string
	var oldest candidate
	for _, c := range candidates(want, all) {
		if sources = append(sources, sourceOf(c.Backup)); want.means(c.Backup) {
			oldest = c
		}
	}
	ready := meta.FindStatusCondition(store.Status.Conditions, v1beta1.ConditionReady)
	missing := fmt.Sprintf("EtcdBackupStore %s has no backup of cluster %s", want.Store, want.source())
	switch {
	case oldest.Backup != nil:
		return fmt.Sprintf("%s that is not newer than %s: the oldest is EtcdBackup %s of revision %d, begun at %s", missing, want.At,
			oldest.Backup.Name, oldest.Backup.Status.Revision, oldest.Time.UTC().Format(time.RFC3339))
	case namesakes(want, all) != "":
		return namesakes(want, all)
	case len(sources) > 0:
		slices.Sort(sources)
		return fmt.Sprintf("%s that is complete; it has backups of %s: name one of these in %s",
			missing, enumerate(slices.Compact(sources)), want.field("cluster"))
	case ready == nil:
		return fmt.Sprintf("EtcdBackupStore %s was not looked at yet", want.Store)
	case ready.Status != metav1.ConditionTrue:
		return fmt.Sprintf("%s that is known, and is not ready: %s", missing, ready.Message)
	}
	return missing + " that is complete: kubectl get etcdbackups.etcd-operator.dev lists those that it has, within a minute after the store " +
		"is created"
}

// hidden says that the store has more than what EtcdBackups show.
func hidden(store *v1beta1.EtcdBackupStore) string {
	if store == nil || store.Status.Hidden == 0 {
		return ""
	}
	return fmt.Sprintf("; %d older backups in the store have no EtcdBackup: create one with spec.store %s and, as spec.found, the path in "+
		"the store of the backup that you mean, such as v1/<namespace>/<cluster>/<ID>", store.Status.Hidden, store.Name)
}

// enumerate names a few of many.
func enumerate(names []string) string {
	const most = 5
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

func isNewer(c candidate, limit string) bool {
	if revision, err := strconv.ParseInt(limit, 10, 64); err == nil {
		return c.Backup.Status.Revision > revision
	}
	if moment, err := time.Parse(time.RFC3339, limit); err == nil {
		return c.Time.After(moment)
	}
	return limit != "" && limit != "latest" // what is not understood is never taken for the newest
}

// IsComplete says whether all of the backup is in its store.
func IsComplete(b *v1beta1.EtcdBackup) bool {
	return meta.IsStatusConditionTrue(b.Status.Conditions, v1beta1.ConditionComplete)
}

// isBeingRemoved says whether what is stored is deleted with the object.
func isBeingRemoved(b *v1beta1.EtcdBackup) bool {
	return b.DeletionTimestamp != nil && b.Spec.DeletionPolicy == v1beta1.DeleteBackup
}

// unfit says why a backup cannot be what the cluster begins with, and what to do; empty if it can.
func unfit(want Request, b *v1beta1.EtcdBackup) string {
	c := want.Cluster
	verified := meta.FindStatusCondition(b.Status.Conditions, v1beta1.ConditionVerified)
	switch {
	case !IsComplete(b):
		return "it is not complete: " + why(b)
	case isBeingRemoved(b):
		return "it is being deleted with what is stored; choose another one"
	case verified != nil && verified.Status == metav1.ConditionFalse:
		return "it has failed its trial: " + verified.Message + "; choose another one, by its name or by an earlier time"
	case b.Status.Program != "" && b.Status.Verified == nil:
		return fmt.Sprintf("%s has made it, and what is in it is known once an etcd was started on it: "+
			"kubectl annotate etcdbackups.etcd-operator.dev %s %s=now has that done", b.Status.Program, b.Name, v1beta1.AnnotationVerifyOnce)
	case b.Status.Encrypted && want.Decryption == nil:
		return "it is encrypted: name the Secret with the age identities in " + want.field("decryption")
	case want.ByFlags:
		return unfitForLog(b)
	case want.OfPrefix:
		return unlessOwn(b, "a prefix is read of", "name another backup, or restore all of it into a new cluster")
	case c.Spec.Storage.Ephemeral != nil && want.InPlace:
		return "storage.ephemeral of the cluster has no volume to restore into: create another EtcdCluster with volumes and bootstrap.restore"
	case c.Spec.Storage.Ephemeral != nil:
		return "storage.ephemeral has no volume to restore into: create the EtcdCluster with volumes"
	}
	noLog := ""
	if want.Target != nil {
		noLog = unfitForLog(b)
	}
	return cmp.Or(noLog, version.Restorable(b.Status.EtcdVersion, version.Full(c.Spec.Version), want.with()), tooLarge(want, alone(b)))
}

// beside the database a member's volume needs room for etcd's log (docs/adr/0029-restores-make-volumes.md), in bytes.
const beside = 150_000_000

// tooLarge says what is too small for the database: the volumes, or etcd's quota, at which it refuses all writes.
func tooLarge(want Request, of source) string {
	c := want.Cluster
	if want.OfPrefix {
		return "" // etcd itself refuses what there is no room for
	}
	size, volume := of.log.SizeAfter(of.backup.Status.DatabaseSize), c.VolumeSize()
	what := ""
	if of.log != nil && of.log.Size != nil {
		what = fmt.Sprintf(", once %s of changes are replayed onto it,", of.log.Size)
	}
	switch {
	case size == nil:
		return ""
	case size.Value()+beside > volume.Value():
		return fmt.Sprintf("its database of %s%s with etcd's log needs more than the volume size of %s: %s a larger storage.size",
			size, what, &volume, want.with())
	case size.Value() > c.QuotaBytes():
		return fmt.Sprintf("its database of %s%s is larger than the quota of etcd, %d bytes, so that etcd would refuse every write: %s "+
			"a larger storage.size, of which the quota is three quarters, or set spec.etcd.quota", size, what, c.QuotaBytes(), want.with())
	}
	return ""
}

func why(b *v1beta1.EtcdBackup) string {
	if c := meta.FindStatusCondition(b.Status.Conditions, v1beta1.ConditionComplete); c != nil {
		return c.Message
	}
	return "it was not looked at yet"
}

func sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }
