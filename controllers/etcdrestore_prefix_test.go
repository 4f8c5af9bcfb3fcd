// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"errors"
	"slices"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// changer is an operator whose Jobs compare and change keys.
func (w *inPlace) changer(through interceptor.Funcs) operatorInPlace {
	return w.answering(through, func(container string) jobspec.Done {
		done := jobspec.Done{Changes: &jobspec.Changes{Revision: 1000, Create: 3}}
		if container == "compare" {
			done.Changes.Digest = "0123456789abcdef"
		}
		return done
	})
}

// ofPrefix is the namespace with an EtcdRestore of a prefix.
func ofPrefix(t *testing.T, namespace string) *inPlace {
	w := &inPlace{newBackedUp(t, namespace), nil}
	w.restore = &v1beta1.EtcdRestore{ObjectMeta: w.named("er")}
	w.restore.Spec = v1beta1.EtcdRestoreSpec{Cluster: "a", Backup: "nightly", SkipSafetyBackup: true, Prefix: "/shop/"}
	w.create(w.restore)
	return w
}

// changed fails unless one Job has compared, one has changed what was compared, and none is left.
func (w *inPlace) changed() {
	w.t.Helper()
	var verbs []jobspec.Verb
	for _, order := range w.orders {
		verbs = append(verbs, order.Verb)
		if a := order.Apply; a != nil && (a.Revision != 1000 || a.Digest != "0123456789abcdef" || string(a.Prefix) != "/shop/") {
			w.t.Errorf("it changes %+v", a)
		}
	}
	if want := []jobspec.Verb{jobspec.Compare, jobspec.Apply}; !slices.Equal(verbs, want) {
		w.t.Errorf("Jobs %v", verbs)
	}
	if left := w.left(); len(left) > 0 {
		w.t.Errorf("Jobs %v are left", left)
	}
	if w.cluster.Status.Restore != nil {
		w.t.Errorf("members are replaced: %+v", w.cluster.Status.Restore)
	}
}

// TestRestoreOfAPrefix: a Job compares, what it says is previewed and confirmed, and another Job changes just that. No member is replaced.
func TestRestoreOfAPrefix(t *testing.T) {
	t.Parallel()
	w := ofPrefix(t, "restore-of-prefix")
	o := w.changer(interceptor.Funcs{})
	w.must(w.until(o, "it is previewed", w.is(v1beta1.RestorePreviewed)))
	if p := w.restore.Status.Preview; p.Confirm != "a@1000->800/01234567" || p.Changes == nil || p.Changes.Created != 3 {
		t.Fatalf("preview %+v", p)
	}
	w.change(func(s *v1beta1.EtcdRestoreSpec) { s.Confirm = w.restore.Status.Preview.Confirm })
	w.must(w.until(o, "its keys are changed", func() bool {
		return w.restore.Status.Phase == v1beta1.RestoreComplete && len(w.left()) == 0
	}))
	if is := w.restore.Status.Changes; is == nil || is.Created != 3 {
		t.Errorf("changes %+v", is)
	}
	w.changed()
}

// TestOperatorDiesInARestoreOfAPrefix: keys are changed by one Job, which was confirmed (fault 1).
func TestOperatorDiesInARestoreOfAPrefix(t *testing.T) {
	dies(t, "in-place-prefix", 8, func(t *testing.T, namespace string, dying *mortal) {
		w := ofPrefix(t, namespace)
		w.change(func(s *v1beta1.EtcdRestoreSpec) { s.Confirm = "a@1000->800/01234567" })
		isDone := func() bool { return w.restore.Status.Phase == v1beta1.RestoreComplete && len(w.left()) == 0 }
		err := w.until(w.changer(dying.funcs()), "its keys are changed", isDone)
		if errors.Is(err, errDead) {
			w.runJobs()
			err = w.until(w.changer(interceptor.Funcs{}), "its keys are changed", isDone)
		}
		w.must(err)
		w.changed()
	})
}
