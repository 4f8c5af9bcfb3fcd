package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/test/e2e/internal/witness"
)

// Without a logger, clients complain that there is none.
func init() { ctrl.SetLogger(GinkgoLogr) }

// callWitness makes a witness of everything that becomes of the cluster from now on.
func callWitness(c *v1alpha1.EtcdCluster) *witness.Witness {
	GinkgoHelper()
	return witness.Call(ctx, watcher(), c)
}

// watcher is a client that can watch.
func watcher() client.WithWatch {
	GinkgoHelper()
	made, err := client.NewWithWatch(config, client.Options{Scheme: api.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	return made
}
