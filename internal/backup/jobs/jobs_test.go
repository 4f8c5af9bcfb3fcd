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

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

var rewrite = flag.Bool("rewrite", false, "write what is made as what is expected")

var (
	onVolume = &v1alpha1.EtcdBackupStore{
		ObjectMeta: metav1.ObjectMeta{Name: "offsite", Namespace: "default", UID: "store-uid"},
		Spec:       v1alpha1.EtcdBackupStoreSpec{Volume: &v1alpha1.VolumeStore{Claim: "backups", Path: "etcd"}},
	}
	inS3 = &v1alpha1.EtcdBackupStore{
		ObjectMeta: metav1.ObjectMeta{Name: "s3", Namespace: "default", UID: "store-uid"},
		Spec: v1alpha1.EtcdBackupStoreSpec{ServiceAccountName: "writer", S3: &v1alpha1.S3Store{
			Bucket: "backups", Endpoint: "https://minio.example:9000", PathStyle: true,
			CA: &v1alpha1.CASource{ConfigMap: "authority", Key: "ca.crt"}, Credentials: &v1alpha1.SecretReference{Secret: "keys"},
			Encryption: &v1alpha1.S3Encryption{Mode: v1alpha1.EncryptionKMS, Key: "arn"},
			Lock:       &v1alpha1.S3Lock{Mode: v1alpha1.LockCompliance, Days: 30},
		}},
	}
	backup = &v1alpha1.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Name: "first", Namespace: "default", UID: "backup-uid"},
		Spec:       v1alpha1.EtcdBackupSpec{Cluster: "example", Decryption: &v1alpha1.SecretReference{Secret: "age"}},
	}
	drill = &v1alpha1.EtcdDrill{
		ObjectMeta: metav1.ObjectMeta{Name: "first", Namespace: "default", UID: "drill-uid"},
		Spec:       v1alpha1.EtcdDrillSpec{Cluster: "example", Action: v1alpha1.KillMember},
	}
	ofVolume = &v1alpha1.EtcdBackup{
		ObjectMeta: backup.ObjectMeta, Spec: v1alpha1.EtcdBackupSpec{Cluster: "example", Volume: "example-1"},
	}
	example = &v1alpha1.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "example", Namespace: "default", UID: "cluster-uid"},
		Spec:       v1alpha1.EtcdClusterSpec{Scheduling: v1alpha1.Scheduling{NodeSelector: map[string]string{"disk": "fast"}}},
		Status:     v1alpha1.EtcdClusterStatus{Restore: &v1alpha1.RestoreStatus{DatabaseSize: resource.NewQuantity(1<<30, resource.BinarySI)}},
	}
	withAuth = &v1alpha1.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "example", Namespace: "default", UID: "cluster-uid"},
		Spec:       v1alpha1.EtcdClusterSpec{Auth: v1alpha1.Auth{Enabled: true}},
	}
	withPullSecrets = &v1alpha1.EtcdCluster{
		ObjectMeta: example.ObjectMeta,
		Spec:       v1alpha1.EtcdClusterSpec{ImagePullSecrets: []v1alpha1.ImagePullSecret{{Name: "registry"}, {Name: "own"}}},
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
		"press": jobs.Press(drill, example, "first-disk-1", "example-2", jobspec.Order{
			Verb: jobspec.Press, Press: &jobspec.PressOrder{Fill: true, Lasts: time.Hour},
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
		"delete":  jobs.Delete(backup, inS3, "first-3", order(jobspec.Delete), image),
		"restore": jobs.Restore(example, onVolume, "example-0", order(jobspec.Restore), image),
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
