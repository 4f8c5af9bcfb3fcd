// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/test/docs/runbook"
)

// mounts are the folders at which recipes mount the Secret of their EtcdUser.
var mounts = []string{"/etc/etcd", "/var/lib/etcd-secrets"}

// A recipe is a page of docs/recipes whose objects are there, in a namespace of a spec.
type recipe struct {
	page    string
	c       *v1beta1.EtcdCluster
	user    *v1beta1.EtcdUser
	secret  *corev1.Secret
	folder  string // has what a Pod finds where it mounts the Secret
	address string // of this machine, from which connections go on to members
	blocks  []runbook.Block
	here    *strings.Replacer // of what the page says of a Pod in the namespace default, by what is true here
}

// follow creates the EtcdUser and the EtcdRole of a page as they stand there, and mounts the Secret.
func followRecipe(c *v1beta1.EtcdCluster, page string) *recipe {
	GinkgoHelper()
	r := &recipe{page: page, c: c, folder: GinkgoT().TempDir(), address: forward(c), blocks: recipeBlocks(page)}
	for _, object := range ourObjects(page) {
		object.SetNamespace(c.Namespace)
		Expect(api.Create(ctx, object)).To(Succeed())
		if object.GetKind() == "EtcdUser" {
			r.user = &v1beta1.EtcdUser{}
			r.user.Namespace, r.user.Name = object.GetNamespace(), object.GetName()
		}
	}
	isInPlace(r.user)
	Expect(r.user.Spec.Cluster).To(Equal(c.Name))
	r.secret = secretNamed(c, r.user.Status.Binding.Name)
	for key, value := range r.secret.Data {
		Expect(os.WriteFile(filepath.Join(r.folder, key), value, 0o600)).To(Succeed())
	}
	host := c.ClientService() + ".default.svc"
	replaced := []string{host + ":2379", r.address, host, c.ClientService() + "." + c.Namespace + ".svc"}
	for _, mount := range mounts {
		replaced = append(replaced, mount+"/", r.folder+"/")
	}
	r.here = strings.NewReplacer(replaced...)
	return r
}

func recipeBlocks(page string) []runbook.Block {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(top, "docs", "recipes", page))
	Expect(err).NotTo(HaveOccurred())
	return runbook.Blocks(string(text))
}

// ourObjects are those of our kinds that a page says to create.
func ourObjects(page string) []*unstructured.Unstructured {
	GinkgoHelper()
	var all []*unstructured.Unstructured
	for _, block := range recipeBlocks(page) {
		if block.Language != "yaml" || !strings.Contains(block.Text, "apiVersion: "+v1beta1.GroupVersion.String()) {
			continue
		}
		for _, document := range strings.Split(block.Text, "\n---\n") {
			object := &unstructured.Unstructured{}
			Expect(yaml.UnmarshalStrict([]byte(document), &object.Object)).To(Succeed())
			all = append(all, object)
		}
	}
	Expect(all).NotTo(BeEmpty(), page)
	return all
}

// createRecipeCluster creates an EtcdCluster of a page as it stands there, and waits for it.
func createRecipeCluster(namespace, page, name string) *v1beta1.EtcdCluster {
	GinkgoHelper()
	for _, object := range ourObjects(page) {
		if object.GetKind() != "EtcdCluster" || object.GetName() != name {
			continue
		}
		object.SetNamespace(namespace)
		Expect(api.Create(ctx, object)).To(Succeed())
		c := newCluster(namespace, name)
		settles(c)
		Expect(api.Get(ctx, keyOf(c), c)).To(Succeed())
		return c
	}
	Fail(page + " has no EtcdCluster " + name)
	return nil
}

// text is the block of a page that has these words, with what is true here. The Secret that it names must be that of its EtcdUser.
func (r *recipe) text(words string) string {
	GinkgoHelper()
	for _, block := range r.blocks {
		if strings.Contains(block.Text, words) && !strings.Contains(block.Text, "apiVersion: "+v1beta1.GroupVersion.String()) {
			if strings.Contains(block.Text, "secretName: ") {
				Expect(block.Text).To(MatchRegexp(`secretName: ` + r.secret.Name + `\b`))
			}
			return r.here.Replace(block.Text)
		}
	}
	Fail(r.page + " has no block with " + words)
	return ""
}

// settings reads the block that has these words.
func (r *recipe) settings(words string, into any) {
	GinkgoHelper()
	Expect(yaml.Unmarshal([]byte(r.text(words)), into)).To(Succeed())
}

// A podContainer is what pages say of the container of a Pod.
type podContainer struct {
	Args []string `json:"args"`
	Env  []struct {
		Name      string               `json:"name"`
		Value     string               `json:"value"`
		ValueFrom *corev1.EnvVarSource `json:"valueFrom"`
	} `json:"env"`
}

// container is the one of a page.
func (r *recipe) container() podContainer {
	GinkgoHelper()
	var pod struct {
		Containers []podContainer `json:"containers"`
	}
	r.settings("containers:\n", &pod)
	Expect(pod.Containers).To(HaveLen(1))
	return pod.Containers[0]
}

// environment is that of a container, with what the Secret has.
func (r *recipe) environment() map[string]string {
	GinkgoHelper()
	all := map[string]string{}
	for _, variable := range r.container().Env {
		all[variable.Name] = variable.Value
		if from := variable.ValueFrom; from != nil {
			Expect(from.SecretKeyRef.Name).To(Equal(r.secret.Name))
			Expect(r.secret.Data).To(HaveKey(from.SecretKeyRef.Key))
			host := r.c.ClientService() + "." + r.c.Namespace + ".svc:2379"
			all[variable.Name] = strings.ReplaceAll(string(r.secret.Data[from.SecretKeyRef.Key]), host, r.address)
		}
	}
	return all
}

// fromFiles is the TLS configuration of three files, as a client makes one of them.
func fromFiles(ca, cert, key string) *tls.Config {
	GinkgoHelper()
	pair, err := tls.LoadX509KeyPair(cert, key)
	Expect(err).NotTo(HaveOccurred())
	text, err := os.ReadFile(ca)
	Expect(err).NotTo(HaveOccurred())
	pool := x509.NewCertPool()
	Expect(pool.AppendCertsFromPEM(text)).To(BeTrue())
	return &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}
}

// has wants the data of a Secret under another key to be that of a usual one.
func (r *recipe) has(key, usual string) {
	GinkgoHelper()
	Expect(bytes.Equal(r.secret.Data[key], r.secret.Data[usual])).To(BeTrue(), "%s of Secret %s", key, r.secret.Name)
}
