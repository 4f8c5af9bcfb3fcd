// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// A backup of unpackable MiB takes a minute at this many bytes per second: long enough that something happens meanwhile. It is more
// than the slowest rate at which requests are waited for.
const (
	unpackable = 12
	leisurely  = 200 << 10
)

func faultsOfStores() {
	var c *v1beta1.EtcdCluster
	var o *operator
	var server *s3Server
	var way *link
	var store *v1beta1.EtcdBackupStore
	var data map[string]string

	BeforeAll(func() {
		namespace := newNamespace()
		o = startOperator(namespace)
		server = startS3()
		way = newLink(server.address)
		c = create(newCluster(namespace, "source"))
		data = fill(c)
		putUnpackable(c, unpackable)
		store = newS3Store(server, namespace, "s3", func(s3 *v1beta1.S3Store) { s3.Endpoint = "http://" + way.address })
		canBeUsed(store)
	})

	AfterEach(func() { way.limit(0) })

	It("fault 56: at 1 KB per second are given up in time, and used when they are well", func() {
		way.limit(1 << 10)
		slowed := newBackup(c, "s3", "slowed")
		Expect(api.Create(ctx, slowed)).To(Succeed())
		Eventually(func(g Gomega) {
			readBackup(g, slowed)
			g.Expect(conditionIn(slowed.Status.Conditions, v1beta1.ConditionComplete).Message).To(ContainSubstring("less than 128 KiB per second"))
		}).Should(Succeed())
		Expect(value(c, "data/001")).To(Equal("1 squared is 1"))
		way.limit(0)
		isVerifiedIn(8*time.Minute, slowed)
	})

	It("fault 60: get a whole backup from the next attempt when the Pod of one is evicted", func() {
		way.limit(leisurely)
		evicted := newBackup(c, "s3", "evicted")
		Expect(api.Create(ctx, evicted)).To(Succeed())
		pod := runningPodOf(evicted)
		Expect(api.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		})).To(Succeed())
		way.limit(0)
		isVerifiedIn(8*time.Minute, evicted)
		Expect(reasonsAbout(Default, evicted)).To(ContainElement("BackupFailed"))
	})

	It("fault 60: get a whole backup from the next attempt when the Pod of one runs out of memory", func() {
		way.limit(leisurely)
		starved := newBackup(c, "s3", "starved")
		Expect(api.Create(ctx, starved)).To(Succeed())
		pod := runningPodOf(starved)
		starve(pod)
		backupSays(starved, v1beta1.ConditionComplete, v1beta1.ReasonRetrying, "OOMKilled")
		way.limit(0)
		isVerifiedIn(8*time.Minute, starved)
	})

	It("get a backup of what serves again when all members were killed during the snapshot", func() {
		way.limit(leisurely)
		orphan := newBackup(c, "s3", "orphan")
		Expect(api.Create(ctx, orphan)).To(Succeed())
		runningPodOf(orphan)
		killAtOnce(c, "source-0", "source-1", "source-2")
		way.limit(0)
		isVerifiedIn(8*time.Minute, orphan)
		Expect(orphan.Status.Keys).To(HaveValue(BeEquivalentTo(len(data) + unpackable)))
	})

	It("fault 57: take new keys also in the middle of a backup", func() {
		way.limit(leisurely)
		changed := newBackup(c, "s3", "changed")
		Expect(api.Create(ctx, changed)).To(Succeed())
		runningPodOf(changed)
		server.stop()
		server.secret = "second-secret"
		server.start()
		way.limit(0)
		storeSays(store, "Forbidden", "")
		newSecret(c.Namespace, "s3", server.keys())
		isVerifiedIn(8*time.Minute, changed)
	})

	It("fault 56: that can only be read say so; backups wait, and restores are made", func() {
		back(c, "s3", "earlier")
		server.restart("--readonly")
		DeferCleanup(func() { server.restart() })
		waiting := newBackup(c, "s3", "waiting")
		Expect(api.Create(ctx, waiting)).To(Succeed())
		storeSays(store, "Forbidden", "")
		restored := newCluster(c.Namespace, "restored", restoring("earlier"), oneMember)
		Expect(filled(create(restored))).To(Equal(data))
		discard(restored)
		server.restart()
		isVerifiedIn(8*time.Minute, waiting)
	})

	It("fault 56: of another region are said to be that, until the region is corrected", func() {
		elsewhere := newS3Store(server, c.Namespace, "elsewhere", func(s3 *v1beta1.S3Store) { s3.Region, s3.Prefix = "eu-central-1", "other" })
		Eventually(func(g Gomega) {
			g.Expect(api.Get(ctx, keyOf(elsewhere), elsewhere)).To(Succeed())
			g.Expect(conditionIn(elsewhere.Status.Conditions, v1beta1.ConditionReady)).To(And(
				HaveField("Status", metav1.ConditionFalse), HaveField("Message", ContainSubstring("us-east-1"))))
		}).Should(Succeed())
		changeStore(elsewhere, func(spec *v1beta1.EtcdBackupStoreSpec) { spec.S3.Region = "us-east-1" })
		canBeUsed(elsewhere)
	})

	It("fault 56: whose certificate nobody trusts are said to be that, until their authority is named", func() {
		encrypted, folder := startS3(), GinkgoT().TempDir()
		host, _, _ := net.SplitHostPort(encrypted.address)
		keepCertificates(folder, net.ParseIP(host))
		encrypted.restart("--cert", filepath.Join(folder, "tls.crt"), "--key", filepath.Join(folder, "tls.key"))
		untrusted := newS3Store(encrypted, c.Namespace, "untrusted", func(s3 *v1beta1.S3Store) { s3.Endpoint = "https://" + encrypted.address })
		storeSays(untrusted, v1beta1.ReasonStoreUntrusted, "")
		authority, err := os.ReadFile(filepath.Join(folder, "cas", "ca.crt"))
		Expect(err).NotTo(HaveOccurred())
		newSecret(c.Namespace, "authority", map[string]string{"ca.crt": string(authority)})
		changeStore(untrusted, func(spec *v1beta1.EtcdBackupStoreSpec) { spec.S3.CA = &v1beta1.CASource{Secret: "authority"} })
		canBeUsed(untrusted)
		back(c, "untrusted", "encrypted")
	})

	It("fault 56: that fail in the middle of a restore in place stop no member, and it goes on when they are back", func() {
		back(c, "s3", "good")
		had := namesOf(c)
		wreck(c)
		way.limit(leisurely)
		er := newRestore(c, "interrupted", "good", func(spec *v1beta1.EtcdRestoreSpec) { spec.SkipSafetyBackup = true })
		Expect(api.Create(ctx, er)).To(Succeed())
		confirmed(er)
		killed := fillingPods(c)
		for _, pod := range killed {
			Expect(api.Delete(ctx, &pod)).To(Succeed())
		}
		o.restart()
		server.stop()
		stays(10*time.Second, func(g Gomega) { g.Expect(namesOf(c)).To(Equal(had)) })
		Expect(value(c, "data/wrecked")).To(Equal("all of it"))
		way.limit(0)
		server.start()
		Eventually(func(g Gomega) {
			readRestore(g, er)
			g.Expect(er.Status.Phase).To(Equal(v1beta1.RestoreComplete))
		}).WithTimeout(10 * time.Minute).Should(Succeed())
		settles(c)
		Expect(filled(c)).To(Equal(data))
		Expect(slices.Equal(namesOf(c), had)).To(BeFalse())
	})

	It("fault 56: that are full say so, and are written to when there is room", func() {
		full := newVolumeStore(c.Namespace, "full")
		makeRoom := fillVolume(c.Namespace, "full")
		waiting := newBackup(c, "full", "large")
		Expect(api.Create(ctx, waiting)).To(Succeed())
		storeSays(full, "Full", "")
		makeRoom()
		isVerifiedIn(8*time.Minute, waiting)
	})

	It("fault 56: that forbid deletion keep what is locked, and say until when", func() {
		server.newBucket("locked", true)
		newS3Store(server, c.Namespace, "locked", func(s3 *v1beta1.S3Store) {
			s3.Bucket, s3.Lock = "locked", &v1beta1.S3Lock{Mode: v1beta1.LockGovernance, Days: 1}
		})
		kept := back(c, "locked", "kept", func(spec *v1beta1.EtcdBackupSpec) { spec.DeletionPolicy = v1beta1.DeleteBackup })
		Expect(kept.Status.LockedUntil.Time).To(BeTemporally("~", time.Now().Add(24*time.Hour), time.Hour))
		Expect(api.Delete(ctx, kept)).To(Succeed())
		stays(10*time.Second, func(g Gomega) { readBackup(g, kept) })
		Expect(kept.Status.Phase).To(Equal(v1beta1.BackupDeleting))
		Expect(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			readBackup(Default, kept)
			kept.Spec.DeletionPolicy = v1beta1.RetainBackup
			return api.Update(ctx, kept)
		})).To(Succeed())
		Eventually(func() error { return api.Get(ctx, keyOf(kept), kept) }).ShouldNot(Succeed())
	})
}
