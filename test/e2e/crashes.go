// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/test/e2e/internal/apiproxy"
)

// writesOfACreation are the kinds of the writes by which a cluster comes into being, in order.
func writesOfACreation(o *operator, namespace string) []string {
	GinkgoHelper()
	o.Forget()
	c := create(newCluster(namespace, "reference"))
	Expect(members(c)).To(HaveLen(3))
	var trace []string
	for _, write := range o.Written() {
		trace = append(trace, strings.Join(strings.Fields(write)[:2], " "))
	}
	AddReportEntry("writes of a creation", strings.Join(trace, "\n"))
	discard(c)
	return trace
}

// points are the writes to break: one of each kind and the last, or all with
// E2E_MATRIX=full.
func points(trace []string) []int {
	seen := map[string]bool{}
	var chosen []int
	for i, write := range trace {
		if !seen[write] || i == len(trace)-1 || os.Getenv("E2E_MATRIX") == "full" {
			chosen = append(chosen, i)
		}
		seen[write] = true
	}
	return chosen
}

// createBroken makes a cluster, and lets its write with that number meet its fate. When
// it comes into being without one, because less had to be said of it than of the first,
// another meets it a write earlier.
func createBroken(o *operator, namespace, prefix string, number int, fate apiproxy.Verdict, dies bool) *v1beta1.EtcdCluster {
	GinkgoHelper()
	for at := number; at >= 0; at-- {
		c := newCluster(namespace, fmt.Sprintf("%s-%d-%d", prefix, number, at))
		broken := breakAt(o, c.Name, at, fate, dies)
		Expect(api.Create(ctx, c)).To(Succeed())
		Eventually(func(g Gomega) {
			if !isClosed(broken) {
				isSettled(g, c)
			}
		}).Should(Succeed(), "write %d", at)
		if isClosed(broken) {
			return c
		}
		discard(c)
	}
	Fail("no write was broken")
	return nil
}

// breakAt lets the cluster's write with that number meet its fate. If the operator
// dies with it, nothing that it asks afterwards arrives. The channel is closed when
// it is so.
func breakAt(o *operator, name string, number int, fate apiproxy.Verdict, dies bool) <-chan struct{} {
	broken := make(chan struct{})
	count, dead := 0, false
	o.OnRequest(func(asked apiproxy.Request) apiproxy.Verdict {
		if dead {
			return apiproxy.Drop
		}
		ofAnother := asked.Resource == "etcdclusters" && asked.Name != name
		if !asked.IsWrite() || ofAnother {
			return apiproxy.Pass
		}
		count++
		if count != number+1 {
			return apiproxy.Pass
		}
		dead = dies
		close(broken)
		return fate
	})
	return broken
}

func isClosed(channel <-chan struct{}) bool {
	select {
	case <-channel:
		return true
	default:
		return false
	}
}
