// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/age"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

// continuousLogs are what has every change in a store a moment after it was made.
func continuousLogs() {
	var c *v1beta1.EtcdCluster
	var first int64 // revision of the full backup

	BeforeAll(func() {
		namespace := newNamespace()
		startOperator(namespace)
		newVolumeStore(namespace, "offsite")
		c = create(newCluster(namespace, "logged", ofVersion("3.6.16"), func(spec *v1beta1.EtcdClusterSpec) {
			spec.Backup = &v1beta1.Backup{Store: "offsite", Verify: v1beta1.VerifyNever, Continuous: &v1beta1.Continuous{
				Flush: metav1.Duration{Duration: 200 * time.Millisecond},
			}}
		}))
		fill(c)
	})

	It("begin after a full backup, and have every change", Label("gate"), func() {
		isLogged(c, writeMore(c, "begun")) // the full backup itself may have that
		isLogged(c, writeMore(c, "after the full backup"))
		s := now(c).Status.Log
		first = s.From.Revision
		Expect(s.Gaps).To(BeEmpty())
		Expect(s.Base.Name).To(HavePrefix("logged-log-"))
		Expect(onlyBackup(Default, c, "logged-log-").Status.Revision).To(Equal(first))
		isWhole(c, 1)
		tells(c, "LogBegins")
		limit := logPod(c).Spec.Containers[0].Resources.Limits.Memory()
		Expect(limit.String()).To(Equal("96Mi"))
	})

	It("go on when nothing is written", func() {
		before := now(c).Status.Log.Until.Time
		Eventually(func(g Gomega) { g.Expect(read(g, c).Status.Log.Until.Time.After(before.Time)).To(BeTrue()) }).Should(Succeed())
	})

	It("fault 134: go on without a hole when their Pod is killed, and when members are replaced", func() {
		for n := range 2 {
			writeMore(c, fmt.Sprint("before-", n))
			pod := logPod(c)
			Expect(api.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
			isLogged(c, writeMore(c, fmt.Sprint("after-", n)))
			Expect(logPod(c).UID).NotTo(Equal(pod.UID))
		}
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Size = new(int32(1)) })).To(Succeed())
		settles(c)
		isLogged(c, writeMore(c, "alone"))
		s := now(c).Status.Log
		Expect(s.From.Revision).To(Equal(first))
		Expect(s.Gaps).To(BeEmpty())
		isWhole(c, 1)
	})

	It("fault 135: say that there is a gap when what follows was compacted, and go on after another full backup", func() {
		last := now(c).Status.Log.Until.Revision
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Paused = true })).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(podsOf(g, c.Namespace, client.MatchingLabels{v1beta1.LabelLogs: c.Name})).To(BeEmpty())
			g.Expect(logCurrent(g, c)).To(HaveField("Reason", v1beta1.ReasonPaused))
		}).Should(Succeed())
		lost := writeMore(c, "lost")
		ask(c, func(ctx context.Context, etcd *clientv3.Client) error {
			_, err := etcd.Compact(ctx, lost, clientv3.WithCompactPhysical())
			return err
		})
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Paused = false })).To(Succeed())
		isLogged(c, writeMore(c, "found"))
		s := now(c).Status.Log
		Expect(s.Gaps).To(HaveLen(1))
		Expect(s.Gaps[0].After.Revision).To(BeNumerically(">=", last))
		Expect(s.Gaps[0].Before.Revision).To(BeNumerically(">=", lost))
		Expect(s.From.Revision).To(Equal(s.Gaps[0].Before.Revision))
		Expect(logCurrent(Default, c)).To(HaveField("Message", ContainSubstring("no log has what was changed after revision")))
		tells(c, "LogInterrupted")
		isLogged(c, writeMore(c, "after the full backup"))
		isWhole(c, 2)
	})

	It("end when they are not wanted any more, and what was logged stays", func() {
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Backup.Continuous = nil })).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(podsOf(g, c.Namespace, client.MatchingLabels{v1beta1.LabelLogs: c.Name})).To(BeEmpty())
			g.Expect(read(g, c).Status.Log).To(Or(BeNil(), HaveField("Until", BeNil())))
		}).Should(Succeed())
		Expect(filepath.Glob(filepath.Join(folderOf(c.Namespace, "offsite"), "v1", c.Namespace, c.Name, "log", "*", "*"))).NotTo(BeEmpty())
	})
}

// writeMore writes some keys, and returns the revision of the last one.
func writeMore(c *v1beta1.EtcdCluster, prefix string) (revision int64) {
	GinkgoHelper()
	ask(c, func(ctx context.Context, etcd *clientv3.Client) error {
		for i := range 20 {
			written, err := etcd.Put(ctx, fmt.Sprintf("log/%s/%d", prefix, i), "x")
			if err != nil {
				return err
			}
			revision = written.Header.Revision
		}
		return nil
	})
	return revision
}

// logCurrent is the condition of the log.
func logCurrent(g Gomega, c *v1beta1.EtcdCluster) metav1.Condition {
	s := read(g, c).Status.Log
	g.Expect(s).NotTo(BeNil())
	return conditionIn(s.Conditions, v1beta1.ConditionLogCurrent)
}

// isLogged waits until the log has a revision, and says that it is current.
func isLogged(c *v1beta1.EtcdCluster, revision int64) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(logCurrent(g, c)).To(HaveField("Reason", v1beta1.ReasonLogCurrent))
		s := read(g, c).Status.Log
		g.Expect(s.Until.Revision).To(BeNumerically(">=", revision))
		g.Expect(s.From).NotTo(BeNil())
	}).Should(Succeed())
}

// logPod is the Pod that keeps the log.
func logPod(c *v1beta1.EtcdCluster) *corev1.Pod {
	GinkgoHelper()
	return &runningPods(c.Namespace, client.MatchingLabels{v1beta1.LabelLogs: c.Name})[0]
}

// isWhole reads the log in the store: it has so many runs, between which there are gaps, and nothing else is missing.
func isWhole(c *v1beta1.EtcdCluster, runs int) {
	GinkgoHelper()
	folder := log.Folder{Namespace: c.Namespace, Cluster: c.Name, Lineage: now(c).Status.Log.Lineage}
	files, err := filepath.Glob(filepath.Join(folderOf(c.Namespace, "offsite"), folder.String(), "*.segment"))
	Expect(err).NotTo(HaveOccurred())
	var all []log.Listed
	for _, file := range files {
		content, err := os.ReadFile(file)
		Expect(err).NotTo(HaveOccurred())
		name := folder.String() + "/" + filepath.Base(file)
		header, _, err := log.ParseHeader(name, content)
		Expect(err).NotTo(HaveOccurred())
		all = append(all, log.Listed{Object: name, Size: int64(len(content)), Header: header})
	}
	proven, err := log.Prove(folder, all)
	Expect(err).NotTo(HaveOccurred())
	Expect(proven).To(HaveLen(runs))
}

// restoresToASecond restore what a cluster had between two full backups, from an encrypted log.
func restoresToASecond() {
	var c *v1beta1.EtcdCluster
	var data map[string]string // that the cluster had at the noted time
	var noted time.Time
	var wrecked int64 // revision after the prefix was deleted
	identity := &v1beta1.SecretReference{Secret: "identity"}

	BeforeAll(func() {
		namespace := newNamespace()
		startOperator(namespace)
		newVolumeStore(namespace, "offsite")
		recipient := newIdentity(namespace, identity.Secret)
		c = create(newCluster(namespace, "busy", ofVersion("3.6.16"), func(spec *v1beta1.EtcdClusterSpec) {
			spec.Backup = &v1beta1.Backup{
				Store: "offsite", Verify: v1beta1.VerifyNever, Encryption: &v1beta1.BackupEncryption{Recipients: []string{recipient}},
				Continuous: &v1beta1.Continuous{Flush: metav1.Duration{Duration: 200 * time.Millisecond}},
			}
		}))
		isLogged(c, writeMore(c, "first"))
		fill(c) // after the full backup, so that it is in the log alone
		put(c, "data/000", "written again")
		data = filled(c)
		isLogged(c, revisionNow(c))
		time.Sleep(time.Second) // what is written now has come until then, by any clock of this machine
		noted = time.Now()
		time.Sleep(time.Second)
		wrecked = wreck(c)
		isLogged(c, wrecked)
	})

	It("have nothing of keys and values in the store that can be read", func() {
		folder := filepath.Join(folderOf(c.Namespace, "offsite"), "v1", c.Namespace, c.Name, "log")
		files, err := filepath.Glob(filepath.Join(folder, "*", "*.segment"))
		Expect(err).NotTo(HaveOccurred())
		Expect(files).NotTo(BeEmpty())
		for _, file := range files {
			content, err := os.ReadFile(file)
			Expect(err).NotTo(HaveOccurred())
			header, _, err := log.ParseHeader(strings.TrimPrefix(file, folderOf(c.Namespace, "offsite")+"/"), content)
			Expect(err).NotTo(HaveOccurred())
			Expect(header.Encryption).NotTo(BeNil())
		}
	})

	for _, name := range []string{"until-then", "before-delete"} {
		It("give a new cluster what there was, "+name, func() {
			to := v1beta1.RestoreTarget{BeforeDelete: "data/007"}
			if name == "until-then" {
				to = v1beta1.RestoreTarget{Time: noted.UTC().Format(time.RFC3339Nano)}
			}
			other := create(newCluster(c.Namespace, name, ofVersion("3.6.16"), oneMember, func(spec *v1beta1.EtcdClusterSpec) {
				spec.DeletionPolicy, spec.ExpiresAfter = v1beta1.Delete, &metav1.Duration{Duration: time.Hour}
				spec.Bootstrap = &v1beta1.BootstrapSpec{
					Restore: &v1beta1.Restore{Store: "offsite", Cluster: c.Name, Target: &to, Decryption: identity},
				}
			}))
			Expect(filled(other)).To(Equal(data))
			s := now(other).Status.Restore
			Expect(s.Log.Lineage).To(Equal(now(c).Status.Log.Lineage))
			Expect(s.Revision).To(And(BeNumerically(">", s.Log.BackupRevision), BeNumerically("<", wrecked)))
			Expect(edit(other, func(spec *v1beta1.EtcdClusterSpec) { spec.ExpiresAfter.Duration = time.Minute })).To(Succeed())
			isGone(other)
		})
	}

	It("tell by kubectl etcd log when keys were deleted, and what there was before", func() {
		etcd := kubectlEtcd(c.Namespace)
		output := etcd(0, "log", c.Name, "--prefix", "data/", "--deletes", "--since", noted.UTC().Format(time.RFC3339), "-o", "json",
			"--decryption", identity.Secret)
		deleted := map[string]string{}
		for line := range strings.Lines(output) {
			if strings.HasPrefix(line, "{") {
				change := parsed[loggedChange](line)
				Expect(change).To(And(HaveField("Type", "DELETE"), HaveField("KV.ModRevision", wrecked-1)))
				Expect(change.Time).To(BeTemporally(">", noted))
				deleted[string(change.KV.Key)] = string(change.Prev.Value)
			}
		}
		Expect(deleted).To(HaveLen(len(data)))
		output = etcd(0, "log", c.Name, "--key", "data/007", "--newest", "--limit", "1", "--decryption", identity.Secret)
		Expect(output).To(And(ContainSubstring("DELETE"), ContainSubstring(fmt.Sprint(wrecked-1))))
		Expect(output).To(ContainSubstring("1 change, as many as --limit"))
		output = etcd(0, "log", c.Name, "--prefix", "data/", "--state", "--before-delete", "data/007", "--decryption", identity.Secret)
		was := parsed[loggedState](output[strings.Index(output, `{"kvs"`):])
		before := map[string]string{}
		for _, kv := range was.KVs {
			before[string(kv.Key)] = string(kv.Value)
		}
		Expect(before).To(Equal(data))
		Expect(was.Header.Revision).To(Equal(wrecked - 2))
		Expect(etcd(1, "log", c.Name, "--key", "data/007")).To(ContainSubstring("--decryption"))
		var all batchv1.JobList
		Expect(api.List(ctx, &all, client.InNamespace(c.Namespace), client.HasLabels{v1beta1.LabelTask})).To(Succeed())
		for _, job := range all.Items {
			if job.DeletionTimestamp == nil {
				Expect(job.Labels[v1beta1.LabelTask]).NotTo(BeElementOf("search", "state"))
			}
		}
	})

	It("find a time after the last change, until which the log has everything", func() {
		Eventually(func(g Gomega) {
			g.Expect(read(g, c).Status.Log.Until.Time.After(noted.Add(10 * time.Second))).To(BeTrue())
		}).Should(Succeed())
		to := v1beta1.RestoreTarget{Time: now(c).Status.Log.Until.Time.UTC().Format(time.RFC3339)}
		er := newRestore(c, "at-the-end", "", func(spec *v1beta1.EtcdRestoreSpec) {
			spec.Store, spec.Target, spec.Decryption = "offsite", &to, identity
		})
		Expect(api.Create(ctx, er)).To(Succeed())
		reaches(er, v1beta1.RestorePreviewed)
		Expect(er.Status.Preview.Revision).To(Equal(wrecked))
		Expect(api.Delete(ctx, er)).To(Succeed())
	})

	It("bring a cluster back in place, whose log begins again under another name", Label("gate"), func() {
		before := now(c).Status.Log.Lineage
		to := v1beta1.RestoreTarget{BeforeDelete: "data/007"}
		er := newRestore(c, "before-the-mistake", "", func(spec *v1beta1.EtcdRestoreSpec) {
			spec.Store, spec.Target, spec.Decryption, spec.SkipSafetyBackup = "offsite", &to, identity, true
		})
		Expect(api.Create(ctx, er)).To(Succeed())
		reaches(er, v1beta1.RestorePreviewed)
		Expect(er.Status.Preview.Log.NextRevision).To(BeNumerically("<=", wrecked))
		confirmed(er)
		reaches(er, v1beta1.RestoreComplete)
		settles(c)
		Expect(filled(c)).To(Equal(data))
		isLogged(c, writeMore(c, "afterwards"))
		Expect(now(c).Status.Log.Lineage).NotTo(Equal(before))
		isLogged(c, writeMore(c, "after the full backup"))
		isWhole(c, 1)
	})

	It("bring back a prefix while members serve, and take that back", Label("gate"), func() { bringPrefixBack(c, identity) })
}

// loggedKey, loggedChange and loggedState are what kubectl etcd log writes as JSON.
type loggedKey struct {
	Key, Value  []byte
	ModRevision int64 `json:"mod_revision"`
}

type loggedChange struct {
	Time time.Time
	Type string
	KV   loggedKey
	Prev loggedKey `json:"prev_kv"`
}

type loggedState struct {
	Header struct{ Revision int64 }
	KVs    []loggedKey
}

// parsed is the JSON that a text begins with.
func parsed[T any](text string) (value T) {
	GinkgoHelper()
	Expect(json.NewDecoder(strings.NewReader(text)).Decode(&value)).To(Succeed(), "%s", text)
	return value
}

// newIdentity is a Secret with an identity of age, and returns the public key.
func newIdentity(namespace, name string) (recipient string) {
	GinkgoHelper()
	identity, err := age.GenerateX25519Identity()
	Expect(err).NotTo(HaveOccurred())
	newSecret(namespace, name, map[string]string{v1beta1.KeyIdentities: identity.String() + "\n"})
	return identity.Recipient().String()
}
