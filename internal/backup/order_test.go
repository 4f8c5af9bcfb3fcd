// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/cluster/limits"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// ordered is the Job of a task, and its orders.
func ordered(t *testing.T, s backup.Seen, what string, images specs.Images) (*batchv1.Job, []jobspec.Order) {
	t.Helper()
	maker := backup.JobBuilder{Image: jobs.Image{Operator: "operator:1"}, Images: images, Version: "0.5.0"}
	job, err := maker.Job(s, backup.Facts(s), backup.CreateJob{Name: "j", Task: what})
	if err != nil {
		t.Fatal(err)
	}
	var orders []jobspec.Order
	for _, c := range slices.Concat(job.Spec.Template.Spec.InitContainers, job.Spec.Template.Spec.Containers) {
		if len(c.Args) != 2 || c.Args[0] != "task" {
			continue
		}
		order, err := jobspec.ParseOrder(c.Args[1])
		if err != nil {
			t.Fatal(err)
		}
		orders = append(orders, order)
	}
	return job, orders
}

// TestOrderToBackUp: which members are asked in which order, and what the manifest is to say.
func TestOrderToBackUp(t *testing.T) {
	s := seen()
	s.Backup.Status.Reason, s.Cluster.Status.Recoveries = "schedule", 2
	job, orders := ordered(t, s, backup.Backup, nil)
	o := orders[0].Backup
	var members []string
	for _, m := range o.Members {
		members = append(members, fmt.Sprintf("%s=%s@%s", m.Name, m.ID, m.Address))
	}
	want := "a-2=12@a-2.a.ns.svc:2379 a-0=10@a-0.a.ns.svc:2379 a-1=11@a-1.a.ns.svc:2379 a-3=13@a-3.a.ns.svc:2379"
	if got := strings.Join(members, " "); got != want {
		t.Errorf("members %s\nwant    %s", got, want)
	}
	if o.ID != "b-uid" || o.Cluster != "a" || o.ClusterUID != "c-uid" || o.ClusterID != "c1" || o.Recoveries != 2 ||
		o.Reason != "schedule" || !o.Secure ||
		o.Recipients[0] != "age1theirs" || orders[0].Operator != "0.5.0" || job.Name != "j" {
		t.Errorf("order %+v", o)
	}
	var spec v1beta1.EtcdClusterSpec
	if err := json.Unmarshal(o.Spec, &spec); err != nil || spec.Version != "3.6.16" {
		t.Errorf("spec %s, %v", o.Spec, err)
	}
	s.Backup.Status.Path, s.Backup.Status.Store = "v1/ns/a/b-uid-3", "offsite"
	if _, orders := ordered(t, s, backup.Backup, nil); orders[0].Backup.ID != "b-uid-3" {
		t.Errorf("the status says %s, and the Job writes to %s", s.Backup.Status.Path, orders[0].Backup.ID)
	}
}

// TestOrderToLock: what is written is locked for the days of the store, from when the backup is begun. A trial writes nothing.
func TestOrderToLock(t *testing.T) {
	s := seen()
	s.Store.Spec = v1beta1.EtcdBackupStoreSpec{S3: &v1beta1.S3Store{Lock: &v1beta1.S3Lock{Mode: v1beta1.LockCompliance, Days: 30}}}
	s.Now = s.Now.In(time.FixedZone("", 3600))
	_, orders := ordered(t, s, backup.Backup, nil)
	if got := orders[0].Backup.LockedUntil; !got.Equal(s.Now.UTC().AddDate(0, 0, 30)) || got.Location() != time.UTC {
		t.Errorf("begun at %s, it is locked until %s", s.Now, got)
	}
	if !reflect.DeepEqual(orders[0].Store, s.Store.Spec) {
		t.Errorf("the store is %+v", orders[0].Store)
	}
	s.Store.Spec.S3.Lock = nil
	if _, orders := ordered(t, s, backup.Backup, nil); !orders[0].Backup.LockedUntil.IsZero() {
		t.Error("it is locked without a lock")
	}
}

// TestSpecThatIsNoArgument: Linux allows no argument of that size, and a backup without it is one.
func TestSpecThatIsNoArgument(t *testing.T) {
	s := seen()
	s.Cluster.Spec.PodMetadata.Annotations = map[string]string{"x": strings.Repeat("x", 100<<10)}
	if _, orders := ordered(t, s, backup.Backup, nil); len(orders[0].Backup.Spec) > 0 {
		t.Errorf("%d bytes of spec", len(orders[0].Backup.Spec))
	}
}

// TestImageOfATrial: it is one that can be pulled, and that reads the data.
func TestImageOfATrial(t *testing.T) {
	theirs := specs.Images{"3.6.16": "mirror/etcd:3.6.16", "3.5.35": "mirror/etcd:3.5.35", "3.5.9": "mirror/etcd:3.5.9"}
	for _, test := range []struct {
		version, chosen string
		images          specs.Images
		want, minor     string
	}{
		{"3.6.16", "", nil, "gcr.io/etcd-development/etcd:v3.6.16", "3.6"},
		{"3.6.16", "", theirs, "mirror/etcd:3.6.16", "3.6"},
		{"3.5.20", "", theirs, "mirror/etcd:3.5.35", "3.5"},
		{"3.7.3", "", theirs, "gcr.io/etcd-development/etcd:v3.7.3", "3.7"},
		{"3.6.16", "user/etcd:x", theirs, "user/etcd:x", "3.6"},
		{"3.6.15", "user/etcd:x", theirs, "mirror/etcd:3.6.16", "3.6"},
		{"", "", nil, "gcr.io/etcd-development/etcd:v3.7.3", "3.7"},
	} {
		s := seen()
		s.Cluster.Spec.Image = test.chosen
		s.Backup.Status.EtcdVersion = test.version
		job, orders := ordered(t, s, backup.Verify, test.images)
		image := ""
		for _, c := range job.Spec.Template.Spec.InitContainers {
			if c.Image != "operator:1" {
				image = c.Image
			}
		}
		if image != test.want || orders[0].Trial.Minor != test.minor {
			t.Errorf("%+v: %s of %s", test, image, orders[0].Trial.Minor)
		}
	}
}

// TestImageOfATrialThatIsNotAllowed: it is not run in a Job either, which nothing else would keep from it.
func TestImageOfATrialThatIsNotAllowed(t *testing.T) {
	s := seen()
	s.Cluster.Spec.Image, s.Backup.Status.EtcdVersion = "user/etcd:x", "3.6.16"
	for allowed, want := range map[string]string{"user/*": "user/etcd:x", "mirror/*": "gcr.io/etcd-development/etcd:v3.6.16"} {
		maker := backup.JobBuilder{Limits: limits.Limits{Images: limits.Names{allowed}}}
		job, err := maker.Job(s, backup.Facts(s), backup.CreateJob{Name: "j", Task: backup.Verify})
		if err != nil {
			t.Fatal(err)
		}
		if got := job.Spec.Template.Spec.InitContainers[1].Image; got != want {
			t.Errorf("%s is allowed, and %s runs", allowed, got)
		}
	}
}

// TestOrderOfATrial: both halves are about the same backup. Of other programs there may be no sum.
func TestOrderOfATrial(t *testing.T) {
	s := seen()
	s.Backup.Status = v1beta1.EtcdBackupStatus{Path: "v1/ns/a/b-uid", Store: "offsite", ManifestSHA256: "m1", EtcdVersion: "3.6.16"}
	_, orders := ordered(t, s, backup.Verify, nil)
	want := jobspec.TrialOrder{Path: "v1/ns/a/b-uid", ManifestSHA256: "m1", Minor: "3.6", Identities: true}
	if len(orders) != 2 || orders[0].Verb != jobspec.Unpack || orders[1].Verb != jobspec.Verify ||
		*orders[0].Trial != want || *orders[1].Trial != want {
		t.Errorf("orders %+v", orders)
	}
	s.Backup.Status.Program = "etcdctl"
	if _, orders := ordered(t, s, backup.Verify, nil); !orders[0].Trial.Foreign || !orders[0].Trial.WithoutHash {
		t.Errorf("trial %+v", orders[0].Trial)
	}
	if _, orders := ordered(t, s, backup.Delete, nil); *orders[0].Delete != (jobspec.DeleteOrder{
		Path:           "v1/ns/a/b-uid",
		ManifestSHA256: "m1",
	}) {
		t.Errorf("delete %+v", orders[0].Delete)
	}
}

// TestSecretOfTheCluster: a trial mounts it although only the cluster names it.
func TestSecretOfTheCluster(t *testing.T) {
	job, _ := ordered(t, seen(), backup.Verify, nil)
	text, err := json.Marshal(job)
	if err != nil || !strings.Contains(string(text), `"secretName":"theirs"`) {
		t.Errorf("%s, %v", text, err)
	}
}

// TestRoomOfATrial: the database, a little more, and what file systems keep for themselves: of 4 GiB and 256 MiB an xfs left 13 MB
// less than the trial of a database of 4106 MiB needs, so that no such backup could be verified.
func TestRoomOfATrial(t *testing.T) {
	quantity := func(s string) *resource.Quantity { return ptr.To(resource.MustParse(s)) }
	for want, status := range map[string]v1beta1.EtcdBackupStatus{
		"278Mi":  {DatabaseSize: quantity("20Mi"), StoredSize: quantity("4Mi")},
		"322Mi":  {StoredSize: quantity("10Mi")},
		"256Mi":  {},
		"2509Mi": {DatabaseSize: quantity("2Gi")},
		"4773Mi": {DatabaseSize: quantity("4106Mi")},
	} {
		if got := backup.Scratch(status); got.String() != want {
			t.Errorf("%s, want %s", got.String(), want)
		}
	}
}

// TestJobNames: they can be labels and belong to one EtcdBackup.
func TestJobNames(t *testing.T) {
	long := strings.Repeat("a.", 100)
	seen := map[string]bool{}
	for _, name := range []string{"b", "b.c", long} {
		for _, uid := range []string{"u1", "u2"} {
			for number := range int64(3) {
				got := backup.JobName(name, uid, backup.Verify, number*1_000_000)
				if len(got) > 63 || strings.ContainsAny(got, ". ") || seen[got] {
					t.Errorf("name %q", got)
				}
				seen[got] = true
			}
		}
	}
}

// TestPullSecretsOfTheCluster: each Job of its backups pulls with them, a deletion after the cluster is gone without.
func TestPullSecretsOfTheCluster(t *testing.T) {
	s := seen()
	s.Cluster.Spec.ImagePullSecrets = []v1beta1.ImagePullSecret{{Name: "registry"}}
	for _, what := range []string{backup.Backup, backup.Verify, backup.Delete} {
		job, _ := ordered(t, s, what, nil)
		if got := fmt.Sprint(job.Spec.Template.Spec.ImagePullSecrets); got != "[{registry}]" {
			t.Errorf("%s pulls with %s", what, got)
		}
	}
	s.Cluster = nil
	if job, _ := ordered(t, s, backup.Delete, nil); job.Spec.Template.Spec.ImagePullSecrets != nil {
		t.Errorf("the cluster is gone, and it pulls with %v", job.Spec.Template.Spec.ImagePullSecrets)
	}
}
