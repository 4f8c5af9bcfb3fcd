// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func storeAway() {
	It("fault 56: is waited for: etcd serves, one backup waits, the store is asked less and less, and it is made in the end", func() {
		away := lasting("E2E_STORE_DOWN")
		namespace := newNamespace()
		o := startOperator(namespace)
		server := startS3()
		store := newS3Store(server, namespace, "offsite")
		canBeUsed(store)
		c := create(newCluster(namespace, "source"))
		data := fill(c)
		Expect(edit(c, everyMinute)).To(Succeed())
		had := verifiedAfter(c, "")
		lived := uids(c)

		server.stop()
		storeSays(store, v1beta1.ReasonStoreUnreachable, "")
		started := time.Now()
		By("the store is away since " + started.Format(time.TimeOnly) + ", for " + away.String())
		time.Sleep(away / 2)
		o.restart()
		asked := jobsWhileServing(c, away-time.Since(started))
		Expect(conditionIn(now(c).Status.Backup.Conditions, v1beta1.ConditionBackedUp)).To(HaveField("Status", metav1.ConditionFalse))
		Expect(unfinished(c)).To(BeNumerically("<=", 1))
		Expect(asked).To(BeNumerically("<=", 4+int(away/2/(5*time.Minute))), "Jobs in the second half")
		Expect(uids(c)).To(Equal(lived))

		server.start()
		newest := verifiedAfter(c, had)
		verifiedAfter(c, newest)
		canBeUsed(store)
		Expect(unfinished(c)).To(BeNumerically("<=", 1))
		AddReportEntry("store", fmt.Sprintf("away for %s, asked by %d Jobs in the second half", away, asked))
		Expect(filled(c)).To(Equal(data))
	})
}

// unfinished is how many backups of the cluster have neither been written nor failed.
func unfinished(c *v1beta1.EtcdCluster) (count int) {
	GinkgoHelper()
	for _, b := range backupsOf(Default, c.Namespace) {
		if b.Status.Phase != v1beta1.BackupComplete && b.Status.Phase != v1beta1.BackupFailed {
			count++
		}
	}
	return count
}

// jobsWhileServing is how many Jobs there are in the cluster's namespace, one after the other, while it serves.
func jobsWhileServing(c *v1beta1.EtcdCluster, during time.Duration) int {
	GinkgoHelper()
	seen := map[string]bool{}
	for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(time.Second) {
		Expect(value(c, "data/001")).To(Equal("1 squared is 1"))
		for _, name := range jobsOf(Default, c.Namespace) {
			seen[name] = true
		}
	}
	return len(seen)
}
