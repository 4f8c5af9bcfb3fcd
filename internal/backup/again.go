// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// A backup tool puts an EtcdBackup back with its name, labels and annotations, but with another UID and without its status. Its backup is
// in the store already: a new one under the old name would hold today's data. The mark is what tells it from a new object of an old name:
// the UID of the object that had the backup made, in its manifest and in an annotation.

// listAgain is how often it is read whether the list of a store has what an EtcdBackup had before it was put back: no watch reports it.
const listAgain = time.Minute

// again are the backups in the list of the store that may be the one of this EtcdBackup: by its name, and of what the operator itself has
// made, whose names come again, by the mark as well.
func again(b *v1beta1.EtcdBackup, store string, all []v1beta1.EtcdBackup) (found []jobspec.Found) {
	if b.Spec.Found != "" || b.Status.Path != "" {
		return nil
	}
	for i := range all {
		f := listing(&all[i])
		if f != nil && all[i].Spec.Store == store && isOf(b, *f) {
			found = append(found, *f)
		}
	}
	return found
}

func isOf(b *v1beta1.EtcdBackup, f jobspec.Found) bool {
	facts, id := f.Backup, path.Base(f.Path)
	isNamesake := facts.Name == b.Name && facts.Namespace == b.Namespace && facts.Cluster == b.Spec.Cluster
	isMarked := id == b.Annotations[v1beta1.AnnotationUpload] || isUploadOf(id, string(b.UID))
	return isMarked && f.Problem != "" || isNamesake && (isMarked || b.Annotations[v1beta1.AnnotationReason] == "")
}

// isUploadOf says whether the last part of a path is of an object's own: a store that locks objects has a number after the UID.
func isUploadOf(id, uid string) bool { return id == uid || strings.HasPrefix(id, uid+"-") }

// isPutBack says whether an object of another UID has had the backup made.
func (v View) isPutBack() bool {
	if v.isSnapshot() {
		return v.Upload != "" && !strings.Contains(v.Upload, jobMark(v.Name, v.UID, Backup))
	}
	return v.Upload != "" && !isUploadOf(v.Upload, v.UID)
}

func findAgain(v View) Step {
	switch {
	case v.isFound() || v.IsComplete() || v.Status.Path != "":
		return nil
	case v.isSnapshot():
		return v.findSnapshot()
	case !v.Store.Ready:
		return nil
	}
	if v.isPutBack() {
		return v.findUpload()
	}
	for _, f := range v.Again {
		if isUploadOf(path.Base(f.Path), v.UID) {
			return v.foundAgain(f) // this very object is as it was before its own backup, as after a restore of Kubernetes
		}
	}
	if len(v.Again) == 0 {
		return nil
	}
	f := v.Again[0]
	return v.unusable(v1beta1.ReasonBackupExists, fmt.Sprintf("EtcdBackupStore %s has a backup of this name already, with revision %d of "+
		"EtcdCluster %s of UID %s, at %s: for a new backup create an EtcdBackup of another name",
		v.Store.Name, f.Backup.Revision, f.Backup.Cluster, f.Backup.ClusterUID, f.Path))
}

// findUpload is about an object that was put back: it stands for the folder that its mark names, and for no other.
func (v View) findUpload() Step {
	if i := v.upload(); i >= 0 {
		return v.foundAgain(v.Again[i])
	}
	return Wait{
		Task: Backup, Reason: v1beta1.ReasonContentGone, Until: v.Now.Add(listAgain),
		For: fmt.Sprintf("EtcdBackupStore %s to list %s, which this EtcdBackup stood for before it was put back without its status; "+
			"for a new backup create an EtcdBackup of another name without the annotation %s",
			v.Store.Name, v.folder(v.Upload), v1beta1.AnnotationUpload),
	}
}

// upload is which of Again the mark of an object that was put back names; -1: none.
func (v View) upload() int {
	return slices.IndexFunc(v.Again, func(f jobspec.Found) bool { return v.isPutBack() && f.Path == v.folder(v.Upload) })
}

// foundAgain is the step that writes down what the store has. It is verified only if a person wants that, as what was found is.
func (v View) foundAgain(f jobspec.Found) Step {
	if f.Problem != "" {
		return v.unusable(v1beta1.ReasonUnusable, f.Problem)
	}
	s := v.status()
	putFacts(&s, f.Backup)
	s.Path, s.Store, s.Failure, s.RetryAt = f.Path, v.Store.Name, nil, nil
	s.Trial = &v1beta1.BackupTrial{Wanted: v.Request != "" || v.Spec.Verify != nil && *v.Spec.Verify, Request: v.Request}
	return Record{Status: s, What: "found again, as this EtcdBackup was put back without its status: " + stored(s), Event: "BackupFoundAgain"}
}

// unusable is the step that gives the backup up.
func (v View) unusable(reason, why string) Step {
	s := v.status()
	s.Failure, s.RetryAt = &v1beta1.BackupFailure{Task: Backup, Reason: reason, Message: shortened(why), Final: true}, nil
	return failure(s)
}

// markUpload has the folder on the object before anything is written there, so that an object that is put back is known.
func markUpload(v View) Step {
	if id := path.Base(v.path()); !v.isFound() && v.Upload != id {
		return Mark{Upload: id}
	}
	return nil
}
