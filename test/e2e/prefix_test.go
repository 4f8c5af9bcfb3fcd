// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"maps"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// bringPrefixBack restores the keys below a prefix to what they were a moment ago, by the encrypted log of a cluster, while its members
// serve; and takes that back. What others write meanwhile stays.
func bringPrefixBack(c *v1beta1.EtcdCluster, identity *v1beta1.SecretReference) {
	GinkgoHelper()
	members, data := lives(c), filled(c)
	time.Sleep(time.Second) // what is written now has come until then, by any clock of this machine
	noted := time.Now()
	time.Sleep(time.Second)
	spoil(c)
	spoilt := filled(c)
	isLogged(c, revisionNow(c))

	By("a preview, by kubectl etcd")
	to := v1beta1.RestoreTarget{Time: noted.UTC().Format(time.RFC3339Nano)}
	output := kubectlEtcd(c.Namespace)(0, "restore", c.Name, "--store", "offsite", "--prefix", "data/", "--to-time", to.Time,
		"--decryption", identity.Secret, "--preview")
	Expect(output).To(And(ContainSubstring("create     1"), ContainSubstring("update     2"), ContainSubstring("delete     1"),
		ContainSubstring("unchanged  197"), ContainSubstring(`create "data/001"`), ContainSubstring(`delete "data/made-since"`)))

	var all v1beta1.EtcdRestoreList
	Expect(api.List(ctx, &all, client.InNamespace(c.Namespace))).To(Succeed())
	var er *v1beta1.EtcdRestore
	for i := range all.Items {
		if all.Items[i].Spec.Prefix != "" {
			er = &all.Items[i]
		}
	}
	Expect(er).NotTo(BeNil())
	Expect(er.Status.Preview.Confirm).NotTo(BeEmpty())
	put(c, "data/000", "of another")
	By("the restore")
	confirm(er, er.Status.Preview.Confirm)
	reaches(er, v1beta1.RestoreComplete)
	restored := maps.Clone(data)
	restored["data/000"] = "of another"
	Expect(filled(c)).To(Equal(restored))
	Expect(er.Status.Changes).To(HaveValue(And(HaveField("Created", int64(1)), HaveField("Updated", int64(1)), HaveField("Deleted", int64(1)),
		HaveField("Skipped", int64(1)), HaveField("Examples", ConsistOf(`update "data/000"`)))))
	Expect(value(c, "other/key")).To(Equal("stays"))

	By("the undo")
	put(c, "data/001", "written since")
	changeRestore(er, func(spec *v1beta1.EtcdRestoreSpec) { spec.Undo = true })
	reaches(er, v1beta1.RestoreUndone)
	spoilt["data/000"], spoilt["data/001"] = "of another", "written since"
	Expect(filled(c)).To(Equal(spoilt))
	Expect(lives(c)).To(Equal(members))
	Eventually(func(g Gomega) {
		var jobs batchv1.JobList
		g.Expect(api.List(ctx, &jobs, client.InNamespace(c.Namespace))).To(Succeed())
		for _, job := range jobs.Items {
			g.Expect(job.Labels[v1beta1.LabelTask]).NotTo(BeElementOf("compare", "apply", "revert"))
		}
	}).Should(Succeed())
}

// spoil changes two keys of the data, deletes one, and makes one, and another one elsewhere.
func spoil(c *v1beta1.EtcdCluster) {
	GinkgoHelper()
	ask(c, func(ctx context.Context, etcd *clientv3.Client) error {
		_, err := etcd.Txn(ctx).Then(
			clientv3.OpPut("data/000", "spoilt"), clientv3.OpDelete("data/001"), clientv3.OpPut("data/002", "spoilt"),
			clientv3.OpPut("data/made-since", "x"), clientv3.OpPut("other/key", "stays"),
		).Commit()
		return err
	})
}
