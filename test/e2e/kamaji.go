// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
)

// A kamaji makes control planes in an etcd as Kamaji does: as root, with certificates that it signs
// (https://github.com/clastix/kamaji/blob/master/internal/datastore/etcd.go).
type kamaji struct {
	c         *v1beta1.EtcdCluster
	address   string
	authority pki.Pair
	root      *clientv3.Client
}

// newKamaji reads what a DataStore of its page names.
func newKamaji(c *v1beta1.EtcdCluster) *kamaji {
	GinkgoHelper()
	var store kamajiConfig
	for _, block := range recipeBlocks("kamaji.md") {
		if strings.Contains(block.Text, "kind: DataStore") {
			Expect(yaml.Unmarshal([]byte(block.Text), &store)).To(Succeed())
		}
	}
	Expect(store.Spec.Endpoints).To(ConsistOf(c.ClientService() + ".default.svc:2379"))
	file := func(of kamajiFile) []byte {
		return secretNamed(c, of.SecretReference.Name).Data[of.SecretReference.KeyPath]
	}
	k := &kamaji{c: c, address: forward(c)}
	k.authority = pki.Pair{CertPEM: file(store.Spec.TLS.Authority.Certificate), KeyPEM: file(store.Spec.TLS.Authority.PrivateKey)}
	k.root = k.client(pki.Pair{CertPEM: file(store.Spec.TLS.Client.Certificate), KeyPEM: file(store.Spec.TLS.Client.PrivateKey)})
	return k
}

func (k *kamaji) client(of pki.Pair) *clientv3.Client {
	GinkgoHelper()
	pair, err := tls.X509KeyPair(of.CertPEM, of.KeyPEM)
	Expect(err).NotTo(HaveOccurred())
	pool := x509.NewCertPool()
	Expect(pool.AppendCertsFromPEM(k.authority.CertPEM)).To(BeTrue())
	return connected(clientv3.Config{
		Endpoints: []string{k.address}, TLS: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
	})
}

// tenant makes the user and the role of a control plane, and signs its certificate.
func (k *kamaji) tenant(name string) pki.Pair {
	GinkgoHelper()
	key := "/" + name + "/"
	_, err := k.root.UserAddWithOptions(ctx, name, "", &clientv3.UserAddOptions{NoPassword: true})
	Expect(err).NotTo(HaveOccurred())
	_, err = k.root.RoleAdd(ctx, name)
	Expect(err).NotTo(HaveOccurred())
	_, err = k.root.RoleGrantPermission(ctx, name, key, clientv3.GetPrefixRangeEnd(key), clientv3.PermissionType(clientv3.PermReadWrite))
	Expect(err).NotTo(HaveOccurred())
	_, err = k.root.UserGrantRole(ctx, name, name)
	Expect(err).NotTo(HaveOccurred())
	pair, err := pki.Issue(rand.Reader, time.Now(), k.authority, pki.Request{CommonName: name, Client: true, Lifetime: time.Hour})
	Expect(err).NotTo(HaveOccurred())
	return pair
}

// apiServer is that of a control plane.
func (k *kamaji) apiServer(name string, of pki.Pair) *kubeAPIServer {
	GinkgoHelper()
	folder := GinkgoT().TempDir()
	for file, text := range map[string][]byte{"ca.crt": k.authority.CertPEM, "server.crt": of.CertPEM, "server.key": of.KeyPEM} {
		Expect(os.WriteFile(filepath.Join(folder, file), text, 0o600)).To(Succeed())
	}
	flags := etcdFlags("https://"+k.address, folder+"/ca.crt", folder+"/server.crt", folder+"/server.key")
	flags["etcd-prefix"], flags["etcd-compaction-interval"] = "/"+name, "0"
	return runKubeAPIServer(flags)
}

func followKamaji() {
	namespace := newNamespace()
	startOperator(namespace)
	DeferCleanup(usersGo, namespace)
	c := createRecipeCluster(namespace, "kamaji.md", "kamaji")
	authIs(c, metav1.ConditionTrue)
	Expect(c.Status.Profile.Overridden).To(ConsistOf("etcd.autoCompaction"))
	k := newKamaji(c)
	_, err := k.root.AuthStatus(ctx)
	Expect(err).NotTo(HaveOccurred())
	one, two := k.tenant("default_one"), k.tenant("default_two")
	k.apiServer("default_one", one).fill("of-one", 5)
	tenant := k.client(two)
	Expect(puts(tenant, "/default_two/a")()).To(Succeed())
	_, err = tenant.Get(ctx, "/default_one/", clientv3.WithPrefix())
	Expect(err).To(refuses(), "keys of another tenant")
	Expect(puts(tenant, "compact_rev_key")()).To(refuses(), "by which API servers agree on compaction")
	_, err = tenant.Compact(ctx, 2)
	Expect(err).To(refuses(), "which only root may")
	users, err := k.root.UserList(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(users.Users).To(ContainElements("default_one", "default_two"), "which the operator leaves alone")
}
