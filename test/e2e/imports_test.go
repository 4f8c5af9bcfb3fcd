// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// beginsWith has a cluster begin with what is in a ConfigMap, or in a Secret.
func beginsWith(from v1beta1.Import) func(*v1beta1.EtcdClusterSpec) {
	return func(spec *v1beta1.EtcdClusterSpec) { spec.Bootstrap = &v1beta1.BootstrapSpec{Import: &from} }
}

func theConfigMap(name string) v1beta1.Import {
	return v1beta1.Import{ConfigMapRef: &v1beta1.ImportReference{Name: name}, Prefix: "/shop/"}
}

func newConfigMap(namespace, name string, data map[string]string) *corev1.ConfigMap {
	GinkgoHelper()
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
	Expect(api.Create(ctx, made)).To(Succeed())
	return made
}

// hasImported waits until all keys are in etcd, and returns what the status says of it.
func hasImported(c *v1beta1.EtcdCluster) v1beta1.ImportStatus {
	GinkgoHelper()
	var done v1beta1.ImportStatus
	Eventually(func(g Gomega) {
		seen := read(g, c)
		g.Expect(conditionOf(seen, v1beta1.ConditionImported)).To(HaveField("Status", metav1.ConditionTrue))
		g.Expect(seen.Status.Import).NotTo(BeNil())
		done = *seen.Status.Import
	}).Should(Succeed())
	return done
}

// countOf is how many keys there are with a prefix.
func countOf(etcd *clientv3.Client, prefix string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found, err := etcd.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		return 0, err
	}
	return found.Count, nil
}

// diesWhileImporting kills the operator when it has written some of the keys of a cluster, and not all. On a busy machine all may be
// there before that is seen: then it is done again with another cluster.
func diesWhileImporting(o *operator, many int) (*v1beta1.EtcdCluster, *clientv3.Client) {
	GinkgoHelper()
	list := make([]map[string]string, many)
	for n := range list {
		list[n] = map[string]string{"key": fmt.Sprintf("%04d", n), "value": "ours"}
	}
	text, err := json.Marshal(list)
	Expect(err).NotTo(HaveOccurred())
	for n := range 10 {
		name := fmt.Sprintf("killed-%d", n)
		c := create(newCluster(o.namespace, name, beginsWith(theConfigMap(name))))
		etcd := as(c, c.ClientSecret())
		newConfigMap(o.namespace, name, map[string]string{"import.json": string(text)})
		Eventually(countOf).WithArguments(etcd, "/shop/").WithPolling(time.Millisecond).Should(BeNumerically(">", 0))
		o.kill()
		half, err := countOf(etcd, "/shop/")
		Expect(err).NotTo(HaveOccurred())
		if half < int64(many) {
			return c, etcd
		}
		o.restart()
		discard(c)
	}
	Fail("all keys were written before the operator was killed")
	return nil, nil
}

// imports are the keys that a new cluster begins with.
func imports() {
	var namespace string
	var o *operator

	BeforeEach(func() {
		namespace = newNamespace()
		o = startOperator(namespace)
	})

	It("fault 77: come from a ConfigMap that is made later and corrected, while the cluster serves; a key that is there is kept", func() {
		c := create(newCluster(namespace, "shop", beginsWith(theConfigMap("settings"))))
		says(c, v1beta1.ConditionImported, v1beta1.ReasonSourceMissing, "ConfigMap settings does not exist: create it")
		tells(c, v1beta1.ReasonSourceMissing)
		put(c, "/shop/currency", "USD")
		settings := newConfigMap(namespace, "settings", map[string]string{"currency": "EUR", "import.yaml": "- {key: mail/from}"})
		says(c, v1beta1.ConditionImported, v1beta1.ReasonEntryInvalid, `item 1 of entry "import.yaml"`)
		settings.Data["import.yaml"] = "- {key: mail/from, value: shop@example.com}\n- {key: logo, valueBase64: AAEC}\n"
		Expect(api.Update(ctx, settings)).To(Succeed())
		done := hasImported(c)
		Expect(done).To(And(HaveField("Keys", int32(3)), HaveField("Kept", int32(1))))
		tells(c, v1beta1.ConditionImported)
		Expect(value(c, "/shop/currency")).To(Equal("USD"))
		Expect(value(c, "/shop/mail/from")).To(Equal("shop@example.com"))
		Expect(value(c, "/shop/logo")).To(Equal("\x00\x01\x02"))
		settles(c)
	})

	It("come from a Secret, also where only users are let in, and are told nowhere", Label("gate", "long"), func() {
		const secret = "correct-horse-battery"
		Expect(api.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "keys"}, StringData: map[string]string{"password": secret},
		})).To(Succeed())
		from := v1beta1.Import{SecretRef: &v1beta1.ImportReference{Name: "keys"}}
		usersOnly := func(spec *v1beta1.EtcdClusterSpec) { spec.Auth.Enabled = true }
		c := create(newCluster(namespace, "private", oneMember, usersOnly, beginsWith(from)))
		hasImported(c)
		authIs(c, metav1.ConditionTrue)
		root := as(c, c.RootSecret())
		found, err := root.Get(ctx, "password")
		Expect(err).NotTo(HaveOccurred())
		Expect(found.Kvs).To(HaveLen(1))
		Expect(string(found.Kvs[0].Value)).To(Equal(secret))
		Expect(asText(now(c))).NotTo(ContainSubstring(secret))
		Expect(notesOf(Default, c)).NotTo(ContainElement(ContainSubstring(secret)))
		if !useDeployed {
			Expect(o.log()).NotTo(ContainSubstring(secret))
		}
	})

	It("do not come from a Secret that the operator has made", Label("long"), func() {
		c := create(newCluster(namespace, "curious", oneMember, beginsWith(v1beta1.Import{
			SecretRef: &v1beta1.ImportReference{Name: "curious-client-ca"},
		})))
		says(c, v1beta1.ConditionImported, v1beta1.ReasonSourceRefused, "the operator has made it")
	})

	It("fault 1: are all there after an operator that was killed, and what a client has changed meanwhile is kept", Label("long"), func() {
		needsOwnOperator()
		const many = 8000
		c, etcd := diesWhileImporting(o, many)
		put(c, "/shop/0000", "theirs")
		put(c, "/shop/7999", "theirs")
		o.restart()
		Expect(hasImported(c)).To(HaveField("Keys", int32(many)))
		Expect(countOf(etcd, "/shop/")).To(BeEquivalentTo(many))
		Expect(value(c, "/shop/0000")).To(Equal("theirs"))
		Expect(value(c, "/shop/7999")).To(Equal("theirs"))
		Expect(value(c, "/shop/4000")).To(Equal("ours"))
	})

	It("happen once: not to a cluster that is adopted with its data", Label("long"), func() {
		retained := func(spec *v1beta1.EtcdClusterSpec) { spec.DeletionPolicy = v1beta1.Retain }
		newConfigMap(namespace, "settings", map[string]string{"a": "ours", "b": "ours"})
		c := create(newCluster(namespace, "kept", oneMember, retained, beginsWith(theConfigMap("settings"))))
		hasImported(c)
		ask(c, func(ctx context.Context, etcd *clientv3.Client) error {
			_, err := etcd.Delete(ctx, "/shop/a")
			return err
		})
		remove(c)
		again := create(newCluster(namespace, "kept", oneMember, retained, beginsWith(theConfigMap("settings"))))
		says(again, v1beta1.ConditionImported, v1beta1.ReasonDataPresent, "nothing is imported")
		etcd := as(again, again.ClientSecret())
		stays(3*time.Second, func(g Gomega) {
			count, err := countOf(etcd, "/shop/")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(count).To(BeEquivalentTo(1))
		})
		discard(again)
	})
}
