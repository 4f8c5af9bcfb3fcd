// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/test/e2e/internal/apiproxy"
)

// operator is one operator in a process of its own, for one namespace.
type operator struct {
	*apiproxy.Proxy
	namespace, folder string
	program           string   // that runs
	flags             []string // beside those of every spec
	resolver          string   // resolv.conf that it has instead of the machine's; empty: none
	command           *exec.Cmd
	ended             chan struct{}
}

// startOperator starts an operator for the namespace, and ends it with the spec
// or container that asked for it.
func startOperator(namespace string) *operator {
	GinkgoHelper()
	o := &operator{namespace: namespace, folder: GinkgoT().TempDir(), program: program}
	if useDeployed {
		return o
	}
	sleepDeployed()
	var err error
	o.Proxy, err = apiproxy.New(actingAsOperator())
	Expect(err).NotTo(HaveOccurred())
	operators = append(operators, o)
	DeferCleanup(func() {
		o.kill()
		o.Close()
		operators = nil
	})
	o.start()
	return o
}

// operators are those that run, for what is kept of a failure.
var operators []*operator

// actingAsOperator has the rights of the deployed operator, if it is deployed, so
// that every spec tests them too.
func actingAsOperator() *rest.Config {
	GinkgoHelper()
	chosen := rest.CopyConfig(config)
	var binding rbacv1.ClusterRoleBinding
	if api.Get(ctx, client.ObjectKey{Name: "etcd-operator-manager-rolebinding"}, &binding) == nil {
		subject := binding.Subjects[0]
		chosen.Impersonate.UserName = "system:serviceaccount:" + subject.Namespace + ":" + subject.Name
	}
	return chosen
}

// start starts the process; what it logs is added to the same file.
func (o *operator) start() {
	GinkgoHelper()
	kubeconfig := filepath.Join(o.folder, "kubeconfig")
	Expect(os.WriteFile(kubeconfig, []byte(strings.ReplaceAll(proxied, "URL", o.URL())), 0o600)).To(Succeed())
	log, err := os.OpenFile(o.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	Expect(err).NotTo(HaveOccurred())
	defer log.Close()
	flags := append([]string{
		"manager", "--metrics-bind-address=0", "--health-probe-bind-address=0", "--zap-log-level=debug",
		"--task-image=" + deployedImage(), "--allowed-store-endpoints=http://*",
	}, o.flags...)
	o.command = exec.Command(o.program, flags...)
	if o.resolver != "" {
		o.command = resolving(o.command, o.resolver)
	}
	o.command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "WATCH_NAMESPACE="+o.namespace)
	o.command.Stdout, o.command.Stderr = log, log
	if os.Geteuid() == 0 {
		o.command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Gid: operatorGroup}}
	}
	Expect(o.command.Start()).To(Succeed())
	o.ended = make(chan struct{})
	go func(command *exec.Cmd, ended chan struct{}) {
		_ = command.Wait()
		close(ended)
	}(o.command, o.ended)
}

// operatorGroup is by what a packet filter tells the operator's packets from ours.
const operatorGroup = 64123

const proxied = `apiVersion: v1
kind: Config
clusters: [{name: proxy, cluster: {server: "URL"}}]
contexts: [{name: proxy, context: {cluster: proxy, user: operator}}]
users: [{name: operator, user: {}}]
current-context: proxy
`

// kill ends the operator as a crash of its node would: without a word.
func (o *operator) kill() {
	if o.command == nil {
		return
	}
	_ = o.command.Process.Kill()
	<-o.ended
	o.command = nil
}

// restart is a crash and a new start with an API server that is well again.
func (o *operator) restart() {
	GinkgoHelper()
	o.kill()
	o.Heal()
	o.start()
}

// restartAs is a crash, and a new start of another program.
func (o *operator) restartAs(program string) {
	GinkgoHelper()
	o.program = program
	o.restart()
}

func (o *operator) logFile() string { return filepath.Join(o.folder, "operator.log") }

func (o *operator) log() string {
	GinkgoHelper()
	text, err := os.ReadFile(o.logFile())
	Expect(err).NotTo(HaveOccurred())
	return string(bytes.ToValidUTF8(text, nil))
}

// needsOwnOperator skips what cannot be done to an operator that is deployed.
func needsOwnOperator() {
	if useDeployed {
		Skip("the deployed operator cannot be killed or lied to")
	}
}

// stopsAfter lets so many Pods be deleted, and no more.
func stopsAfter(o *operator, count int) {
	o.OnRequest(func(asked apiproxy.Request) apiproxy.Verdict {
		if asked.Kind() != "DELETE pods" {
			return apiproxy.Pass
		}
		count--
		if count < 0 {
			return apiproxy.Drop
		}
		return apiproxy.Pass
	})
}

// diesAt loses the first request of a kind when it is time, and all that come after it,
// which is all that a crash at that moment leaves. The channel is closed when it is so.
func diesAt(o *operator, kind string, isTime func() bool) <-chan struct{} {
	died := make(chan struct{})
	dead := false
	o.OnRequest(func(asked apiproxy.Request) apiproxy.Verdict {
		if !dead && asked.Kind() == kind && isTime() {
			dead = true
			close(died)
		}
		if dead {
			return apiproxy.Drop
		}
		return apiproxy.Pass
	})
	return died
}

// remember keeps a kind's list of our objects as it is now, to be told for that long.
func remember(namespace string, kind schema.GroupVersionKind, lasts time.Duration) *apiproxy.Past {
	GinkgoHelper()
	past, err := apiproxy.Remember(ctx, api, namespace, kind, lasts)
	Expect(err).NotTo(HaveOccurred())
	return past
}
