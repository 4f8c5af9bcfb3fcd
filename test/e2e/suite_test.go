// Package e2e tests the operator on a real cluster, through faults.
//
// Each spec is named after what must be true; the numbers of faults are those of
// docs/faults.md. The operator is the real program in a process of its own, which
// can be killed like one, and talks to the API server through a proxy, which can
// fail like one.
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
	SetDefaultEventuallyTimeout(2 * time.Minute)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	SetDefaultConsistentlyPollingInterval(200 * time.Millisecond)
	RunSpecs(t, "etcd-operator, end to end")
}

// Those labelled long take an hour together: make test-long. One container
// holds all, because only then the order below is the order in
// which they run.
var _ = Describe("etcd-operator", func() {
	JustAfterEach(keepArtefacts)
	Describe("deployed", Label("deployed"), Ordered, ContinueOnFailure, deployed)
	Describe("takeover", Label("deployed", "faults"), Ordered, ContinueOnFailure, takeover)
	Describe("two installations", Label("deployed", "faults", "long"), Ordered, ContinueOnFailure, twoInstallations)
	Describe("a cluster", Ordered, ContinueOnFailure, aCluster)
	Describe("samples", Ordered, ContinueOnFailure, samples)
	Describe("deletion", Ordered, ContinueOnFailure, deletion)
	Describe("a change", Ordered, ContinueOnFailure, change)
	Describe("versions", Ordered, ContinueOnFailure, upgrades)
	Describe("failed upgrades", Label("long"), Ordered, ContinueOnFailure, failedUpgrades)
	Describe("quorum loss", Ordered, ContinueOnFailure, quorumLoss)
	Describe("rest", Label("long"), Ordered, ContinueOnFailure, resting)
	Describe("quarantine", Label("long"), Ordered, ContinueOnFailure, quarantine)
	Describe("damage", Ordered, ContinueOnFailure, damage)
	Describe("emptied data directories", Ordered, ContinueOnFailure, emptied)
	Describe("alarms", Label("faults", "long"), Ordered, ContinueOnFailure, alarms)
	Describe("compute resources", Label("long"), Ordered, ContinueOnFailure, computeResources)
	Describe("members without volumes", Ordered, ContinueOnFailure, ephemeral)
	Describe("faults of pods", Ordered, ContinueOnFailure, faultsOfPods)
	Describe("under load", Label("load", "long"), Ordered, ContinueOnFailure, underLoad)
	Describe("many changes", Label("load", "long"), Ordered, ContinueOnFailure, manyChanges)
	Describe("a way that nobody thought of", Label("long"), Ordered, wandering)
	Describe("faults of the network and of nodes", Label("faults", "long"), Ordered, ContinueOnFailure, faultsOfTheNetwork)
	Describe("faults of the membership", Ordered, ContinueOnFailure, faultsOfMembership)
	Describe("leaders", Label("faults"), Ordered, ContinueOnFailure, unwillingLeaders)
	Describe("faults by hand", Label("faults", "long"), Ordered, ContinueOnFailure, byHand)
	Describe("members that do not belong", Label("faults", "long"), Ordered, ContinueOnFailure, strangers)
	Describe("memory", Label("long"), Ordered, ContinueOnFailure, memory)
	Describe("faults of the operator", Label("faults"), Ordered, ContinueOnFailure, faultsOfTheOperator)
	Describe("an operator that dies halfway", Label("faults", "long"), Ordered, ContinueOnFailure, halfway)
	Describe("an operator that is older", Label("faults"), Ordered, ContinueOnFailure, olderOperator)
	Describe("faults of the API server's words", Label("faults", "long"), Ordered, ContinueOnFailure, staleness)
	Describe("other writers", Label("faults", "long"), Ordered, ContinueOnFailure, otherWriters)
	Describe("wrong specs", Ordered, ContinueOnFailure, wrongSpecs)
	Describe("volumes that hold nothing", Ordered, ContinueOnFailure, unusedVolumes)
	Describe("objects that were put back", Ordered, ContinueOnFailure, putBack)
	Describe("data of another namespace", Ordered, ContinueOnFailure, movedData)
	Describe("names and sizes", Ordered, ContinueOnFailure, namesAndSizes)
	Describe("what belongs to others", Ordered, ContinueOnFailure, whatBelongsToOthers)
	Describe("what is changed back", Label("faults"), Ordered, ContinueOnFailure, whatIsChangedBack)
	Describe("secrets", Ordered, ContinueOnFailure, secrecy)
	Describe("lost authorities", Label("faults"), Ordered, ContinueOnFailure, lostAuthorities)
	Describe("OLM", Label("olm"), Ordered, ContinueOnFailure, throughOLM)
	Describe("install modes of OLM", Label("olm"), Ordered, ContinueOnFailure, installModes)
	Describe("updates by OLM", Label("olm", "long"), Ordered, ContinueOnFailure, updates)
	Describe("OLM v1", Label("olmv1"), Ordered, ContinueOnFailure, throughOLMv1)
	Describe("the scorecard", Label("scorecard"), Ordered, ContinueOnFailure, scorecard)
	Describe("nodes", Label("faults", "long", "nodes"), Ordered, ContinueOnFailure, onNodes)
	Describe("faults of the cluster", Label("disrupts-cluster", "long"), Serial, Ordered, ContinueOnFailure, faultsOfTheCluster)
})

var (
	_ = BeforeSuite(func() {
		connect()
		leftoversGo()
	})
	_ = AfterSuite(func() {
		defer wakeDeployed()
		allNamespacesGo()
	})
)
