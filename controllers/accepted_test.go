// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// lostQuorum is a namespace with a cluster that has lost two of three volumes for good, whose survivor does not answer, and a verified
// backup of revision 800. The cluster is known to have had revision 1000.
type lostQuorum struct {
	*inPlace
	most int // EtcdRestores that there were
}

func newLostQuorum(t *testing.T, namespace string) *lostQuorum {
	w := &lostQuorum{inPlace: &inPlace{backups: newBackedUp(t, namespace)}}
	w.backup.Status.ClusterUID = string(w.cluster.UID)
	verified := metav1.Condition{Type: v1beta1.ConditionVerified, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonTrialPassed}
	meta.SetStatusCondition(&w.backup.Status.Conditions, verified)
	w.write(w.backup)
	for _, name := range []string{"a-1", "a-2"} {
		pod, claim := &corev1.Pod{ObjectMeta: w.named(name)}, &corev1.PersistentVolumeClaim{ObjectMeta: w.named(name)}
		w.must(server.Delete(t.Context(), pod, client.GracePeriodSeconds(0)))
		w.must(server.Delete(t.Context(), claim))
		released := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
		w.must(client.IgnoreNotFound(server.Patch(t.Context(), claim, released))) // its Pod is gone
	}
	return w
}

// look has all reconcilers look once, and the Jobs end well.
func (w *lostQuorum) look(o operatorInPlace) error {
	w.t.Helper()
	cluster := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.cluster)}
	_, one := o.clusters.Reconcile(w.t.Context(), cluster)
	_, two := o.volumes.Reconcile(w.t.Context(), cluster)
	all := []error{one, two}
	for _, er := range w.restores() {
		_, err := o.restores.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&er)})
		all = append(all, err)
	}
	w.runJobs()
	w.must(server.Get(w.t.Context(), client.ObjectKeyFromObject(w.cluster), w.cluster))
	if err := errors.Join(all...); errors.Is(err, errDead) {
		return err
	}
	return nil
}

func (w *lostQuorum) restores() []v1beta1.EtcdRestore {
	w.t.Helper()
	var all v1beta1.EtcdRestoreList
	w.must(server.List(w.t.Context(), &all, client.InNamespace(w.namespace)))
	w.most = max(w.most, len(all.Items))
	return all.Items
}

// comes looks until it is so.
func (w *lostQuorum) comes(o operatorInPlace, what string, is func() bool) error {
	w.t.Helper()
	for range 60 {
		if err := w.look(o); err != nil {
			return err
		}
		if is() {
			return nil
		}
	}
	return fmt.Errorf("never so that %s: %+v, EtcdRestores %+v", what, w.cluster.Status, w.restores())
}

func (w *lostQuorum) offers() bool {
	loss := w.cluster.Status.QuorumLoss
	return loss != nil && loss.Backup != nil && loss.Backup.Accept == "backup/nightly@800"
}

func (w *lostQuorum) accept(loss string) {
	w.t.Helper()
	changed := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"recovery":{"acceptDataLoss":%q}}}`, loss))
	w.must(server.Patch(w.t.Context(), w.cluster, changed))
}

// TestLossAcceptedByABackup: the backup is offered, another revision of it is answered, and what is offered is restored once.
func TestLossAcceptedByABackup(t *testing.T) {
	t.Parallel()
	w := newLostQuorum(t, "accepted")
	o := w.operator(interceptor.Funcs{})
	w.must(w.comes(o, "the backup is offered", w.offers))
	if b := w.cluster.Status.QuorumLoss.Backup; b.Lost == nil || *b.Lost != 200 || b.Revision != 800 || b.Time.IsZero() {
		t.Errorf("offered: %+v", b)
	}
	w.accept("backup/nightly@799")
	for range 5 {
		w.must(w.look(o))
	}
	told := meta.FindStatusCondition(w.cluster.Status.Conditions, v1beta1.ConditionProgressing)
	if len(w.restores()) > 0 || !strings.Contains(told.Message, `acceptDataLoss is "backup/nightly@799", which is not offered`) {
		t.Errorf("accepted another revision: %s, EtcdRestores %+v", told.Message, w.restores())
	}
	w.accept("backup/nightly@800")
	w.must(w.comes(o, "new members run", w.have(restored...)))
	made := w.restores()
	if w.most != 1 || made[0].Spec.Confirm != "" || !metav1.IsControlledBy(&made[0], w.cluster) {
		t.Fatalf("EtcdRestores %+v", made)
	}
	plan := w.cluster.Status.Restore
	if plan.RequestUID != string(made[0].UID) || plan.Revision != 800 || !slices.Equal(plan.SetAside, []string{"a-0"}) || len(w.jobs) != 3 {
		t.Errorf("plan %+v, Jobs %v", plan, w.jobs)
	}
	if w.cluster.Status.QuorumLoss != nil || w.cluster.Status.Bootstrap.Restore != plan.RequestUID {
		t.Errorf("afterwards: %+v", w.cluster.Status)
	}
}

// TestOperatorDiesInAnAcceptedLoss, before the restore has begun: one EtcdRestore is made, and one plan (fault 1). From there on it is a
// restore in place as any other.
func TestOperatorDiesInAnAcceptedLoss(t *testing.T) {
	dies(t, "accepted-dies", 4, func(t *testing.T, namespace string, dying *mortal) {
		w := newLostQuorum(t, namespace)
		w.accept("backup/nightly@800")
		begun := func() bool { return w.cluster.Status.Restore != nil }
		err := w.comes(w.operator(dying.funcs()), "it has begun", begun)
		if errors.Is(err, errDead) {
			err = w.comes(w.operator(interceptor.Funcs{}), "it has begun", begun)
		}
		w.must(err)
		made := w.restores()
		if w.most != 1 || w.cluster.Status.Restore.RequestUID != string(made[0].UID) {
			t.Errorf("EtcdRestores %+v, plan %+v", made, w.cluster.Status.Restore)
		}
	})
}

// TestNothingIsRestoredOnceQuorumIsThere: the EtcdRestore stays as a preview that says so.
func TestNothingIsRestoredOnceQuorumIsThere(t *testing.T) {
	t.Parallel()
	w := newLostQuorum(t, "accepted-early")
	o := w.operator(interceptor.Funcs{})
	w.accept("backup/nightly@800")
	for range 20 {
		_, err := o.clusters.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.cluster)})
		w.must(err)
		if len(w.restores()) > 0 {
			break
		}
	}
	w.must(server.Get(t.Context(), client.ObjectKeyFromObject(w.cluster), w.cluster))
	w.cluster.Status.QuorumLoss = nil
	w.write(w.cluster)
	for range 5 {
		_, err := o.restores.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&w.restores()[0])})
		w.must(err)
	}
	w.must(server.Get(t.Context(), client.ObjectKeyFromObject(w.cluster), w.cluster))
	if er := w.restores()[0]; er.Status.Phase != v1beta1.RestorePreviewed || w.cluster.Status.Restore != nil ||
		!strings.HasPrefix(er.Status.Message, "nothing is restored") {
		t.Errorf("%+v, cluster %+v", er.Status, w.cluster.Status.Restore)
	}
}
