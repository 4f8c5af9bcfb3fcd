// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/rand"
	"fmt"
	"path/filepath"
	"strings"

	"filippo.io/age"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func secrecy() {
	It("I8: no secret is in the operator's log, in events, in the status or in Pods", func() {
		namespace := newNamespace()
		o := startOperator(namespace)
		c := create(newCluster(namespace, "discreet"))
		victim, _ := aFollower(c)
		deletePod(c, victim)
		comesBack(c, victim)
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Image = noImage })).To(Succeed())
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonMemberBlocked, noImage)

		places := map[string]string{"status": asText(now(c)), "pods": asText(pods(c))}
		var list eventsv1.EventList
		Expect(api.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
		Expect(list.Items).NotTo(BeEmpty())
		places["events"] = asText(list.Items)
		if o.command != nil {
			places["log"] = o.log()
			Expect(places["log"]).To(ContainSubstring("planned"))
		}
		secrets := privateLines(c)
		Expect(len(secrets)).To(BeNumerically(">=", 5))
		for place, text := range places {
			for _, secret := range secrets {
				Expect(strings.Contains(text, secret)).To(BeFalse(), "a line of a private key is in the "+place)
			}
			Expect(text).NotTo(ContainSubstring("PRIVATE KEY"), place)
		}
	})
	It("I8: no secret that a user gives is in anything that others see, or in the support bundle", Label("long"), func() {
		namespace := newNamespace()
		o := startOperator(namespace)
		jobs := gather(namespace)
		newVolumeStore(namespace, "offsite")
		identity, err := age.GenerateX25519Identity()
		Expect(err).NotTo(HaveOccurred())
		given := map[string]string{"the identity": identity.String()}
		newSecret(namespace, "identities", map[string]string{v1beta1.KeyIdentities: identity.String() + "\n"})
		decryption := &v1beta1.SecretReference{Secret: "identities"}
		c := create(newCluster(namespace, "sealed", oneMember, func(spec *v1beta1.EtcdClusterSpec) {
			spec.Backup = &v1beta1.Backup{
				Store: "offsite", Decryption: decryption,
				Encryption: &v1beta1.BackupEncryption{Recipients: []string{identity.Recipient().String()}},
			}
		}))
		data := fill(c)
		back(c, "offsite", "sealed")
		restored := create(newCluster(namespace, "opened", oneMember, func(spec *v1beta1.EtcdClusterSpec) {
			spec.Bootstrap = &v1beta1.BootstrapSpec{Restore: &v1beta1.Restore{Backup: "sealed", Decryption: decryption}}
		}))
		Expect(filled(restored)).To(Equal(data))

		keys := map[string]string{}
		for _, key := range []string{v1beta1.KeyAccessKeyID, v1beta1.KeySecretAccessKey, v1beta1.KeySessionToken} {
			keys[key] = "Canary" + rand.Text()
			given[key] = keys[key]
		}
		newSecret(namespace, "unreachable", keys)
		store := &v1beta1.EtcdBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "unreachable"}}
		store.Spec.S3 = &v1beta1.S3Store{
			Bucket: "bucket", Endpoint: "http://127.0.0.1:1", Credentials: &v1beta1.SecretReference{Secret: "unreachable"},
		}
		Expect(api.Create(ctx, store)).To(Succeed())
		storeSays(store, "Unreachable", "127.0.0.1:1")

		plugin := filepath.Join(GinkgoT().TempDir(), "kubectl-etcd")
		run("go", "build", "-o", plugin, filepath.Join(top, "cmd", "kubectl-etcd"))
		places := seen(o, c, restored)
		places["jobs, their pods and logs"] = jobs.text()
		Expect(places["jobs, their pods and logs"]).To(And(ContainSubstring("log of backup"), ContainSubstring("log of restore")))
		for _, name := range []string{"sealed", "opened"} {
			file := filepath.Join(GinkgoT().TempDir(), name+".tar.gz")
			run(plugin, "--namespace", namespace, "report", name, "-o", file)
			places["the report of "+name] = run("tar", "-xzOf", file)
		}
		for _, each := range []*v1beta1.EtcdCluster{c, restored} {
			for i, line := range privateLines(each) {
				given[fmt.Sprint("line ", i, " of the keys of ", each.Name)] = line
			}
		}
		for place, text := range places {
			for what, secret := range given {
				Expect(strings.Contains(text, secret)).To(BeFalse(), "%s is in %s", what, place)
			}
		}
	})
}

// seen is what others than who may read Secrets see in the namespace of these clusters.
func seen(o *operator, clusters ...*v1beta1.EtcdCluster) map[string]string {
	GinkgoHelper()
	places, namespace := map[string]string{}, clusters[0].Namespace
	for name, list := range map[string]client.ObjectList{
		"clusters": &v1beta1.EtcdClusterList{}, "backups": &v1beta1.EtcdBackupList{}, "stores": &v1beta1.EtcdBackupStoreList{},
		"pods": &corev1.PodList{}, "events": &eventsv1.EventList{},
	} {
		Expect(api.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		places[name] = asText(list)
	}
	if o.command != nil {
		places["the operator's log"] = o.log()
	}
	return places
}
