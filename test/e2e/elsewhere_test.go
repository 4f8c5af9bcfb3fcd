// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// What other programs have put into a store, each as it names and packs it.
func fromElsewhere() {
	var source *v1beta1.EtcdCluster
	var data map[string]string
	var revision int64
	programs := map[string]string{ // by the path in the store
		"by-hand/snapshot.db": "etcdctl",
		"by-hand/copied.db":   "etcdctl", // a copy of member/snap/db, without etcd's sum at its end
		fmt.Sprintf("old/etcd.backup_v%d_2026-01-02-03:04:05", 201):              "coreos/etcd-operator",
		fmt.Sprintf("shoot/v2/Full-00000000-%08d-%d.gz", 201, int64(1767323045)): "gardener/etcd-backup-restore",
	}

	BeforeAll(func() {
		namespace := newNamespace()
		startOperator(namespace)
		source = create(newCluster(namespace, "source", oneMember))
		data = fill(source)
		revision = revisionNow(source)
		snapshot := snapshotOf(source)
		claim := newVolumeStore(namespace, "first").Name
		folder := folderOf(namespace, claim)
		for path := range programs {
			content := snapshot
			switch {
			case filepath.Base(path) == "copied.db":
				content = snapshot[:len(snapshot)-32] // etcd ends a snapshot with the sha256 of the rest
			case filepath.Ext(path) == ".gz":
				content = gzipped(snapshot)
			}
			file := filepath.Join(folder, path)
			Expect(os.MkdirAll(filepath.Dir(file), 0o755)).To(Succeed())
			Expect(os.WriteFile(file, content, 0o644)).To(Succeed())
		}
		torn := filepath.Join(folder, "torn/snapshot.db")
		Expect(os.MkdirAll(filepath.Dir(torn), 0o755)).To(Succeed())
		Expect(os.WriteFile(torn, snapshot[:len(snapshot)/2], 0o644)).To(Succeed())
		others(filepath.Join(folder, "reports"))
		// A store is looked at when it is created, and then every five minutes.
		again := &v1beta1.EtcdBackupStore{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "elsewhere"},
			Spec:       v1beta1.EtcdBackupStoreSpec{Volume: &v1beta1.VolumeStore{Claim: claim}},
		}
		Expect(api.Create(ctx, again)).To(Succeed())
		canBeUsed(again)
	})

	It("are listed, with the program that made them", func() {
		for path, program := range programs {
			Expect(foundAt(source.Namespace, "elsewhere", path).Status.Program).To(Equal(program), path)
		}
	})

	It("fault 101: that are torn are said to be", func() {
		Eventually(func(g Gomega) {
			phase := v1beta1.BackupPhase("")
			for _, b := range backupsOf(g, source.Namespace) {
				if b.Status.Path == "torn/snapshot.db" && b.Status.Store == "elsewhere" {
					phase = b.Status.Phase
				}
			}
			g.Expect(phase).To(Equal(v1beta1.BackupFailed))
		}).Should(Succeed())
	})

	It("fault 100: lie among files of others, which keep no store from being used and are not all looked at each time", func() {
		store := &v1beta1.EtcdBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: source.Namespace, Name: "elsewhere"}}
		ready := func(words string) func(g Gomega) {
			return func(g Gomega) {
				g.Expect(api.Get(ctx, keyOf(store), store)).To(Succeed())
				ready := conditionIn(store.Status.Conditions, v1beta1.ConditionReady)
				g.Expect(ready).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Message", ContainSubstring(words))))
			}
		}
		Eventually(ready("wait")).Should(Succeed())
		before := store.Status.CheckedAt
		lookIn(source.Namespace, "elsewhere")
		Eventually(func(g Gomega) {
			ready("")(g)
			g.Expect(store.Status.CheckedAt).NotTo(Equal(before))
			g.Expect(conditionIn(store.Status.Conditions, v1beta1.ConditionReady).Message).NotTo(ContainSubstring("wait"))
		}).Should(Succeed())
	})

	It("are not restored before an etcd was started on them", func() {
		found := foundAt(source.Namespace, "elsewhere", "by-hand/snapshot.db")
		early := newCluster(source.Namespace, "early", restoring(found.Name), oneMember)
		Expect(api.Create(ctx, early)).To(Succeed())
		advice := "kubectl annotate etcdbackups.etcd-operator.dev " + found.Name + " etcd-operator.dev/verify=now"
		says(early, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, advice)
		verifyAgain(found)
		isVerified(found)
		settles(early)
		Expect(filled(early)).To(Equal(data))
		discard(early)
	})

	It("are verified and restored, whoever made them", func() {
		for path := range programs {
			By(path)
			found := foundAt(source.Namespace, "elsewhere", path)
			verifyAgain(found)
			isVerified(found)
			Expect(found.Status).To(And(
				HaveField("Revision", revision), HaveField("Keys", HaveValue(BeEquivalentTo(len(data)))), HaveField("EtcdVersion", "3.6.0")))
			restored := create(newCluster(source.Namespace, "restored", restoring(found.Name), oneMember))
			Expect(filled(restored)).To(Equal(data))
			discard(restored)
		}
	})

	It("bring back a cluster in place", func() {
		wreck(source)
		found := foundAt(source.Namespace, "elsewhere", "by-hand/snapshot.db")
		er := newRestore(source, "from-elsewhere", found.Name)
		Expect(api.Create(ctx, er)).To(Succeed())
		confirmed(er)
		reaches(er, v1beta1.RestoreComplete)
		settles(source)
		Expect(filled(source)).To(Equal(data))
	})

	It("fault 58: are refused when they are not what was verified any more", func() {
		found := foundAt(source.Namespace, "elsewhere", "by-hand/snapshot.db")
		put(source, "data/later", "later")
		file := filepath.Join(folderOf(source.Namespace, "first"), "by-hand/snapshot.db")
		Expect(os.WriteFile(file, snapshotOf(source), 0o644)).To(Succeed())
		replaced := newCluster(source.Namespace, "replaced", restoring(found.Name), oneMember)
		Expect(api.Create(ctx, replaced)).To(Succeed())
		says(replaced, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, "it was replaced")
		Expect(pods(replaced)).To(BeEmpty())
		discard(replaced)
	})
}

// others puts more files of others there than are looked at in one go, each from before the snapshots.
func others(folder string) {
	GinkgoHelper()
	Expect(os.MkdirAll(folder, 0o755)).To(Succeed())
	before := time.Now().Add(-time.Hour)
	for n := range 600 {
		name := filepath.Join(folder, fmt.Sprintf("%d.log.gz", n))
		Expect(os.WriteFile(name, bytes.Repeat([]byte("a,b,c\n"), 2000), 0o644)).To(Succeed())
		Expect(os.Chtimes(name, before, before)).To(Succeed())
	}
}

// snapshotOf is what `etcdctl snapshot save` writes into a file.
func snapshotOf(c *v1beta1.EtcdCluster) []byte {
	GinkgoHelper()
	var content []byte
	ask(c, func(ctx context.Context, etcd *clientv3.Client) error {
		stream, err := etcd.Snapshot(ctx)
		if err != nil {
			return err
		}
		defer stream.Close()
		content, err = io.ReadAll(stream)
		return err
	})
	return content
}

func gzipped(content []byte) []byte {
	GinkgoHelper()
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, err := writer.Write(content)
	Expect(err).NotTo(HaveOccurred())
	Expect(writer.Close()).To(Succeed())
	return packed.Bytes()
}

// foundAt waits for the EtcdBackup that stands for what lies there.
func foundAt(namespace, store, path string) *v1beta1.EtcdBackup {
	GinkgoHelper()
	var found *v1beta1.EtcdBackup
	Eventually(func(g Gomega) {
		found = nil
		for _, b := range backupsOf(g, namespace) {
			if b.Status.Path == path && b.Status.Store == store {
				found = &b
			}
		}
		g.Expect(found).NotTo(BeNil(), path)
		complete := HaveField("Status", metav1.ConditionTrue)
		if found.Status.Program != "" && found.Status.Verified == nil {
			complete = HaveField("Reason", v1beta1.ReasonUnproven)
		}
		g.Expect(conditionIn(found.Status.Conditions, v1beta1.ConditionComplete)).To(complete)
	}).Should(Succeed())
	return found
}
