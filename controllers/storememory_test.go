// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/stores"
)

// TestStoreMemory: what a Job has said of foreign objects is about one store, and about the place that its spec named.
func TestStoreMemory(t *testing.T) {
	r := &EtcdBackupStoreReconciler{}
	store := &v1beta1.EtcdBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "offsite", UID: "1", Generation: 1}}
	step := stores.Record{Memory: archive.Memory{"nothing": []byte("12345")}}
	if err := r.act(t.Context(), storeLook{View: stores.View{Store: *store}}, step); err != nil {
		t.Fatal(err)
	}
	if err := r.act(t.Context(), storeLook{View: stores.View{Store: *store}}, stores.Record{}); err != nil { // a look that failed
		t.Fatal(err)
	}
	if got := r.recall(store); len(got) != 1 {
		t.Errorf("it remembers %v", got)
	}
	for name, change := range map[string]func(*v1beta1.EtcdBackupStore){
		"another spec":           func(s *v1beta1.EtcdBackupStore) { s.Generation++ },
		"another of its name":    func(s *v1beta1.EtcdBackupStore) { s.UID = "2" },
		"one of another's space": func(s *v1beta1.EtcdBackupStore) { s.Namespace = "other" },
	} {
		changed := store.DeepCopy()
		change(changed)
		if got := r.recall(changed); got != nil {
			t.Errorf("%s: it remembers %v", name, got)
		}
	}
}
