// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// isLocal says whether the cluster's nodes are this machine: the local cluster.
func isLocal() bool {
	return strings.HasPrefix(os.Getenv("KUBECONFIG"), filepath.Join(top, ".devcluster"))
}

// killProcess kills the etcd of a member without a word. On a cluster whose
// processes are elsewhere the Pod is deleted without grace instead.
func killProcess(c *v1beta1.EtcdCluster, member string) {
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
func killAfter(c *v1beta1.EtcdCluster, member string, done func()) {
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

// memoryLimit is what the kernel holds the Pod's etcd to. On a cluster whose
// processes are elsewhere it is what the kubelet says.
func memoryLimit(p corev1.Pod) int64 {
	GinkgoHelper()
	if !isLocal() {
		return p.Status.ContainerStatuses[0].Resources.Limits.Memory().Value()
	}
	limit, _ := memoryFiles(processOf(string(p.UID)))
	return numberIn(limit)
}

// memoryFiles are where the kernel has the limit of memory of a process's control group, and its use, in bytes.
func memoryFiles(process int) (limit, usage string) {
	GinkgoHelper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(process) + "/cgroup")
	Expect(err).NotTo(HaveOccurred())
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) // see cgroups(7)
		limit, usage = "/sys/fs/cgroup"+parts[2]+"/memory.max", "/sys/fs/cgroup"+parts[2]+"/memory.current"
		if parts[1] == "memory" {
			folder := "/sys/fs/cgroup/memory" + parts[2]
			limit, usage = folder+"/memory.limit_in_bytes", folder+"/memory.usage_in_bytes"
		}
		if _, err := os.Stat(limit); err == nil { // else it is another controller's
			return limit, usage
		}
	}
	Fail("no limit of memory in " + string(text))
	return "", ""
}

func numberIn(file string) int64 {
	GinkgoHelper()
	content, err := os.ReadFile(filepath.Clean(file))
	Expect(err).NotTo(HaveOccurred())
	number, err := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64)
	Expect(err).NotTo(HaveOccurred())
	return number
}

// starve leaves the operator's program in a Pod no more memory than it has, until the kernel kills it.
func starve(pod *corev1.Pod) {
	GinkgoHelper()
	process := processNamed(string(pod.UID), "etcd-operator")
	limit, usage := memoryFiles(process)
	Eventually(func() error {
		if now, err := os.ReadFile(filepath.Clean(usage)); err == nil {
			_ = os.WriteFile(limit, now, 0o600) // refused while it has more
		}
		return syscall.Kill(process, 0)
	}).WithPolling(5*time.Millisecond).Should(MatchError(syscall.ESRCH), "the kernel to kill it")
}

// diskOf sets how many writes per second a process may make to the device of its
// data; 0 ends the fault. It is for either version of control groups.
func diskOf(process int) (limit func(operations int)) {
	GinkgoHelper()
	var data syscall.Stat_t
	Expect(syscall.Stat(fmt.Sprintf("/proc/%d/root/var/lib/etcd", process), &data)).To(Succeed())
	device := fmt.Sprintf("%d:%d", data.Dev>>8&0xfff, data.Dev&0xff|data.Dev>>12&^0xff)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", process))
	Expect(err).NotTo(HaveOccurred())
	groups := map[string]string{}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		groups[parts[1]] = parts[2]
	}
	file := filepath.Join("/sys/fs/cgroup/blkio", groups["blkio"], "blkio.throttle.write_iops_device")
	format, unlimited := "%s %s", "0"
	if _, err := os.Stat(file); err != nil {
		file = filepath.Join("/sys/fs/cgroup", groups[""], "io.max")
		format, unlimited = "%s wiops=%s", "max"
	}
	return func(operations int) {
		GinkgoHelper()
		rate := unlimited
		if operations > 0 {
			rate = strconv.Itoa(operations)
		}
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) && operations == 0 {
			return // the container is gone, and its limit with it
		}
		Expect(os.WriteFile(file, fmt.Appendf(nil, format, device, rate), 0o600)).To(Succeed())
	}
}

// operationsPerSecond make a write to etcd's log take about half a second: it is
// an operation or two.
const operationsPerSecond = 5

// syncs are how often a member has written its log to disk, and for how many
// seconds in all.
func syncs(address string) (count, seconds float64) {
	GinkgoHelper()
	const name = "etcd_disk_wal_fsync_duration_seconds"
	return metric(address, name+"_count"), metric(address, name+"_sum")
}

// metric is what the member at an address tells under that name.
func metric(address, name string) float64 {
	GinkgoHelper()
	response, err := direct.Get(fmt.Sprintf("http://%s:%d/metrics", address, v1beta1.MetricsPort))
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	Expect(response.StatusCode).To(Equal(http.StatusOK))
	text, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	_, rest, found := strings.Cut(string(text), "\n"+name+" ")
	Expect(found).To(BeTrue(), name)
	value, _, _ := strings.Cut(rest, "\n")
	number, err := strconv.ParseFloat(value, 64)
	Expect(err).NotTo(HaveOccurred())
	return number
}

// killAtOnce kills members at the same moment, and waits until the kubelet has
// started them again.
func killAtOnce(c *v1beta1.EtcdCluster, members ...string) {
	GinkgoHelper()
	before := restarts(c)
	var victims []int
	for _, member := range members {
		victims = append(victims, processOf(string(pod(c, member).UID)))
	}
	for _, victim := range victims {
		Expect(syscall.Kill(victim, syscall.SIGKILL)).To(Succeed())
	}
	for _, member := range members {
		Eventually(func(g Gomega) { g.Expect(restartsOf(g, c)[member]).To(BeNumerically(">", before[member])) }).Should(Succeed())
	}
}

// exhaust reads much from one member at once until it is out of memory, for at
// most half a minute.
func exhaust(c *v1beta1.EtcdCluster, member string) {
	GinkgoHelper()
	for i := range 20 {
		put(c, fmt.Sprintf("big/%02d", i), strings.Repeat("x", 1<<20))
	}
	one := dial(c, member)
	defer one.Close()
	limited, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var readers sync.WaitGroup
	for range 10 {
		readers.Go(func() {
			defer GinkgoRecover()
			for limited.Err() == nil && restarts(c)[member] == 0 {
				soon, stop := context.WithTimeout(limited, 3*time.Second)
				_, _ = one.Get(soon, "big/", clientv3.WithPrefix(), clientv3.WithSerializable())
				stop()
			}
		})
	}
	readers.Wait()
}
