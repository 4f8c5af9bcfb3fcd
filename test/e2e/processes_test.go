package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

// isLocal says whether the cluster's nodes are this machine: the local cluster.
func isLocal() bool {
	return strings.HasPrefix(os.Getenv("KUBECONFIG"), filepath.Join(top, ".devcluster"))
}

// killProcess kills the etcd of a member without a word. On a cluster whose
// processes are elsewhere the Pod is deleted without grace instead.
func killProcess(c *v1alpha1.EtcdCluster, member string) {
	GinkgoHelper()
	victim := pod(c, member)
	if !isLocal() {
		Expect(api.Delete(ctx, &victim, &client.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})).To(Succeed())
		return
	}
	Expect(syscall.Kill(processOf(string(victim.UID)), syscall.SIGKILL)).To(Succeed())
}

// killAfter stops the etcd of a member, does something to its files, and kills it. It
// cannot repair or write what it has in memory meanwhile, nor be started again too early.
func killAfter(c *v1alpha1.EtcdCluster, member string, done func()) {
	GinkgoHelper()
	process := processOf(string(pod(c, member).UID))
	Expect(syscall.Kill(process, syscall.SIGSTOP)).To(Succeed())
	defer func() { Expect(syscall.Kill(process, syscall.SIGKILL)).To(Succeed()) }()
	Eventually(func(g Gomega) {
		state, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(process), "status"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(state)).To(ContainSubstring("\nState:\tT"))
	}).WithPolling(time.Millisecond).WithTimeout(patience).Should(Succeed())
	done()
}

// processOf finds the etcd process of a Pod.
func processOf(uid string) int {
	GinkgoHelper()
	return processNamed(uid, "etcd")
}

// processNamed finds the process of a program in a Pod's control group.
func processNamed(uid, program string) int {
	GinkgoHelper()
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	Expect(err).NotTo(HaveOccurred())
	for _, group := range groups {
		text, _ := os.ReadFile(group)
		name, _ := os.ReadFile(filepath.Join(filepath.Dir(group), "comm"))
		inPod := strings.Contains(string(text), uid) || strings.Contains(string(text), strings.ReplaceAll(uid, "-", "_"))
		if inPod && strings.TrimSpace(string(name)) == program {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(group)))
			Expect(err).NotTo(HaveOccurred())
			return pid
		}
	}
	Fail("no process " + program + " of pod " + uid)
	return 0
}

// restarts is how often the containers of each Pod were started again.
func restarts(c *v1alpha1.EtcdCluster) map[string]int32 { return restartsOf(Default, c) }

func restartsOf(g Gomega, c *v1alpha1.EtcdCluster) map[string]int32 {
	all := map[string]int32{}
	for _, p := range podsOf(g, c.Namespace, ours(c)) {
		for _, status := range p.Status.ContainerStatuses {
			all[p.Name] += status.RestartCount
		}
	}
	return all
}
