// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/test/e2e/internal/witness"
)

// An installer installs the operator without Operator Lifecycle Manager.
type installer struct {
	installs func()
	// forgets leaves what it has installed to Operator Lifecycle Manager.
	forgets func()
	// manages is what its objects say about who manages them.
	manages string
}

var byManifest = installer{
	installs: func() {
		GinkgoHelper()
		name, digest := pushedImage()
		writeManifestOf(name + "@" + digest)
		run("kubectl", "apply", "--server-side", "--force-conflicts", "-f", manifest)
		run("kubectl", "-n", deployment.Namespace, "rollout", "status", "deployment/"+deployment.Name, "--timeout=3m")
	},
	forgets: func() {},
	manages: "kustomize",
}

var byHelm = installer{
	installs: func() {
		GinkgoHelper()
		helmDoes("install", slices.Concat([]string{chart, "--create-namespace"}, takesOwnership(), thisImage())...)
	},
	forgets: func() {
		GinkgoHelper()
		run("kubectl", "-n", deployment.Namespace, "delete", "secrets", "-l", "owner=helm,name="+releaseName)
	},
	manages: "Helm",
}

// olmDeletes are what goes with the CSV when Kubernetes finds the time, and is in the manifest as well: what is applied before
// that would go, too.
var olmDeletes = []string{
	"deployment/etcd-operator-controller-manager", "serviceaccount/etcd-operator-controller-manager",
	"service/etcd-operator-controller-manager-metrics-service", "poddisruptionbudget/etcd-operator-controller-manager",
}

// leaveOLM has Operator Lifecycle Manager delete what it has installed in the namespace of the manifest.
func leaveOLM() {
	GinkgoHelper()
	run("kubectl", "-n", deployment.Namespace, "delete", "subscriptions.operators.coreos.com,clusterserviceversions", "--all")
}

// deployedUID tells one Deployment of the operator from the next of the same name.
func deployedUID(g Gomega) types.UID {
	var found appsv1.Deployment
	g.Expect(api.Get(ctx, deployment, &found)).To(Succeed())
	return found.UID
}

// handedOver tells of an installation that Operator Lifecycle Manager takes over, and that is then taken back. docs/operations/olm.md.
func handedOver(by installer) func() {
	return func() {
		t := &tenant{deployment.Namespace}
		var (
			cluster *v1beta1.EtcdCluster
			before  map[string]life
			clients *writer
			lease   *witness.Succession
		)
		isUndisturbed := func() {
			GinkgoHelper()
			settles(cluster)
			Expect(lives(cluster)).To(Equal(before), "no Pod of etcd was replaced or restarted")
			isLookedAfterBy(cluster, deployment.Namespace)
			holders := slices.DeleteFunc(witness.HoldersOf(lease.Tenures()), func(holder string) bool { return holder == "" })
			Expect(slices.Compact(slices.Sorted(slices.Values(holders)))).To(HaveLen(len(holders)), "none led twice: %q", holders)
		}
		BeforeAll(func() {
			neverSeen()
			DeferCleanup(func() {
				leaveOLM()
				neverSeen()
				installCRD() // as it was found
			})
			t.publish(published("0.10.0"))
			run("make", "images", "REGISTRY="+registry) // that of a release is OLM's alone
			by.installs()
			cluster = create(newCluster(newNamespace(), "handed"))
			put(cluster, "key", "value")
			before, clients, lease = lives(cluster), startWriter(cluster), watchLease()
		})

		It("is taken over in place: the same Deployment, the same Lease, and no restart of etcd", func() {
			home := surely(deployedUID)
			by.forgets()
			t.group()
			t.subscribe(stableChannel)
			t.succeeds("0.10.0")
			t.isLedBy("0.10.0")
			Expect(deployedUID(Default)).To(Equal(home))
			isUndisturbed()
		})

		It("needs nothing of what is left of the roles, and heals", func() {
			left := "app.kubernetes.io/name=etcd-operator,app.kubernetes.io/managed-by=" + by.manages
			run("kubectl", "delete", "clusterroles,clusterrolebindings", "-l", left)
			run("kubectl", "-n", deployment.Namespace, "delete", "roles,rolebindings", "-l", left)
			c := create(newCluster(newNamespace(), "new", oneMember))
			comesBack(c, deletePod(c, "new-0"))
			remove(c)
			isUndisturbed()
		})

		It("is taken back, with no operator for a moment, and no restart of etcd", func() {
			begun := time.Now()
			leaveOLM()
			run("kubectl", append([]string{"-n", deployment.Namespace, "wait", "--for=delete", "--timeout=60s"}, olmDeletes...)...)
			by.installs()
			Eventually(func(g Gomega) {
				leader, _, found := strings.Cut(lease.Holder(), "_")
				g.Expect(found).To(BeTrue(), "there is a leader")
				var p corev1.Pod
				g.Expect(api.Get(ctx, client.ObjectKey{Namespace: deployment.Namespace, Name: leader}, &p)).To(Succeed())
				g.Expect(p.Spec.Containers[0].Env).NotTo(ContainElement(HaveField("Name", "OPERATOR_CONDITION_NAME")))
			}).Should(Succeed())
			took("from the deletion of the CSV to the leader that is not OLM's", begun)
			isUndisturbed()
			stays(10*time.Second, func(g Gomega) { g.Expect(operatorPods(g)).To(HaveLen(2)) })
			writeManifestOf("registry.example/etcd-operator/etcd-operator:none") // of which the names count
			run("kubectl", "get", "-f", manifest)
			run("kubectl", "-n", deployment.Namespace, "delete", "operatorgroups", "--all")
		})

		It("was not noticed by clients of etcd, and goes on", func() {
			isUndisturbed()
			clients.end()
			Expect(clients.acked).To(BeNumerically(">", 0))
			Expect(clients.failed).To(BeEmpty())
			victim, _ := aFollower(cluster)
			comesBack(cluster, deletePod(cluster, victim))
			resize(cluster, 1)
			Expect(value(cluster, "key")).To(Equal("value"))
			remove(cluster)
		})
	}
}
