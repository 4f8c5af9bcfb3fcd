// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/test/load"
)

// outage is how long nobody may be able to write, however busy the machine is
// besides: much more than an election takes. What a quiet machine needs is measured
// by the benchmarks gap-*; that nobody waited for an election is seen by elections
// and hand-overs.
const outage = 30 * time.Second

// needsService skips what needs the way from here to a Service's address.
func needsService() {
	if !isLocal() {
		Skip("Services are reached from here on the local cluster only")
	}
}

// throughService dials as an application would: to the client Service, with what
// is in the client Secret.
func throughService(c *v1beta1.EtcdCluster) clientv3.Config {
	GinkgoHelper()
	var service corev1.Service
	Expect(api.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.ClientService()}, &service)).To(Succeed())
	who := identity(c)
	who.ServerName = service.Name + "." + service.Namespace + ".svc"
	return settings([]string{"https://" + net.JoinHostPort(service.Spec.ClusterIP, "2379")}, who)
}

// busy disturbs a cluster while clients are busy, and checks what they saw.
func busy(c *v1beta1.EtcdCluster, disturb func()) (load.Result, load.Beats) {
	GinkgoHelper()
	working, stop := context.WithCancel(ctx)
	defer stop()
	way := throughService(c)
	single, err := clientv3.New(way)
	Expect(err).NotTo(HaveOccurred())
	defer single.Close()
	pulse := load.StartPulse(working, single, "pulse")
	clients, err := load.Start(working, func() (*clientv3.Client, error) {
		once := way
		once.MaxUnaryRetries = 1
		return clientv3.New(once)
	})
	Expect(err).NotTo(HaveOccurred())
	time.Sleep(time.Second)
	disturb()
	time.Sleep(time.Second)
	beats, result := pulse.End(), clients.End()
	AddReportEntry("clients", result.String())
	AddReportEntry("pulse", beats.String())
	if err := result.Err(); err != nil {
		keepHistory(result)
		Fail(err.Error())
	}
	Expect(result.Writes).To(BeNumerically(">", 0)) // how many depends on the machine
	Expect(result.Reads).To(BeNumerically(">", 0))
	return result, beats
}

// keepHistory saves what clients saw, in the order of their calls.
func keepHistory(result load.Result) {
	var text []byte
	for _, o := range result.History {
		text = fmt.Appendf(text, "%12d %12d %d %s %s %v\n", o.Call.Microseconds(), o.Return.Microseconds(), o.Outcome, o.Key, o, o.Err)
	}
	folder := filepath.Join(top, "artifacts")
	_ = os.MkdirAll(folder, 0o750)
	keep(folder, "history.txt", text)
}
