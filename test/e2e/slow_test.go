package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/test/e2e/internal/netfault"
)

// standstill is longer than three elections, and shorter than what the kubelet
// takes for a process that is dead.
const standstill = 30 * time.Second

// slowProcesses stand still, and do not know it afterwards.
func slowProcesses(u *undisturbed) {
	for _, role := range roles {
		It("fault 33: "+role+" that stands still for half a minute and goes on is not replaced", func() {
			member := u.chosen(role)
			_, others := netfault.Split(networks(u.c), member)
			process := processOf(u.before[member])
			resume := func() { _ = syscall.Kill(process, syscall.SIGCONT) }
			DeferCleanup(resume)
			restarted := restarts(u.c)
			elections := u.during(func() {
				Expect(syscall.Kill(process, syscall.SIGSTOP)).To(Succeed())
				begun := time.Now()
				u.stays(others...)
				says(u.c, v1alpha1.ConditionDegraded, v1alpha1.ReasonMemberDown, member+" not healthy")
				time.Sleep(standstill - time.Since(begun))
				resume()
			})
			u.costsLittle(role, elections)
			Expect(restarts(u.c)).To(Equal(restarted), "no container was restarted")
		})
	}
}

// slowDisks make every write to a log wait.
func slowDisks(u *undisturbed) {
	for i, role := range []string{oneFollower, theLeader} {
		It(fmt.Sprintf("fault %d: ", 31+i)+role+" whose disk takes half a second a write is not replaced, and the others serve on", func() {
			member := u.chosen(role)
			_, others := netfault.Split(networks(u.c), member)
			address := pod(u.c, member).Status.PodIP
			slow := diskOf(processOf(u.before[member]))
			DeferCleanup(slow, 0)
			elections := u.during(func() {
				count, sum := syncs(address)
				slow(operationsPerSecond)
				u.stays(others...)
				after, total := syncs(address)
				mean := (total - sum) / (after - count)
				AddReportEntry("each write to the log", fmt.Sprintf("%.3f s, %.0f of them", mean, after-count))
				Expect(after).To(BeNumerically(">", count), "the disk is slow, not dead")
				Expect(mean).To(BeNumerically(">", 0.3), "the disk is as slow as it should be")
				slow(0)
			})
			AddReportEntry("longest time without a write", u.gap.String())
			if role == oneFollower { // a leader leads on, or loses an election: both is etcd's
				u.costsLittle(oneFollower, elections)
			}
		})
	}
}

// operationsPerSecond make a write to etcd's log take about half a second: it is
// an operation or two.
const operationsPerSecond = 5

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
		Expect(os.WriteFile(file, fmt.Appendf(nil, format, device, rate), 0o600)).To(Succeed())
	}
}

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
	response, err := direct.Get(fmt.Sprintf("http://%s:%d/metrics", address, v1alpha1.MetricsPort))
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
