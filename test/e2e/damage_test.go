package e2e

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

// damage is done to the files of one member after another.
func damage() {
	var c *v1alpha1.EtcdCluster
	var id string
	var data map[string]string

	BeforeAll(func() {
		if !isLocal() {
			Skip("writes to the members' volumes: on the local cluster only")
		}
		namespace := newNamespace()
		startOperator(namespace)
		c = create(newCluster(namespace, "hurt"))
		data, id = fill(c), now(c).Status.ClusterID
	})

	AfterEach(func() {
		settles(c)
		Expect(members(c)).To(HaveLen(3))
		Expect(now(c).Status.ClusterID).To(Equal(id))
		Expect(filled(c)).To(Equal(data))
	})

	for _, fault := range []struct {
		name string
		done func(member string)
	}{
		{"fault 28: a bit that flipped in a write-ahead log", func(member string) {
			log := lastLog(c, member)
			begins := records(log)
			flipBit(log, begins[len(begins)/2]+20)
		}},
		{"fault 29: a database whose first pages are overwritten", func(member string) {
			overwrite(filepath.Join(dataOf(c, member), "snap", "db"), 0, bytes.Repeat([]byte{0xa5}, 8<<10))
		}},
		{"fault 18: a data directory that was emptied", func(member string) {
			Expect(os.RemoveAll(dataOf(c, member))).To(Succeed())
		}},
	} {
		It(fault.name+" is recognised within a minute, and the member replaced with its data set aside", func() {
			victim, _ := aFollower(c)
			known := members(c)
			begun := time.Now()
			fault.done(victim.Name)
			killProcess(c, victim.Name)
			Eventually(func() map[string]string { return members(c) }).WithTimeout(time.Minute).Should(Not(HaveKey(victim.Name)))
			AddReportEntry("recognised after", time.Since(begun).String())
			settles(c)
			AddReportEntry("replaced after", time.Since(begun).String())
			after := members(c)
			Expect(after).To(HaveLen(3))
			delete(known, victim.Name)
			for name, member := range known {
				Expect(after).To(HaveKeyWithValue(name, member))
			}
			Expect(quarantined(Default, c)).To(ContainElement(victim.Name))
			Expect(now(c).Status.Members).To(HaveLen(3))
		})
	}

	It("fault 30: a torn last record is repaired by etcd, and nobody is replaced", func() {
		victim, _ := aFollower(c)
		known, before, count := members(c), uids(c), restarts(c)
		log := lastLog(c, victim.Name)
		torn := binary.LittleEndian.AppendUint64(nil, 4000)
		torn = append(torn, bytes.Repeat([]byte{8}, 600)...) // the rest never came to the disk
		killProcess(c, victim.Name)
		begins := records(log)
		overwrite(log, begins[len(begins)-1], torn)
		Eventually(func(g Gomega) { g.Expect(restarts(c)[victim.Name]).To(BeNumerically(">", count[victim.Name])) }).Should(Succeed())
		settles(c)
		Expect(filepath.Join(filepath.Dir(log), filepath.Base(log)+".broken")).To(BeAnExistingFile(), "etcd keeps what it repaired")
		Expect(members(c)).To(Equal(known))
		Expect(uids(c)).To(Equal(before))
	})

	It("fault 25: a full disk is shown and healed by a larger volume, and no data is deleted", func() {
		victim, _ := aFollower(c)
		known, before, count := members(c), uids(c), restarts(c)
		filler := filepath.Join(volumeOf(c, victim.Name), "filler")
		DeferCleanup(os.Remove, filler)
		fillDisk(filler)
		Eventually(func(g Gomega) {
			put(c, fmt.Sprintf("big/%d", time.Now().UnixNano()), strings.Repeat("x", 1<<20)) // until its database must grow
			g.Expect(restarts(c)[victim.Name]).To(BeNumerically(">", count[victim.Name]))
		}).Should(Succeed())
		says(c, v1alpha1.ConditionDegraded, v1alpha1.ReasonMemberBlocked, "no space left on device")
		stays(10*time.Second, func(g Gomega) {
			g.Expect(conditionOf(read(g, c), v1alpha1.ConditionAvailable).Status).To(Equal(metav1.ConditionTrue))
			g.Expect(uids(c)).To(Equal(before))
			g.Expect(members(c)).To(Equal(known))
		})
		Expect(edit(c, func(spec *v1alpha1.EtcdClusterSpec) { spec.Storage.Size.Set(512 << 20) })).To(Succeed())
		settles(c)
		Expect(members(c)).To(Equal(known))
	})

	It("data of another cluster in a member's volume is never served as ours", func() {
		foreign := create(newCluster(c.Namespace, "foreign", func(spec *v1alpha1.EtcdClusterSpec) { spec.Size = new(int32(1)) }))
		victim, _ := aFollower(c)
		copied := filepath.Join(GinkgoT().TempDir(), "member")
		run("cp", "-a", dataOf(foreign, "foreign-0"), copied)
		Expect(os.RemoveAll(dataOf(c, victim.Name))).To(Succeed())
		run("cp", "-a", copied, dataOf(c, victim.Name))
		killProcess(c, victim.Name)
		says(c, v1alpha1.ConditionDegraded, v1alpha1.ReasonNeedsHelp, "member "+victim.Name+" says it is in cluster")
		Expect(client.IgnoreNotFound(api.Delete(ctx, foreign))).To(Succeed())
		lose(c, victim.Name)
		settles(c)
	})
}

// fillDisk writes a file until the disk is full.
func fillDisk(file string) {
	GinkgoHelper()
	open, err := os.Create(filepath.Clean(file))
	Expect(err).NotTo(HaveOccurred())
	defer open.Close()
	for _, size := range []int{1 << 20, 4 << 10} {
		for chunk := make([]byte, size); err == nil; {
			_, err = open.Write(chunk)
		}
		Expect(err).To(MatchError(ContainSubstring("no space left on device")))
		err = nil
	}
}
