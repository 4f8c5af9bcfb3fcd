// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stores

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// surely is how long a backup must have been complete before a Job that does not list it proves anything: their clocks differ.
const surely = time.Minute

// wasStored says whether an EtcdBackup has written to this store what must be in the list of the Job, or was said not to be there.
func (v View) wasStored(b *v1beta1.EtcdBackup) bool {
	if b.Spec.Found != "" || b.Status.Store != v.Store.Name || b.Status.ManifestSHA256 == "" || !b.DeletionTimestamp.IsZero() {
		return false
	}
	complete := meta.FindStatusCondition(b.Status.Conditions, v1beta1.ConditionComplete)
	isOld := complete != nil && complete.Status == metav1.ConditionTrue && v.Job.Created.Sub(complete.LastTransitionTime.Time) >= surely
	return isOld || b.Annotations[v1beta1.AnnotationGone] != ""
}

// look says on an EtcdBackup whether the store still has what it has written.
func (l *listing) look(b *v1beta1.EtcdBackup) {
	f, listed := l.byPath[b.Status.Path]
	gone := ""
	switch sum := f.Backup.ManifestSHA256; {
	case !listed:
		gone = fmt.Sprintf("the list of EtcdBackupStore %s does not have %s", l.view.Store.Name, b.Status.Path)
	case f.Problem != "":
		gone = shortened(f.Problem, 1024)
	case sum != "" && sum != b.Status.ManifestSHA256:
		gone = fmt.Sprintf("another backup lies at %s in EtcdBackupStore %s", b.Status.Path, l.view.Store.Name)
	}
	if b.Annotations[v1beta1.AnnotationGone] == gone {
		return
	}
	changed := b.DeepCopy()
	if gone == "" {
		delete(changed.Annotations, v1beta1.AnnotationGone)
	} else {
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, v1beta1.AnnotationGone, gone)
	}
	l.step.Update = append(l.step.Update, *changed)
}
