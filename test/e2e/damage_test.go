// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// damage is done to the files of one member after another.
func damage() {
	var c *v1beta1.EtcdCluster
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

	for i, fault := range []struct {
		name string
		done func(member string)
	}{
		{"fault 29: a database whose first pages are overwritten", func(member string) {
			overwrite(filepath.Join(dataOf(c, member), "snap", "db"), 0, bytes.Repeat([]byte{0xa5}, 8<<10))
		}},
		{"fault 28: a bit that flipped in a write-ahead log", func(member string) {
			log := lastLog(c, member)
			begins := records(log)
			flipBit(log, begins[len(begins)/2]+20)
		}},
		{"fault 18: a data directory that was emptied", func(member string) {
			Expect(os.RemoveAll(dataOf(c, member))).To(Succeed())
		}},
	} {
		It(fault.name+" is recognised, and the member replaced with its data set aside", gateThenLong(i), func() {
			victim, _ := aFollower(c)
			known := members(c)
			begun := time.Now()
			killAfter(c, victim.Name, func() { fault.done(victim.Name) })
			Eventually(membersOf).WithArguments(c).Should(Not(HaveKey(victim.Name)))
			AddReportEntry("recognised after", time.Since(begun).String())
			settles(c)
			AddReportEntry("replaced after", time.Since(begun).String())
			after := members(c)
			Expect(after).To(HaveLen(3))
			delete(known, victim.Name)
			for name, member := range known {
				Expect(after).To(HaveKeyWithValue(name, member))
			}
			Eventually(quarantined).WithArguments(c).Should(ContainElement(victim.Name))
			Eventually(func(g Gomega) { g.Expect(read(g, c).Status.Members).To(HaveLen(3)) }).Should(Succeed()) // without its Pod
		})
	}

	It("fault 30: a torn last record is repaired by etcd, and nobody is replaced", Label("long"), func() {
		victim, _ := aFollower(c)
		known, before, count := members(c), uids(c), restarts(c)
		log := lastLog(c, victim.Name)
		torn := binary.LittleEndian.AppendUint64(nil, 4000)
		torn = append(torn, bytes.Repeat([]byte{8}, 600)...) // the rest never came to the disk
		killAfter(c, victim.Name, func() {
			begins := records(log)
			overwrite(log, begins[len(begins)-1], torn)
		})
		Eventually(func(g Gomega) { g.Expect(restartsOf(g, c)[victim.Name]).To(BeNumerically(">", count[victim.Name])) }).Should(Succeed())
		settles(c)
		Expect(filepath.Join(filepath.Dir(log), filepath.Base(log)+".broken")).To(BeAnExistingFile(), "etcd keeps what it repaired")
		Expect(members(c)).To(Equal(known))
		Expect(uids(c)).To(Equal(before))
	})

	It("fault 25: a full disk is shown and healed by a larger volume, and no data is deleted", Label("long"), func() {
		victim, others := aFollower(c)
		known, before, count := members(c), uids(c), restarts(c)
		filler := filepath.Join(volumeOf(c, victim.Name), "filler")
		DeferCleanup(os.Remove, filler)
		fillDisk(filler)
		// A database grows by 16 MiB at a time. Many more than that would fill the others' disks, too.
		for i := 0; i < 48 && restarts(c)[victim.Name] == count[victim.Name]; i++ {
			Eventually(func(g Gomega) {
				askOnce(g, c, func(ctx context.Context, etcd *clientv3.Client) error {
					_, err := etcd.Put(ctx, fmt.Sprintf("big/%d", i), strings.Repeat("x", 1<<20))
					return err
				}, others...)
			}).Should(Succeed())
		}
		Eventually(func(g Gomega) { g.Expect(restartsOf(g, c)[victim.Name]).To(BeNumerically(">", count[victim.Name])) }).Should(Succeed())
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonMemberBlocked, "no space left on device")
		stays(10*time.Second, func(g Gomega) {
			g.Expect(conditionOf(read(g, c), v1beta1.ConditionAvailable).Status).To(Equal(metav1.ConditionTrue))
			g.Expect(uids(c)).To(Equal(before))
			g.Expect(members(c)).To(Equal(known))
		})
		// What was written above may need as much again as the filler took.
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Storage.Size.Set(1 << 30) })).To(Succeed())
		settles(c)
		Expect(members(c)).To(Equal(known))
	})

	It("data of another cluster in a member's volume is kept from clients, and the member replaced with it set aside", Label("long"), func() {
		foreign := create(newCluster(c.Namespace, "foreign", oneMember))
		victim, _ := aFollower(c)
		copied := filepath.Join(GinkgoT().TempDir(), "member")
		killAfter(foreign, "foreign-0", func() { run("cp", "-a", dataOf(foreign, "foreign-0"), copied) })
		Eventually(func(g Gomega) { g.Expect(servingClients(g, c)).To(ContainElement(victim.Name)) }).Should(Succeed())
		known := members(c)
		putData(c, victim.Name, copied)
		Eventually(func(g Gomega) {
			g.Expect(membersOf(g, c)).NotTo(HaveKey(victim.Name))
			g.Expect(servingClients(g, c)).NotTo(ContainElement(victim.Name))
		}).Should(Succeed())
		settles(c)
		Eventually(func(g Gomega) { // an event is written after the status
			g.Expect(notesOf(g, c)).To(ContainElements(
				"detach "+victim.Name+" from the client service",
				And(HavePrefix("remove member "+victim.Name+": its data is of cluster "), HaveSuffix(id)),
			))
		}).Should(Succeed())
		delete(known, victim.Name)
		for name, member := range known {
			Expect(members(c)).To(HaveKeyWithValue(name, member))
		}
		Eventually(quarantined).WithArguments(c).Should(ContainElement(victim.Name))
		Expect(client.IgnoreNotFound(api.Delete(ctx, foreign))).To(Succeed())
	})

	It("a cluster of one on data of another cluster is kept from clients, and a person is told what to do", Label("long"), func() {
		foreign, alone := newCluster(c.Namespace, "other", oneMember), newCluster(c.Namespace, "alone", oneMember)
		Expect(api.Create(ctx, foreign)).To(Succeed())
		create(alone)
		settles(foreign)
		Eventually(func(g Gomega) { g.Expect(servingClients(g, alone)).To(Equal([]string{"alone-0"})) }).Should(Succeed())
		copied := filepath.Join(GinkgoT().TempDir(), "member")
		killAfter(foreign, "other-0", func() { run("cp", "-a", dataOf(foreign, "other-0"), copied) })
		putData(alone, "alone-0", copied)
		says(alone, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired,
			"alone-0 is detached from clients: its data is of cluster "+now(foreign).Status.ClusterID)
		Eventually(func(g Gomega) { g.Expect(servingClients(g, alone)).To(BeEmpty()) }).Should(Succeed())
		before := uids(alone)
		stays(10*time.Second, func(g Gomega) {
			g.Expect(servingClients(g, alone)).To(BeEmpty())
			g.Expect(uids(alone)).To(Equal(before))
		})
		Expect(api.Delete(ctx, alone)).To(Succeed())
		Expect(api.Delete(ctx, foreign)).To(Succeed())
	})
}
