// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"maps"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func restoresInPlace() {
	var c *v1beta1.EtcdCluster
	var er *v1beta1.EtcdRestore
	var data map[string]string
	var had int64 // revision of the wrecked key space
	old, restored := []string{"wrecked-0", "wrecked-1", "wrecked-2"}, []string{"wrecked-3", "wrecked-4", "wrecked-5"}

	BeforeAll(func() {
		namespace := newNamespace()
		startOperator(namespace)
		c = newCluster(namespace, "wrecked")
		Expect(api.Create(ctx, c)).To(Succeed())
		newVolumeStore(namespace, "offsite")
		settles(c)
		data = fill(c)
		back(c, "offsite", "good")
		had = wreck(c)
	})

	It("say first what they would do, and do nothing", Label("gate"), func() {
		er = newRestore(c, "back", "good")
		Expect(api.Create(ctx, er)).To(Succeed())
		reaches(er, v1beta1.RestorePreviewed)
		p := er.Status.Preview
		Expect(p.Backup).To(Equal("good"))
		Expect(p.Keys).To(HaveValue(BeEquivalentTo(len(data))))
		Expect(p.LastVerificationDuration).NotTo(BeNil())
		Expect(p.Confirm).To(MatchRegexp(`^wrecked@[0-9]+->[0-9]+$`))
		confirm(er, p.Confirm+"0")
		stays(5*time.Second, func(g Gomega) { g.Expect(read(g, c).Status.Restore).To(BeNil()) })
		Expect(namesOf(c)).To(Equal(old))
	})

	It("fault 140: say which moments can be restored where no log follows the backup", func() {
		late := newRestore(c, "late", "good", func(spec *v1beta1.EtcdRestoreSpec) { spec.Target = &v1beta1.RestoreTarget{Revision: had} })
		same := newRestore(c, "same", "good", func(spec *v1beta1.EtcdRestoreSpec) {
			spec.Target = &v1beta1.RestoreTarget{Revision: er.Status.Preview.Revision}
		})
		Expect(api.Create(ctx, late)).To(Succeed())
		Expect(api.Create(ctx, same)).To(Succeed())
		Eventually(func(g Gomega) {
			readRestore(g, late)
			g.Expect(late.Status.Message).To(And(ContainSubstring("no log in the store leads on from that"), ContainSubstring("the nearest before")))
		}).Should(Succeed())
		reaches(same, v1beta1.RestorePreviewed)
		Expect(same.Status.Preview).To(And(HaveField("Revision", er.Status.Preview.Revision), HaveField("Log.Lineage", "")))
		for _, done := range []*v1beta1.EtcdRestore{late, same} {
			Expect(api.Delete(ctx, done)).To(Succeed())
		}
		stays(time.Second, func(g Gomega) { g.Expect(read(g, c).Status.Restore).To(BeNil()) })
	})

	It("back up what there is, and have other members take the place of the old ones", Label("gate"), func() {
		confirmed(er)
		reaches(er, v1beta1.RestoreComplete)
		settles(c)
		Expect(namesOf(c)).To(Equal(restored))
		begun := now(c).Status.Restore.RestoredAt
		for _, pod := range pods(c) {
			Expect(pod.CreationTimestamp.Time).NotTo(BeTemporally(">", begun.Time), "it has served beside the old members")
		}
		Expect(filled(c)).To(Equal(data))
		Expect(er.Status.SetAside).To(Equal(old))
		Expect(er.Status.UndoUntil.Time).To(BeTemporally("~", time.Now().Add(v1beta1.DefaultQuarantine), time.Hour))
		Expect(slices.Sorted(maps.Keys(putAside(c)))).To(Equal(old))
		Expect(revisionNow(c)).To(BeNumerically(">", had))
		Expect(compactedUpTo(c, had+1)).To(BeNumerically(">", had), "who watched the old members is told to list again")
		safety := &v1beta1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: "back-safety"}}
		isVerified(safety)
		Eventually(jobsOf).WithArguments(c.Namespace).Should(BeEmpty())
		tells(c, "RestorePlanned", "VolumesRestored", "MembersRestored", "Restored")
	})

	It("are shown by kubectl get with their columns", func() {
		table := asTable("etcdrestores", er)
		Expect(table.column("Cluster")).To(Equal("wrecked"))
		Expect(table.column("Backup")).To(Equal("good"))
		Expect(table.column("Revision")).To(BeEquivalentTo(er.Status.Preview.Revision))
		Expect(table.column("Phase")).To(Equal("Complete"))
	})

	It("leave a cluster that can be grown and shrunk", func() {
		resize(c, 5)
		resize(c, 3)
		Expect(filled(c)).To(Equal(data))
	})

	It("are undone at once where nobody watches: the old members come back with what they had", func() {
		changeRestore(er, func(spec *v1beta1.EtcdRestoreSpec) { spec.Undo, spec.UndoKeepRevisions = true, true })
		reaches(er, v1beta1.RestoreUndone)
		settles(c)
		Expect(namesOf(c)).To(Equal(old))
		Expect(filled(c)).To(Equal(map[string]string{"data/wrecked": "all of it"}))
		Expect(er.Status.SetAside).To(ContainElements(restored[0]))
		tells(c, "QuarantineLifted", "RestoreUndone")
	})

	It("bring back a cluster of which no member is left", func() {
		lose(c, old...)
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, "is the newest verified backup")
		again := newRestore(c, "again", "good", func(spec *v1beta1.EtcdRestoreSpec) { spec.SkipSafetyBackup = true })
		Expect(api.Create(ctx, again)).To(Succeed())
		reaches(again, v1beta1.RestorePreviewed)
		confirm(again, again.Status.Preview.Confirm)
		reaches(again, v1beta1.RestoreComplete)
		settles(c)
		Expect(filled(c)).To(Equal(data))
		discard(c)
	})
}

// isBackedUpAndRestored has a cluster backed up, wrecked, and brought back in place.
func isBackedUpAndRestored(c *v1beta1.EtcdCluster) {
	GinkgoHelper()
	data := fill(c)
	newVolumeStore(c.Namespace, "offsite")
	back(c, "offsite", "good")
	wreck(c)
	er := newRestore(c, "back", "good")
	Expect(api.Create(ctx, er)).To(Succeed())
	confirmed(er)
	reaches(er, v1beta1.RestoreComplete)
	settles(c)
	Expect(filled(c)).To(Equal(data))
}

// newRestore is one to a backup of the same namespace.
func newRestore(c *v1beta1.EtcdCluster, name, backup string, changes ...func(*v1beta1.EtcdRestoreSpec)) *v1beta1.EtcdRestore {
	er := &v1beta1.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name},
		Spec:       v1beta1.EtcdRestoreSpec{Cluster: c.Name, Backup: backup},
	}
	for _, change := range changes {
		change(&er.Spec)
	}
	return er
}

func readRestore(g Gomega, er *v1beta1.EtcdRestore) {
	g.Expect(api.Get(ctx, keyOf(er), er)).To(Succeed())
}

// reaches waits until a restore is that far.
func reaches(er *v1beta1.EtcdRestore, phase v1beta1.RestorePhase) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		readRestore(g, er)
		g.Expect(er.Status).To(HaveField("Phase", phase))
	}).Should(Succeed(), "restore %s to be %s", er.Name, phase)
}

func confirm(er *v1beta1.EtcdRestore, words string) {
	GinkgoHelper()
	changeRestore(er, func(spec *v1beta1.EtcdRestoreSpec) { spec.Confirm = words })
}

// confirmed has a restore begin. The cluster may go on meanwhile, so that the preview is made again.
func confirmed(er *v1beta1.EtcdRestore) {
	GinkgoHelper()
	reaches(er, v1beta1.RestorePreviewed)
	Eventually(func(g Gomega) {
		readRestore(g, er)
		confirm(er, er.Status.Preview.Confirm)
		g.Expect(er.Status.Phase).NotTo(Equal(v1beta1.RestorePreviewed))
	}).Should(Succeed())
}

func changeRestore(er *v1beta1.EtcdRestore, change func(*v1beta1.EtcdRestoreSpec)) {
	GinkgoHelper()
	Expect(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := api.Get(ctx, keyOf(er), er); err != nil {
			return err
		}
		change(&er.Spec)
		return api.Update(ctx, er)
	})).To(Succeed())
}

// wreck does what a bad client does: all keys go, and another one comes. It returns the revision.
func wreck(c *v1beta1.EtcdCluster) int64 {
	GinkgoHelper()
	ask(c, func(ctx context.Context, etcd *clientv3.Client) error {
		if _, err := etcd.Delete(ctx, "data/", clientv3.WithPrefix()); err != nil {
			return err
		}
		_, err := etcd.Put(ctx, "data/wrecked", "all of it")
		return err
	})
	return revisionNow(c)
}

func revisionNow(c *v1beta1.EtcdCluster) (revision int64) {
	GinkgoHelper()
	ask(c, func(ctx context.Context, etcd *clientv3.Client) error {
		response, err := etcd.Get(ctx, "data/", clientv3.WithCountOnly())
		if err == nil {
			revision = response.Header.Revision
		}
		return err
	})
	return revision
}

// compactedUpTo is what etcd tells to who goes on to watch from a revision; 0 if it takes that.
func compactedUpTo(c *v1beta1.EtcdCluster, from int64) (compacted int64) {
	GinkgoHelper()
	ask(c, func(ctx context.Context, etcd *clientv3.Client) error {
		limited, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		for response := range etcd.Watch(limited, "data/", clientv3.WithPrefix(), clientv3.WithRev(from), clientv3.WithCreatedNotify()) {
			if compacted = response.CompactRevision; compacted > 0 {
				break
			}
		}
		return nil
	})
	return compacted
}
