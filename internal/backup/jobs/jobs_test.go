// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jobs_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

var rewrite = flag.Bool("rewrite", false, "write what is made as what is expected")

var (
	onVolume = &v1beta1.EtcdBackupStore{
		ObjectMeta: metav1.ObjectMeta{Name: "offsite", Namespace: "default", UID: "store-uid"},
		Spec:       v1beta1.EtcdBackupStoreSpec{Volume: &v1beta1.VolumeStore{Claim: "backups", Path: "etcd"}},
	}
	inS3 = &v1beta1.EtcdBackupStore{
		ObjectMeta: metav1.ObjectMeta{Name: "s3", Namespace: "default", UID: "store-uid"},
		Spec: v1beta1.EtcdBackupStoreSpec{ServiceAccountName: "writer", S3: &v1beta1.S3Store{
			Bucket: "backups", Endpoint: "https://minio.example:9000", PathStyle: true,
			CA: &v1beta1.CASource{ConfigMap: "authority", Key: "ca.crt"}, Credentials: &v1beta1.SecretReference{Secret: "keys"},
			Encryption: &v1beta1.S3Encryption{Mode: v1beta1.EncryptionKMS, Key: "arn"},
			Lock:       &v1beta1.S3Lock{Mode: v1beta1.LockCompliance, Days: 30},
		}},
	}
	backup = &v1beta1.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Name: "first", Namespace: "default", UID: "backup-uid"},
		Spec:       v1beta1.EtcdBackupSpec{Cluster: "example", Decryption: &v1beta1.SecretReference{Secret: "age"}},
	}
	drill = &v1beta1.EtcdDrill{
		ObjectMeta: metav1.ObjectMeta{Name: "first", Namespace: "default", UID: "drill-uid"},
		Spec:       v1beta1.EtcdDrillSpec{Cluster: "example", Action: v1beta1.KillMember},
	}
	ofVolume = &v1beta1.EtcdBackup{
		ObjectMeta: backup.ObjectMeta, Spec: v1beta1.EtcdBackupSpec{Cluster: "example", Volume: "example-1"},
	}
	example = &v1beta1.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "example", Namespace: "default", UID: "cluster-uid"},
		Spec:       v1beta1.EtcdClusterSpec{Scheduling: v1beta1.Scheduling{NodeSelector: map[string]string{"disk": "fast"}}},
		Status:     v1beta1.EtcdClusterStatus{Restore: &v1beta1.RestoreStatus{DatabaseSize: resource.NewQuantity(1<<30, resource.BinarySI)}},
	}
	snapshot = &v1beta1.VolumeSnapshotReference{
		Name: "first-1", UID: "snapshot-uid", StorageClass: "fast", Size: resource.MustParse("8Gi"),
	}
	ofSnapshot = &v1beta1.EtcdCluster{
		ObjectMeta: example.ObjectMeta, Spec: example.Spec, Status: v1beta1.EtcdClusterStatus{Restore: &v1beta1.RestoreStatus{
			VolumeSnapshot: snapshot, DatabaseSize: resource.NewQuantity(1<<30, resource.BinarySI),
		}},
	}
	withLog = &v1beta1.EtcdCluster{
		ObjectMeta: example.ObjectMeta, Spec: example.Spec, Status: v1beta1.EtcdClusterStatus{Restore: &v1beta1.RestoreStatus{
			DatabaseSize: resource.NewQuantity(128<<20, resource.BinarySI),
			Log:          &v1beta1.RestoreLog{Size: resource.NewQuantity(64<<20, resource.BinarySI)},
		}},
	}
	withAuth = &v1beta1.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "example", Namespace: "default", UID: "cluster-uid"},
		Spec:       v1beta1.EtcdClusterSpec{Auth: v1beta1.Auth{Enabled: true}},
	}
	ofPrefix = &v1beta1.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "default", UID: "restore-uid"},
		Spec:       v1beta1.EtcdRestoreSpec{Decryption: &v1beta1.SecretReference{Secret: "age"}},
	}
	withPullSecrets = &v1beta1.EtcdCluster{
		ObjectMeta: example.ObjectMeta,
		Spec:       v1beta1.EtcdClusterSpec{ImagePullSecrets: []v1beta1.ImagePullSecret{{Name: "registry"}, {Name: "own"}}},
	}
	image  = jobs.Image{Operator: "registry.example/etcd-operator:v1", PullPolicy: corev1.PullIfNotPresent}
	forAll = jobs.Image{Operator: image.Operator, PullSecrets: []corev1.LocalObjectReference{{Name: "registry"}, {Name: "mirror"}}}
)

// Each Job is as its file in testdata says: review the diff after -rewrite. A store's keys are files, whose Secret its spec names.
func TestGolden(t *testing.T) {
	order := func(verb jobspec.Verb) jobspec.Order { return jobspec.Order{Verb: verb} }
	trial := func(verb jobspec.Verb) jobspec.Order {
		return jobspec.Order{Verb: verb, Trial: &jobspec.TrialOrder{Identities: true}}
	}
	size := resource.MustParse
	for name, job := range map[string]*batchv1.Job{
		"check-s3": jobs.Check(inS3, "etcd-store-uid", jobspec.Order{Verb: jobspec.Check, Store: inS3.Spec}, image),
		"write": jobs.Write(drill, example, "first-1", jobspec.Order{
			Verb: jobspec.Write, Write: &jobspec.WriteOrder{Key: "k", Secure: true, Lasts: time.Hour},
		}, image),
		"backup":      jobs.Backup(backup, onVolume, example, "first-1", order(jobspec.Backup), image),
		"backup-auth": jobs.Backup(backup, onVolume, withAuth, "first-1", order(jobspec.Backup), image),
		"verify": jobs.Verify(backup, onVolume, "first-2", trial(jobspec.Unpack), trial(jobspec.Verify), "etcd:v3.6.16",
			size("300Mi"), image),
		"verify-large": jobs.Verify(backup, onVolume, "first-2", trial(jobspec.Unpack), trial(jobspec.Verify), "etcd:v3.6.16", size("4Gi"),
			image),
		"rescue": jobs.Rescue(
			ofVolume, onVolume, example, "first-1", order(jobspec.Rescue), order(jobspec.Backup), "etcd:v3.6.16", size("8Gi"), image,
		),
		"verify-pulling": jobs.Verify(
			backup, onVolume, "first-2", trial(jobspec.Unpack), trial(jobspec.Verify), "etcd:v3.6.16", size("300Mi"), forAll.Of(withPullSecrets),
		),
		"locate": jobs.Locate(backup, "EtcdRestore", example, inS3, jobspec.Order{
			Verb: jobspec.Locate, Locate: &jobspec.LocateOrder{Revision: 17, Identities: true},
		}, &v1beta1.SecretReference{Secret: "age"}, image),
		"search": jobs.Search(withPullSecrets, inS3, jobspec.Order{
			Verb: jobspec.Search, Search: &jobspec.SearchOrder{Lineage: "c1-0", Key: []byte("/a"), Limit: 1000, Identities: true},
		}, &v1beta1.SecretReference{Secret: "age"}, 30*time.Minute, forAll),
		"state": jobs.StateOf(example, onVolume, jobspec.Order{
			Verb: jobspec.State, State: &jobspec.StateOrder{Prefix: []byte("/a"), Target: jobspec.LocateOrder{Revision: 17}},
		}, nil, 0, size("300Mi"), image),
		"apply": jobs.OnPrefix(ofPrefix, example, inS3, jobspec.Order{
			Verb: jobspec.Apply, Apply: &jobspec.ApplyOrder{Prefix: []byte("/a"), Live: jobspec.Live{Secure: true}, Revision: 17},
		}, size("300Mi"), image),
		"revert": jobs.OnPrefix(ofPrefix, withAuth, onVolume, jobspec.Order{
			Verb: jobspec.Revert, Revert: &jobspec.RevertOrder{Prefix: []byte("/a"), Live: jobspec.Live{Secure: true}},
		}, size("64Mi"), image),
		"restore-log": jobs.Restore(withLog, inS3, "example-0", jobspec.Order{
			Verb: jobspec.Restore, Restore: &jobspec.RestoreOrder{Target: &jobspec.TargetOrder{Lineage: "c1-0", Revision: 17}},
		}, image),
		"delete": jobs.Delete(backup, inS3, "first-3", order(jobspec.Delete), image),
		"verify-snapshot": jobs.VerifySnapshot(
			backup, example, "first-2", order(jobspec.Rescue), trial(jobspec.Verify), "etcd:v3.6.16", jobs.CopyOf(snapshot, nil), image,
		),
		"restore-snapshot": jobs.RestoreSnapshot(
			ofSnapshot, "example-0", order(jobspec.Rescue), order(jobspec.Restore), "etcd:v3.6.16", image,
		),
		"restore": jobs.Restore(example, onVolume, "example-0", order(jobspec.Restore), image),
		"follow": jobs.Follow(withAuth, inS3, jobspec.Order{
			Verb: jobspec.Follow, Store: inS3.Spec, Follow: &jobspec.FollowOrder{Secure: true, Flush: time.Second, SegmentSize: 8 << 20},
		}, image),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := yaml.Marshal(job)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name+".yaml")
			if *rewrite {
				if err := os.WriteFile(file, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(want) {
				t.Errorf("it is not as %s says:\n%s", file, got)
			}
		})
	}
}

// TestPullSecrets: those of all Jobs come first, those of the cluster beside them, each once. Jobs of other clusters do not get them.
func TestPullSecrets(t *testing.T) {
	if of := forAll.Of(nil); len(of.PullSecrets) != 2 {
		t.Errorf("without a cluster: %v", of.PullSecrets)
	}
	of := forAll.Of(withPullSecrets)
	got := fmt.Sprint(of.PullSecrets)
	if got != "[{registry} {mirror} {own}]" || len(forAll.PullSecrets) != 2 || of.Operator != forAll.Operator {
		t.Errorf("%s, %+v", got, forAll)
	}
	restored := jobs.Restore(withPullSecrets, onVolume, "example-0", jobspec.Order{Verb: jobspec.Restore}, image)
	if got := fmt.Sprint(restored.Spec.Template.Spec.ImagePullSecrets); got != "[{registry} {own}]" {
		t.Errorf("a restore pulls with %s", got)
	}
	if of := image.Of(example); of.PullSecrets != nil {
		t.Errorf("a Pod that names one gets none of its ServiceAccount: %v", of.PullSecrets)
	}
}
