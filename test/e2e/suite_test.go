// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func TestEndToEnd(t *testing.T) {
	if os.Getenv("KUBECONFIG") == "" {
		t.Skip("KUBECONFIG names no cluster: make test-e2e")
	}
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(6 * time.Minute) // a longer wait costs only what fails
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	SetDefaultConsistentlyPollingInterval(200 * time.Millisecond)
	RunSpecs(t, "etcd-operator, end to end")
}

// Those labelled gate run on each change: make test. They show that every feature works, one spec each. All others run before a
// release: make test-all. Those labelled long take hours together: of what is alike, one spec is not. Those labelled quarantine have been
// red without a defect of the product; docs/flakes.md says when and why.
//
// Specs run side by side, each in namespaces of its own with an operator of its own. Serial are those
// that run alone, after all others: they stop the deployed operator or a node, cordon nodes, change what the whole
// Kubernetes cluster has, filter the packets of this machine, or measure what clients or the API server
// notice.
//
// One container holds all, because only then they begin in the order below: what takes longest comes
// first, so that nobody waits for it in the end.
var _ = Describe("etcd-operator", func() {
	JustAfterEach(keepArtefacts)
	Describe("rotation of authorities", Label("faults", "long"), rotations)
	Describe("certificates of others", Label("faults"), sources)
	Describe("versions", Ordered, ContinueOnFailure, upgrades)
	Describe("damage", Ordered, ContinueOnFailure, damage)
	Describe("wrong specs", Ordered, ContinueOnFailure, wrongSpecs)
	Describe("faults of the operator", Label("faults"), faultsOfTheOperator)
	Describe("faults of pods", Ordered, ContinueOnFailure, faultsOfPods)
	Describe("backups", Label("backups"), Ordered, ContinueOnFailure, backups)
	Describe("a kube-apiserver on top", Label("backups", "long"), Serial, underKubernetes)
	Describe("scheduled backups", Label("backups"), Ordered, ContinueOnFailure, scheduledBackups)
	Describe("continuous logs", Label("backups"), Ordered, ContinueOnFailure, continuousLogs)
	Describe("restores to any second", Label("backups"), Ordered, ContinueOnFailure, restoresToASecond)
	Describe("restores in place", Label("backups"), Ordered, ContinueOnFailure, restoresInPlace)
	Describe("backups of other programs", Label("backups", "long"), Ordered, ContinueOnFailure, fromElsewhere)
	Describe("kubectl etcd", Label("backups"), Ordered, ContinueOnFailure, plugin)
	Describe("backups by whose name a loss is accepted", Label("backups"), Ordered, ContinueOnFailure, acceptedBackups)
	Describe("single points", Label("backups", "long"), Ordered, ContinueOnFailure, singlePoints)
	Describe("drills", Label("backups"), Ordered, ContinueOnFailure, drills)
	Describe("users", Ordered, ContinueOnFailure, users)
	Describe("recipes", Label("recipes"), Ordered, ContinueOnFailure, recipes)
	Describe("recipes for Kubernetes", Label("recipes"), Ordered, ContinueOnFailure, recipesForKubernetes)
	Describe("recipes of programs", Label("recipes", "long"), recipesOfPrograms)
	Describe("what is taken away from an operator", Label("faults", "long"), narrowed)
	Describe("TLS", Label("faults", "long"), turnsOfTLS)
	Describe("a change", Ordered, ContinueOnFailure, change)
	Describe("a cluster", Ordered, ContinueOnFailure, aCluster)
	Describe("faults of the membership", Ordered, ContinueOnFailure, faultsOfMembership)
	Describe("quorum loss", quorumLoss)
	Describe("emptied data directories", Label("long"), emptied)
	Describe("other ways between versions", otherWays)
	Describe("members without volumes", ephemeral)
	Describe("deletion", deletion)
	Describe("imports", imports)
	Describe("adoption", adoptions)
	Describe("copies", copies)
	Describe("adoption of other layouts", otherLayouts)
	Describe("exchange of members", exchanges)
	Describe("clients outside of the Kubernetes cluster", Ordered, fromOutside)
	Describe("both families of addresses", Label("faults", "dualstack"), Ordered, bothFamilies)
	Describe("templates of pods", Ordered, podTemplates)
	Describe("samples", samples)
	Describe("versions of the API", versionsOfTheAPI)
	Describe("leaders", Label("faults", "long"), leadersThatRefuse)
	Describe("an operator that is older", Label("faults", "long"), olderOperator)
	Describe("volumes that hold nothing", Label("long"), unusedVolumes)
	Describe("objects that were put back", Label("long"), putBack)
	Describe("data of another namespace", Label("long"), movedData)
	Describe("names and sizes", namesAndSizes)
	Describe("what belongs to others", whatBelongsToOthers)
	Describe("what is changed back", Label("faults", "long"), whatIsChangedBack)
	Describe("secrets", secrecy)
	Describe("users that somebody changes", Label("faults", "long"), driftOfUsers)
	Describe("what pages tell people to type", Label("docs", "long"), Ordered, ContinueOnFailure, documented)
	Describe("failed upgrades", Label("long"), Ordered, ContinueOnFailure, failedUpgrades)
	Describe("compute resources", Label("long"), Ordered, ContinueOnFailure, computeResources)
	Describe("compute resources by use", Label("long"), scaling)
	Describe("room for data", Label("long"), room)
	Describe("what takes its time", Label("long"), scalingSlowly)
	Describe("rest", Label("long"), Ordered, ContinueOnFailure, resting)
	Describe("faults of the API server's words", Label("faults", "long"), Ordered, ContinueOnFailure, staleness)
	Describe("an operator that dies halfway", Label("faults", "long"), Ordered, ContinueOnFailure, halfway)
	Describe("alarms", Label("faults", "long"), alarms)
	Describe("another source of certificates", Label("faults", "long"), changesOfSource)
	Describe("cert-manager", Label("certmanager"), Serial, byCertManager)
	Describe("revocation of certificates", Label("faults", "long"), revocations)
	Describe("lost authorities", Label("faults", "long"), lostAuthorities)
	Describe("members that do not belong", Label("faults", "long"), strangers)

	Describe("deployed", Label("deployed"), Serial, Ordered, ContinueOnFailure, deployed)
	Describe("takeover", Label("deployed", "faults"), Serial, Ordered, ContinueOnFailure, takeover)
	Describe("network policies", Label("network"), Serial, Ordered, ContinueOnFailure, networkPolicies)
	Describe("two installations", Label("deployed", "faults", "long"), Serial, Ordered, ContinueOnFailure, twoInstallations)
	Describe("members without a node", Label("long"), Serial, Ordered, ContinueOnFailure, withoutNode)
	Describe("quarantine", Label("long"), Serial, quarantine)
	Describe("under load", Label("load", "long"), Serial, Ordered, ContinueOnFailure, underLoad)
	Describe("users under load", Label("load", "long"), Serial, usersUnderLoad)
	Describe("many changes", Label("load", "long"), Serial, Ordered, ContinueOnFailure, manyChanges)
	Describe("a random way", Label("long"), Serial, Ordered, wandering)
	Describe("faults of the network and of nodes", Label("faults", "long"), Serial, Ordered, ContinueOnFailure, faultsOfTheNetwork)
	Describe("faults by hand", Label("faults", "long"), Serial, Ordered, ContinueOnFailure, byHand)
	Describe("memory", Label("long"), Serial, memory)
	Describe("clocks", Label("faults", "long"), Serial, faultsOfClocks)
	Describe("other writers", Label("faults", "long"), Serial, otherWriters)
	Describe("OLM", Label("olm"), Serial, Ordered, ContinueOnFailure, throughOLM)
	Describe("install modes of OLM", Label("olm"), Serial, Ordered, ContinueOnFailure, installModes)
	Describe("OLM after the manifest", Label("olm", "long"), Serial, Ordered, handedOver(byManifest))
	Describe("OLM after Helm", Label("olm", "long"), Serial, Ordered, handedOver(byHelm))
	Describe("updates by OLM", Label("olm", "long"), Serial, Ordered, ContinueOnFailure, updates)
	Describe("OLM v1", Label("olmv1"), Serial, throughOLMv1)
	Describe("Helm", Label("helm"), Serial, Ordered, ContinueOnFailure, throughHelm)
	Describe("the scorecard", Label("scorecard"), Serial, scorecard)
	Describe("backups in S3", Label("stores"), Serial, Ordered, ContinueOnFailure, backupsInS3)
	Describe("a store that is away", Label("stores", "faults"), Serial, storeAway)
	Describe("stores", Label("stores", "faults"), Serial, Ordered, ContinueOnFailure, faultsOfStores)
	Describe("backups", Label("stores"), Serial, backupsInClouds)
	Describe("backups by VolumeSnapshot", Label("snapshots", "long"), Serial, Ordered, ContinueOnFailure, bySnapshots)
	Describe("monitoring", Label("monitoring"), Serial, Ordered, ContinueOnFailure, monitoring)
	Describe("nodes", Label("faults", "long", "nodes"), Serial, Ordered, ContinueOnFailure, onNodes)
	Describe("faults of the cluster", Label("disrupts-cluster", "long"), Serial, faultsOfTheCluster)
})

// gateThenLong labels the first spec of a table for the gate, and the others as long.
func gateThenLong(index int) Labels {
	if index == 0 {
		return Label("gate")
	}
	return Label("long")
}

// longAfter labels all specs of a table as long but the first, up to its index.
func longAfter(first, index int) Labels {
	if index > first {
		return Label("long")
	}
	return nil
}

// One process prepares the cluster for all, and clears it when the others have ended.
var (
	_ = SynchronizedBeforeSuite(func() []byte {
		connect()
		installCRD()
		leftoversGo()
		if GinkgoT().ParallelTotal() > 1 && !useDeployed {
			sleepDeployed() // now, because one of several would not know how it was found
		}
		return []byte(compile())
	}, func(built []byte) {
		connect()
		program = string(built)
	})
	_ = SynchronizedAfterSuite(func() {}, func() {
		defer wakeDeployed()
		allNamespacesGo()
	})
)
