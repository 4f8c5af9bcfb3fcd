// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stores

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

const (
	// longestPath is that of spec.found.
	longestPath = 1024
	// longestSaid is in bytes: an object has at most 256 KiB of annotations.
	longestSaid = 64 << 10
)

// listing is what lies in a store beside the EtcdBackups that there are.
type listing struct {
	view    View
	found   []jobspec.Found // the newest first
	lost    int             // how many the log of the Job does not have
	unseen  archive.Names   // foreign objects of which the Job does not know what they are
	unnamed int             // how many of these it has not named
	hidden  int             // of how many no EtcdBackup is made
	step    Record          // without its status

	byPath   map[string]jobspec.Found
	standing map[string]*v1beta1.EtcdBackup // by path
	shows    map[string]bool                // paths of which there is, or will be, an EtcdBackup that was found
	taken    map[string]bool                // names
}

// list compares what was found with the EtcdBackups. Only those that were found here are changed or deleted, and none is
// deleted because of what is not in a list with gaps.
func list(v View, found []jobspec.Found, checked jobspec.Checked, unseen archive.Names) listing {
	l := listing{
		view: v, found: sorted(found, v.Now), lost: max(checked.Backups-len(found), 0),
		unseen: unseen, unnamed: max(checked.Waiting+checked.Unread-unseen.Len(), 0),
		byPath: map[string]jobspec.Found{}, standing: map[string]*v1beta1.EtcdBackup{}, shows: map[string]bool{}, taken: map[string]bool{},
	}
	for _, f := range l.found {
		l.byPath[f.Path] = f
	}
	for i := range v.Backups {
		b := &v.Backups[i]
		l.taken[b.Name] = true
		if b.Spec.Found == "" || v.wasFound(b) {
			l.stand(b)
		}
	}
	l.show()
	for i := range v.Backups {
		if b := &v.Backups[i]; v.wasFound(b) && b.DeletionTimestamp.IsZero() {
			l.compare(b)
		} else if l.lost == 0 && v.wasStored(b) {
			l.look(b)
		}
	}
	return l
}

// sorted is what was found, the newest first. What was begun at a time that has not come counts as of now.
func sorted(found []jobspec.Found, now time.Time) []jobspec.Found {
	ranked := v1beta1.NewestFirst(found, func(f jobspec.Found) v1beta1.BackupAge {
		at := f.Backup.StartedAt
		if at.After(now) {
			at = now
		}
		return v1beta1.BackupAge{
			ClusterUID: f.Backup.ClusterUID, ClusterID: f.Backup.ClusterID, Recoveries: f.Backup.Recoveries, Revision: f.Backup.Revision,
			Time: at, Name: f.Path,
		}
	})
	all := make([]jobspec.Found, len(ranked))
	for i := range ranked {
		all[i] = ranked[i].Backup
	}
	return slices.CompactFunc(all, func(a, b jobspec.Found) bool { return a.Path == b.Path })
}

// stand notes which EtcdBackup stands for a path: rather the one by which the backup was made than one that was found.
func (l *listing) stand(b *v1beta1.EtcdBackup) {
	path := pathOf(b)
	if there := l.standing[path]; there == nil || there.Spec.Found != "" && b.Spec.Found == "" {
		l.standing[path] = b
	}
}

// show makes EtcdBackups of what was chosen, and counts what has none.
func (l *listing) show() {
	chosen := l.chosen()
	for _, f := range l.found {
		there := l.standing[f.Path]
		switch {
		case l.isPersons(f.Path):
		case !chosen[f.Path]:
			l.hidden++
		default:
			l.shows[f.Path] = true
			if there == nil {
				made := l.view.object(f, nameOf(f, l.taken))
				l.taken[made.Name] = true
				l.step.Create = append(l.step.Create, made)
			}
		}
	}
}

// compare updates an EtcdBackup that was found. It is deleted if its content is no longer there, or if there is no room or
// no need for it, unless it is not ours or holds what is stored.
func (l *listing) compare(b *v1beta1.EtcdBackup) {
	f, listed := l.byPath[b.Spec.Found]
	switch {
	case !listed && (l.lost > 0 || l.isUnseen(b.Spec.Found)): // it may be among what was lost, or was not looked at
		return
	case !listed && isOurs(b), listed && !l.shows[b.Spec.Found] && isOurs(b) && b.Spec.DeletionPolicy != v1beta1.DeleteBackup:
		l.step.Delete = append(l.step.Delete, *b)
		return
	case !listed:
		f = jobspec.Found{Path: b.Spec.Found, Problem: "nothing lies there: the list of the store does not have it"}
	}
	if said := said(f); b.Annotations[v1beta1.AnnotationFound] != said {
		changed := b.DeepCopy()
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, v1beta1.AnnotationFound, said)
		l.step.Update = append(l.step.Update, *changed)
	}
}

// isUnseen says whether the list cannot know what lies at a path: a foreign object that the Job has not looked at.
func (l *listing) isUnseen(path string) bool {
	return isOfOthers(path) && (l.unnamed > 0 || l.unseen.Has(path))
}

// isOfOthers says whether what lies at a path, if it is a backup, is that of another program.
func isOfOthers(path string) bool {
	_, _, ours := archive.ParseName(path + "/manifest.json")
	return !ours
}

// first are the foreign objects that EtcdBackups of this store stand for: those that people name come first.
func (v View) first() archive.Names {
	const most = 4000 // 27 KiB of an argument of a process, beside a Memory
	var named, found []string
	for i := range v.Backups {
		switch b := &v.Backups[i]; {
		case !v.wasFound(b) || !isOfOthers(b.Spec.Found):
		case isOurs(b):
			found = append(found, b.Spec.Found)
		default:
			named = append(named, b.Spec.Found)
		}
	}
	slices.Sort(named)
	slices.Sort(found)
	return archive.NamesOf(slices.Concat(named, found)).First(most)
}

// after are the EtcdBackups as they are once the step is taken.
func (l *listing) after() []v1beta1.EtcdBackup {
	gone := map[string]bool{}
	for _, b := range l.step.Delete {
		gone[b.Name] = true
	}
	return slices.DeleteFunc(slices.Concat(l.view.Backups, l.step.Create), func(b v1beta1.EtcdBackup) bool { return gone[b.Name] })
}

// newest is the backup that was begun last among those that can be restored; nil if there is none. Of a snapshot of another program the
// cluster is not known, nor whether it is whole.
func (l *listing) newest() *v1beta1.NewestBackup {
	i := slices.IndexFunc(l.found, func(f jobspec.Found) bool { return f.Problem == "" && f.Program == "" })
	if i < 0 {
		return nil
	}
	f := l.found[i]
	newest := &v1beta1.NewestBackup{Revision: f.Backup.Revision, Time: metav1.NewTime(f.Backup.StartedAt)}
	for _, b := range l.after() {
		if pathOf(&b) == f.Path && (newest.Name == "" || b.Spec.Found == "") {
			newest.Name = b.Name
		}
	}
	return newest
}

// wasFound says whether an EtcdBackup stands for something that was found in this store.
func (v View) wasFound(b *v1beta1.EtcdBackup) bool {
	return b.Spec.Found != "" && b.Spec.Store == v.Store.Name
}

// isHere says whether an EtcdBackup is about this store.
func (v View) isHere(b *v1beta1.EtcdBackup) bool {
	return b.Spec.Store == v.Store.Name || b.Status.Store == v.Store.Name
}

// isOurs says whether the operator has made an EtcdBackup.
func isOurs(b *v1beta1.EtcdBackup) bool {
	return b.Labels[specs.ManagedByLabel] == v1beta1.FieldOwner
}

// shown is a hash of the names of those EtcdBackups that stand for something in the store, and of attempts to use it that have
// failed: the store may be why.
func (v View) shown(backups []v1beta1.EtcdBackup) string {
	var names []string
	for i := range backups {
		b := &backups[i]
		if v.wasFound(b) || v.isHere(b) && meta.IsStatusConditionTrue(b.Status.Conditions, v1beta1.ConditionComplete) {
			names = append(names, b.Name)
		}
		if v.isHere(b) && isFailing(b) {
			names = append(names, fmt.Sprintf("%s/%d", b.Name, b.Status.Attempts))
		}
	}
	slices.Sort(names)
	return short(names)
}

// isFailing says whether the last attempt at something has failed, and is made again.
func isFailing(b *v1beta1.EtcdBackup) bool {
	return b.Status.Failure != nil && b.Status.RetryAt != nil
}

// pathOf is where a backup lies or is being written.
func pathOf(b *v1beta1.EtcdBackup) string {
	switch {
	case b.Spec.Found != "":
		return b.Spec.Found
	case b.Status.Path != "":
		return b.Status.Path
	default:
		return archive.Folder{Namespace: b.Namespace, Cluster: b.Spec.Cluster, ID: string(b.UID)}.String()
	}
}

// said is what is found, as an annotation.
func said(f jobspec.Found) string {
	f.Problem = shortened(f.Problem, 1024)
	text, _ := json.Marshal(f) // numbers, texts and times always can be
	if len(text) > longestSaid {
		return said(jobspec.Found{
			Path: f.Path, Program: f.Program, Problem: "the manifest says more than an EtcdBackup can hold",
			Backup: jobspec.Facts{Stored: f.Backup.Stored, StartedAt: f.Backup.StartedAt},
		})
	}
	return string(text)
}

// Note is a message as an event takes it.
func Note(message string) string { return shortened(message, 900) }

func shortened(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	for bytes > 0 && !utf8.RuneStart(text[bytes]) {
		bytes--
	}
	return text[:bytes] + "…"
}

// object is deleted with the store: without one its content cannot be read.
func (v View) object(f jobspec.Found, name string) v1beta1.EtcdBackup {
	return v1beta1.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: v.Store.Namespace,
			Labels:      map[string]string{specs.ManagedByLabel: v1beta1.FieldOwner, v1beta1.LabelStore: v.Store.Name},
			Annotations: map[string]string{v1beta1.AnnotationFound: said(f)},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1beta1.OwnerVersion.String(), Kind: "EtcdBackupStore", Name: v.Store.Name, UID: v.Store.UID,
			}},
		},
		Spec: v1beta1.EtcdBackupSpec{Store: v.Store.Name, Found: f.Path, DeletionPolicy: v1beta1.RetainBackup},
	}
}
