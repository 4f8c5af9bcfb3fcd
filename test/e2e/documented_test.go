// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/test/docs/runbook"
)

// documented runs what pages tell people to type, as it stands there, one page after the other on the cluster that the first page creates.
// What depends on the moment is replaced: a revision, a confirmation.
func documented() {
	var shell typist
	var c *v1beta1.EtcdCluster

	BeforeAll(func() {
		namespace := newNamespace()
		startOperator(namespace)
		shell = newTypist(namespace)
		newVolumeStore(namespace, "offsite")
		c = newCluster(namespace, "example")
	})

	It("creates a cluster", Label("gate"), func() {
		shell.follow(`docs/operations/create.md`, nil)
		settles(c)
	})

	It("makes room in a database", Label("gate"), func() {
		put(c, "cache/a", "b")
		put(c, "key", "value")
		shell.follow(`docs/operations/by-hand.md`, func(script string) string {
			return strings.ReplaceAll(script, "1234", fmt.Sprint(revision(c)))
		})
		Expect(value(c, "cache/a")).To(BeEmpty())
		Expect(value(c, "key")).To(Equal("value"))
	})

	It("changes settings", func() {
		shell.follow(`docs/operations/roll.md`, nil)
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Paused = false })).To(Succeed())
		settles(c)
	})

	It("looks around, restarts a member, and replaces one", func() {
		for _, page := range []string{
			`docs/operations/stores.md`, `docs/operations/certificates.md`, `docs/operations/operator.md`, `docs/operations/upgrade.md`,
			`docs/operations/recover-quorum.md`, `docs/operations/nodes.md`,
		} {
			shell.follow(page, nil)
			settles(c)
		}
		shell.follow(`docs/operations/replace.md`, nil)
		settles(c)
	})

	It("changes the size, hibernates and wakes", func() {
		shell.follow(`docs/operations/scale.md`, nil)
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { *spec.Size = 3 })).To(Succeed())
		settles(c)
		Expect(value(c, "key")).To(Equal("value"))
	})

	It("backs up, restores in place, undoes that, and begins another cluster with the backup", func() {
		shell.follow(`docs/operations/backup.md`, nil)
		put(c, "later", "than the backup")
		shell.follow(`docs/operations/restore.md`, func(script string) string {
			er := &v1beta1.EtcdRestore{}
			er.Namespace, er.Name = c.Namespace, "back-to-monday"
			if api.Get(ctx, client.ObjectKeyFromObject(er), er) != nil || er.Status.Preview == nil {
				return script
			}
			return strings.ReplaceAll(script, "example@50877->48213", er.Status.Preview.Confirm)
		})
		settles(c)
		Expect(value(c, "key")).To(Equal("value"))
	})

	It("lets only users in, and lets the administrator act as root", func() {
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Auth.Enabled = true })).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(conditionOf(read(g, c), v1beta1.ConditionAuthEnabled)).To(HaveField("Status", metav1.ConditionTrue))
		}).Should(Succeed())
		Expect(shell.tries("kubectl exec example-0 -- etcdctl alarm disarm")).To(MatchError(ContainSubstring("exit status")),
			"etcdctl in a member's Pod is no user, so that the page is needed")
		shell.follow(`docs/operations/users.md`, nil)
		var pods corev1.PodList
		Expect(api.List(ctx, &pods, client.InNamespace(c.Namespace))).To(Succeed())
		for _, p := range pods.Items {
			Expect(p.Name).NotTo(Equal("example-as-root"), "the page deletes it")
		}
	})
}

// A typist has a folder, in which kubectl means a namespace.
type typist struct{ folder, kubeconfig string }

func newTypist(namespace string) typist {
	GinkgoHelper()
	t := typist{folder: GinkgoT().TempDir()}
	t.kubeconfig = filepath.Join(t.folder, "kubeconfig")
	text, err := os.ReadFile(os.Getenv("KUBECONFIG"))
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(t.kubeconfig, text, 0o600)).To(Succeed())
	t.types("kubectl config set-context --current --namespace=" + namespace)
	return t
}

// follow runs the blocks of a page, but those that say why no test does. A manifest is in the file that the next command names.
func (t typist) follow(page string, change func(script string) string) {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(top, page))
	Expect(err).NotTo(HaveOccurred())
	manifest, ran := "", 0
	for _, block := range runbook.Blocks(string(text)) {
		if block.Language == "yaml" {
			manifest = block.Text
		}
		if !block.IsShell() || block.NotRun != "" || len(block.Commands()) == 0 {
			continue
		}
		script := strings.Join(block.Commands(), "\n")
		if change != nil {
			script = change(script)
		}
		if _, file, found := strings.Cut(script, "kubectl apply -f "); found {
			name, _, _ := strings.Cut(file, "\n")
			Expect(os.WriteFile(filepath.Join(t.folder, strings.TrimSpace(name)), []byte(manifest), 0o600)).To(Succeed())
		}
		By(fmt.Sprintf("%s, line %d", page, block.Line))
		t.types(script)
		ran++
	}
	Expect(ran).To(BeNumerically(">", 0), page)
}

func (t typist) types(script string) {
	GinkgoHelper()
	Expect(t.tries(script)).To(Succeed())
}

func (t typist) tries(script string) error {
	command := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	command.Dir = t.folder
	command.Env = append(os.Environ(), "KUBECONFIG="+t.kubeconfig)
	output, err := command.CombinedOutput()
	GinkgoWriter.Printf("$ %s\n%s", script, output)
	if err != nil {
		return fmt.Errorf("%s: %w: %s", script, err, output)
	}
	return nil
}
