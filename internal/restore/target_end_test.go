// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/restore"
)

// logged is a cluster whose log has everything up to revision 500 at noon, an EtcdRestore in place, and a full backup of the cluster.
func logged() (c *v1beta1.EtcdCluster, er *v1beta1.EtcdRestore, b *v1beta1.EtcdBackup, noon time.Time) {
	noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	c = &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns", UID: "u"}}
	c.Status.Log = &v1beta1.LogStatus{
		Lineage: "00000000000000c1-0", Base: &v1beta1.BackupPoint{Name: "first", Revision: 400},
		Until: &v1beta1.LogPoint{Time: metav1.NewTime(noon.In(time.FixedZone("", 3600))), Revision: 500},
	}
	er = &v1beta1.EtcdRestore{}
	er.Spec = v1beta1.EtcdRestoreSpec{Cluster: "a", Backup: "first", Target: &v1beta1.RestoreTarget{Time: "2026-11-28T11:59:59Z"}}
	b = &v1beta1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Name: "first", Namespace: "ns"}}
	b.Status = v1beta1.EtcdBackupStatus{Path: "v1/ns/a/x", Revision: 400, ClusterID: "c1", ClusterUID: "u"}
	return c, er, b, noon
}

// TestEndOfTheLog: the Job gets what the writer has said, of that cluster and of the lineage that it writes.
func TestEndOfTheLog(t *testing.T) {
	c, er, b, noon := logged()
	order, _ := restore.Search(restore.InPlaceRequest(er, c), b)
	if want := (jobspec.LogEnd{Lineage: "00000000000000c1-0", Revision: 500, Until: noon}); order.End == nil || *order.End != want {
		t.Errorf("%+v, want %+v", order.End, want)
	}
	for name, change := range map[string]func(*v1beta1.EtcdCluster, *v1beta1.EtcdBackup){
		"no log":                          func(c *v1beta1.EtcdCluster, _ *v1beta1.EtcdBackup) { c.Status.Log = nil },
		"a backup of another EtcdCluster": func(_ *v1beta1.EtcdCluster, b *v1beta1.EtcdBackup) { b.Status.ClusterUID = "v" },
		"no lineage":                      func(c *v1beta1.EtcdCluster, _ *v1beta1.EtcdBackup) { c.Status.Log.Lineage = "" },
		"a lineage that has not begun":    func(c *v1beta1.EtcdCluster, _ *v1beta1.EtcdBackup) { c.Status.Log.Base = nil },
		"nothing said yet":                func(c *v1beta1.EtcdCluster, _ *v1beta1.EtcdBackup) { c.Status.Log.Until = nil },
	} {
		c, er, b, _ := logged()
		change(c, b)
		if order, _ := restore.Search(restore.InPlaceRequest(er, c), b); order.End != nil {
			t.Errorf("%s: %+v", name, order.End)
		}
	}
}

// TestSearchGoesOnWhileTheLogGrows: the answer of a Job counts although the log has more by now.
func TestSearchGoesOnWhileTheLogGrows(t *testing.T) {
	c, er, b, noon := logged()
	_, before := restore.Search(restore.InPlaceRequest(er, c), b)
	c.Status.Log.Until.Time, c.Status.Log.Until.Revision = metav1.NewTime(noon.Add(time.Minute)), 600
	if _, after := restore.Search(restore.InPlaceRequest(er, c), b); after != before {
		t.Errorf("%s, and then %s", before, after)
	}
}

// TestLoggedBy: a new cluster begins with the log of another one, which may be in its namespace.
func TestLoggedBy(t *testing.T) {
	_, _, b, _ := logged()
	for want, from := range map[string]v1beta1.Restore{
		"a":     {Backup: "first"},
		"other": {Store: "offsite", Cluster: "other"},
		"there": {Store: "offsite", Cluster: "ns/there"},
		"new":   {Store: "offsite"},
		"":      {Store: "offsite", Cluster: "elsewhere/a"},
		" ":     {Backup: "second"},
	} {
		c := &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "new", Namespace: "ns"}}
		c.Spec.Bootstrap = &v1beta1.BootstrapSpec{Restore: &from}
		if got := restore.LoggedBy(c, []v1beta1.EtcdBackup{*b}); got != want && got+" " != want {
			t.Errorf("%+v: %q", from, got)
		}
	}
}
