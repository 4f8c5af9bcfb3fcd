package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

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
func restarts(c *v1alpha1.EtcdCluster) map[string]int32 {
	all := map[string]int32{}
	for _, p := range pods(c) {
		for _, status := range p.Status.ContainerStatuses {
			all[p.Name] += status.RestartCount
		}
	}
	return all
}
