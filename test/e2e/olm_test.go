// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// throughOLM tells the life of one installation, by the objects and commands of docs/install.md: from a release to the next out of
// the catalogs that `make release release-push` makes and pushes, and on.
func throughOLM() {
	var (
		t       *tenant
		users   string // namespace
		cluster *v1beta1.EtcdCluster
		before  map[string]life
		clients *writer
		begun   time.Time
	)
	BeforeAll(func() {
		cutUntil(history[0])
		t, users = newTenant(), newNamespace()
		DeferCleanup(func() { t.unsubscribe() })
		begun = time.Now()
		t.applyPage()
	})

	It("installs the first release in a registry, and says that it is deprecated", func() {
		t.succeeds(history[0])
		took("from Subscription to CSV Succeeded", begun)
		t.says(olm.SubscriptionBundleDeprecated, "It can lose data; update to a later version.")
		cluster = create(newCluster(users, "installed"))
		put(cluster, "key", "value")
		before = lives(cluster)
		clients = startWriter(cluster)
	})

	It("is updated by itself when a later release brings the next one into its channel", func() {
		cutUntil(history[2])
		begun := time.Now()
		t.isLedBy(history[1])
		took("from the catalog pushed to its tag to the new leader", begun)
		t.succeeds(history[1])
		settles(cluster)
		Expect(lives(cluster)).To(Equal(before), "no Pod of etcd was replaced or restarted")
	})

	It("is updated to the newest by the channel that has it", func() {
		begun := time.Now()
		t.change(func(s *olm.SubscriptionSpec) { s.Channel = "candidate-v0" })
		t.isLedBy(history[2])
		took("from the other channel to the new leader", begun)
		t.succeeds(history[2])
		settles(cluster)
		Expect(lives(cluster)).To(Equal(before), "no Pod of etcd was replaced or restarted")
	})

	It("was not noticed by clients of etcd", func() {
		clients.end()
		Expect(clients.acked).To(BeNumerically(">", 0))
		Expect(clients.failed).To(BeEmpty())
		measured("longest write during two updates", clients.longest)
		Expect(clients.longest).To(BeNumerically("<", outage))
	})

	It("heals and scales the cluster that the older release made", func() {
		victim, _ := aFollower(cluster)
		deletePod(cluster, victim)
		comesBack(cluster, victim)
		resize(cluster, 1)
		resize(cluster, 3)
		Expect(value(cluster, "key")).To(Equal("value"))
	})

	It("holds the next update while a member is being replaced", Label("long"), func() {
		t.isUpgradeable("0.10.0", true)
		letGo := replaceSlowly(cluster)
		t.isUpgradeable("0.10.0", false)
		t.change(func(s *olm.SubscriptionSpec) { s.Channel, s.InstallPlanApproval = "stable-v0", olm.ApprovalAutomatic })
		t.publish(append(published(history...), madeUp("0.10.1", "0.10.0", asItIs)))
		t.is("0.10.1", olm.CSVPhasePending, olm.CSVReasonOperatorConditionNotUpgradeable, "")
		stays(3*time.Second, func(g Gomega) { g.Expect(t.csv(g, "0.10.1").Status.Phase).To(Equal(olm.CSVPhasePending)) })
		t.isLedBy("0.10.0")
		letGo()
		t.succeeds("0.10.1")
		settles(cluster)
	})

	It("leaves clusters running when it is uninstalled, and knows them when it is installed again", Label("long"), func() {
		before = lives(cluster)
		t.unsubscribe()
		clients := startWriter(cluster)
		stays(3*time.Second, func(g Gomega) { g.Expect(lives(cluster)).To(Equal(before)) })
		t.subscribe(stableChannel)
		t.succeeds("0.10.1")
		settles(cluster)
		Expect(lives(cluster)).To(Equal(before))
		clients.end()
		Expect(clients.failed).To(BeEmpty())
		resize(cluster, 1)
		Expect(value(cluster, "key")).To(Equal("value"))
	})
}

// installModes: each of the four that a bundle can say it supports. What is special about
// an operator that does not see every namespace shows in each of the last three.
func installModes() {
	for _, mode := range []olm.InstallModeType{
		olm.InstallModeTypeOwnNamespace, olm.InstallModeTypeSingleNamespace,
		olm.InstallModeTypeMultiNamespace, olm.InstallModeTypeAllNamespaces,
	} {
		labels := Label("long")
		if mode == olm.InstallModeTypeOwnNamespace {
			labels = nil
		}
		It("works where it is told to, and nowhere else: "+string(mode), labels, func() {
			t := newTenant()
			var watched, others []string
			switch mode {
			case olm.InstallModeTypeOwnNamespace:
				watched, others = []string{t.namespace}, []string{newNamespace()}
			case olm.InstallModeTypeSingleNamespace:
				watched, others = []string{newNamespace()}, []string{newNamespace(), t.namespace}
			case olm.InstallModeTypeMultiNamespace:
				watched, others = []string{newNamespace(), newNamespace()}, []string{newNamespace()}
			case olm.InstallModeTypeAllNamespaces:
				watched = []string{newNamespace(), t.namespace}
			}
			t.publish(published("0.10.0"))
			if mode == olm.InstallModeTypeAllNamespaces {
				t.group()
			} else {
				t.group(watched...)
			}
			t.subscribe(stableChannel)
			DeferCleanup(func() { t.unsubscribe() })
			t.succeeds("0.10.0")

			seen, unseen := oneIn(watched), oneIn(others)
			for _, c := range seen {
				settles(c)
				comesBack(c, deletePod(c, c.Name+"-0"))
			}
			isBackedUpAndRestored(seen[0])
			if !strings.Contains(GinkgoLabelFilter(), "!long") { // these take minutes
				takesUpAccess(seen[0])
				beginsWithKeys(seen[0].Namespace)
				trustsOthers(seen[0].Namespace)
				isResizedInPlace(seen[0])
				isDrilled(seen[0])
			}
			if mode == olm.InstallModeTypeSingleNamespace { // it waits five minutes, and wants the same rights in each mode
				takesOtherAuthorities(seen[0])
			}
			for _, c := range unseen {
				Expect(now(c).Status).To(Equal(v1beta1.EtcdClusterStatus{}))
				Expect(pods(c)).To(BeEmpty())
			}
			Expect(strings.ToLower(t.logs())).NotTo(ContainSubstring("forbidden"))
			for _, c := range append(seen, unseen...) {
				remove(c)
			}
		})
	}
}

// updates: what an administrator may choose, and what goes wrong.
func updates() {
	var t *tenant
	BeforeEach(func() {
		t = newTenant()
		DeferCleanup(func() { t.unsubscribe() })
		t.group()
	})

	It("goes one release at a time, each when it is approved", func() {
		manual := stableChannel
		manual.InstallPlanApproval = olm.ApprovalManual
		for i, version := range history {
			t.publish(published(history[:i+1]...))
			if i == 0 {
				t.subscribe(manual)
			}
			t.offered(version)
			stays(2*time.Second, func(g Gomega) { g.Expect(t.versions(g)).NotTo(ContainElement(version), "nobody approved") })
			t.approve(version)
			t.succeeds(version)
		}
	})

	It("goes from the first release to the last at once", func() {
		t.publish(published(history[:1]...))
		t.subscribe(stableChannel)
		t.succeeds("0.9.8")
		t.publish(published(history...))
		t.succeeds("0.10.0")
		Expect(t.plans(Default)).To(HaveLen(2))
	})

	It("stays at the release that was pinned until the next is approved", func() {
		t.publish(published(history...))
		pinned := stableChannel
		pinned.StartingCSV, pinned.InstallPlanApproval = csvName("0.9.8"), olm.ApprovalManual
		t.subscribe(pinned)
		t.approve("0.9.8")
		t.succeeds("0.9.8")
		t.offered("0.10.0")
		stays(3*time.Second, func(g Gomega) { g.Expect(t.versions(g)).To(ConsistOf("0.9.8")) })
	})

	It("follows another channel", func() {
		t.publish(published(history[:2]...), published(history...)...)
		t.subscribe(stableChannel)
		t.succeeds("0.9.9")
		t.change(func(s *olm.SubscriptionSpec) { s.Channel = "candidate-v0" })
		t.succeeds("0.10.0")
	})

	It("finds the next release by itself when it is pushed to the catalog's tag", func() {
		t.publishByTag(published(history[:2]...))
		t.subscribe(stableChannel)
		t.succeeds("0.9.9")
		t.push(published(history...))
		begun := time.Now()
		t.offered("0.10.0")
		took("from the catalog pushed to its tag to InstallPlan", begun)
		t.succeeds("0.10.0")
	})

	It("says that a release is bad, works on with the one before, and is repaired by the next", func() {
		t.failForward()
		t.publish(published("0.10.0"))
		t.subscribe(stableChannel)
		t.succeeds("0.10.0")
		c := create(newCluster(newNamespace(), "unhurt", oneMember))
		bad := madeUp("0.10.1", "0.10.0", withoutImage)
		t.publish(append(published("0.10.0"), bad))
		t.is("0.10.1", olm.CSVPhaseFailed, olm.CSVReasonInstallCheckFailed, "progress deadline")
		comesBack(c, deletePod(c, "unhurt-0"))
		t.publish(append(published("0.10.0"), bad, madeUp("0.10.2", "0.10.1", asItIs)))
		t.succeeds("0.10.2")
		remove(c)
	})

	It("is updated from an early version, although the catalog's Pod and the leader are killed meanwhile", func() {
		t.publish([]release{unpublished("0.3.0")})
		t.subscribe(stableChannel)
		t.succeeds("0.3.0")
		c, before := madeEarlier("old", oneMember)
		t.publish(published("0.10.0"))
		t.offered("0.10.0")
		kill(catalogs, "olm.catalogSource", t.namespace)
		kill(t.namespace, "control-plane", "controller-manager")
		t.succeeds("0.10.0")
		t.isLedBy("0.10.0")
		settles(c)
		Expect(lives(c)).To(Equal(before), "no Pod of etcd was replaced or restarted")
		takesUpAccess(c)
		takesOtherAuthorities(c)
		remove(c)
	})

	for _, earlier := range []string{"0.7.0", "0.8.0", "0.9.0"} {
		It("goes from "+earlier+" to this version, which restarts nobody; then what that one made takes up what is new, one by one", func() {
			t.publish(nil, unpublished(earlier))
			t.subscribe(candidateChannel)
			t.succeeds(earlier)
			c, before := madeEarlier("old")
			t.publish(nil, published("0.10.0")...)
			t.succeeds("0.10.0")
			t.isLedBy("0.10.0")
			settles(c)
			Expect(lives(c)).To(Equal(before), "no Pod of etcd was replaced or restarted")
			isBackedUpAndRestored(c)
			takesUpAccess(c)
			remove(c)
		})
	}

	It("is not installed while there are two OperatorGroups", func() {
		second := t.newGroup("second")
		Expect(api.Create(ctx, second)).To(Succeed())
		t.publish(published("0.10.0"))
		t.subscribe(stableChannel)
		t.isUnresolved("found 2 operatorGroups, expected 1")
		Expect(api.Delete(ctx, second)).To(Succeed())
		t.succeeds("0.10.0")
	})
}
