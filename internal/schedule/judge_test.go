package schedule_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/schedule"
)

// TestBackupThatMayYetBeRestoredStays: an EtcdRestore that shows its preview may be confirmed at any moment.
func TestBackupThatMayYetBeRestoredStays(t *testing.T) {
	for phase, isUsed := range map[v1alpha1.RestorePhase]bool{
		v1alpha1.RestorePending: true, v1alpha1.RestorePreviewed: true, v1alpha1.RestoreBackingUp: true, v1alpha1.RestoreRunning: true,
		v1alpha1.RestoreComplete: false, v1alpha1.RestoreUndone: false,
	} {
		c := v1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u"}}
		c.Spec.Backup = &v1alpha1.Backup{Store: "offsite", Schedule: "@daily"}
		b := v1alpha1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{
			Name: "a-1", Labels: map[string]string{v1alpha1.LabelScheduled: "a"},
			Annotations: map[string]string{v1alpha1.AnnotationClusterUID: "u"},
		}}
		b.Spec = v1alpha1.EtcdBackupSpec{Cluster: "a", Store: "offsite"}
		r := v1alpha1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Name: "back"}}
		r.Status.Phase, r.Status.Preview = phase, &v1alpha1.RestorePreview{Backup: "a-1"}
		view := schedule.Look(schedule.Seen{
			Cluster: &c, Backups: []v1alpha1.EtcdBackup{b}, Restores: []v1alpha1.EtcdRestore{r}, Now: time.Now(),
		})
		if len(view.Made) != 1 || strings.Contains(view.Made[0].InUse, "back") != isUsed {
			t.Errorf("%s: %+v", phase, view.Made)
		}
	}
}
