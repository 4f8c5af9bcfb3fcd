package backupstore

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/archive"
	"github.com/etcd-operator/etcd-operator/internal/build"
	"github.com/etcd-operator/etcd-operator/internal/task"
)

// changes are what the EtcdBackups lack to be what lies in the store. Those that were not found are never touched.
func changes(v View, found []task.Found) Record {
	var step Record
	names, standing := map[string]bool{}, map[string]*v1alpha1.EtcdBackup{}
	for i := range v.Backups {
		b := &v.Backups[i]
		names[b.Name] = true
		if b.Spec.Found != "" && b.Spec.Store != v.Store.Name {
			continue
		}
		standing[pathOf(b)] = b
	}
	listed := map[string]bool{}
	for _, f := range found {
		listed[f.Path] = true
		said := said(f)
		there := standing[f.Path]
		switch {
		case there == nil:
			made := object(v, f, said, nameOf(f, names))
			names[made.Name] = true
			step.Create = append(step.Create, made)
		case there.Spec.Found != "" && there.Annotations[v1alpha1.AnnotationFound] != said:
			changed := there.DeepCopy()
			metav1.SetMetaDataAnnotation(&changed.ObjectMeta, v1alpha1.AnnotationFound, said)
			step.Update = append(step.Update, *changed)
		}
	}
	for _, b := range v.Backups {
		if b.Spec.Found != "" && b.Spec.Store == v.Store.Name && !listed[b.Spec.Found] && b.DeletionTimestamp.IsZero() {
			step.Delete = append(step.Delete, b)
		}
	}
	return step
}

// pathOf is where a backup lies or is being written.
func pathOf(b *v1alpha1.EtcdBackup) string {
	switch {
	case b.Spec.Found != "":
		return b.Spec.Found
	case b.Status.Path != "":
		return b.Status.Path
	default:
		return archive.Folder{Namespace: b.Namespace, Cluster: b.Spec.Cluster, ID: string(b.UID)}.String()
	}
}

func said(f task.Found) string {
	text, _ := json.Marshal(f) // numbers, texts and times always can be
	return string(text)
}

func object(v View, f task.Found, said, name string) v1alpha1.EtcdBackup {
	return v1alpha1.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: v.Store.Namespace,
			Labels:      map[string]string{build.ManagedByLabel: v1alpha1.FieldOwner, v1alpha1.LabelStore: v.Store.Name},
			Annotations: map[string]string{v1alpha1.AnnotationFound: said},
		},
		Spec: v1alpha1.EtcdBackupSpec{Store: v.Store.Name, Found: f.Path, DeletionPolicy: v1alpha1.RetainBackup},
	}
}

// nameOf is the name that the backup had, if no other has it, and else one that only its path has.
func nameOf(f task.Found, taken map[string]bool) string {
	name := f.Backup.Name
	if name == "" {
		name = clean(f.Path[strings.LastIndex(f.Path, "/")+1:])
	}
	if !taken[name] && len(name) <= longestName {
		return name
	}
	sum := sha256.Sum256([]byte(f.Path))
	return strings.TrimRight(name[:min(len(name), longestName-9)], "-.") + "-" + hex.EncodeToString(sum[:4])
}

const longestName = 63

// clean makes a name of Kubernetes of the name of an object.
func clean(name string) string {
	cleaned := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	return strings.Trim("found-"+cleaned, "-")
}

// nameFor is the name of the EtcdBackup that stands for a path, or will.
func nameFor(v View, step Record, path string) string {
	for _, among := range [][]v1alpha1.EtcdBackup{v.Backups, step.Create} {
		for _, b := range among {
			if pathOf(&b) == path {
				return b.Name
			}
		}
	}
	return ""
}
