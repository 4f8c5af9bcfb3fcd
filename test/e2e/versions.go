// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

const image = "gcr.io/etcd-development/etcd:v"

// statusOf asks every member for its own status, by name.
func statusOf(g Gomega, c *v1beta1.EtcdCluster) map[string]*clientv3.StatusResponse {
	all := map[string]*clientv3.StatusResponse{}
	for _, p := range podsOf(g, c.Namespace, ours(c)) {
		one := dialNow(g, c, p.Name)
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		status, err := one.Status(limited, one.Endpoints()[0])
		cancel()
		g.Expect(one.Close()).To(Succeed())
		g.Expect(err).NotTo(HaveOccurred())
		all[p.Name] = status
	}
	return all
}

// of is one thing that members say.
func of[T any](statuses map[string]*clientv3.StatusResponse, what func(*clientv3.StatusResponse) T) map[string]T {
	all := map[string]T{}
	for name, status := range statuses {
		all[name] = what(status)
	}
	return all
}

// running are the versions that members say they run.
func running(c *v1beta1.EtcdCluster) map[string]string {
	GinkgoHelper()
	return surely(func(g Gomega) map[string]string {
		return of(statusOf(g, c), func(s *clientv3.StatusResponse) string { return s.Version })
	})
}

// runningNow are the versions that members run by the cluster's status.
func runningNow(g Gomega, c *v1beta1.EtcdCluster) []string {
	var versions []string
	for _, m := range read(g, c).Status.Members {
		versions = append(versions, m.Version)
	}
	return versions
}

// stored are the versions of the members' data.
func stored(g Gomega, c *v1beta1.EtcdCluster) map[string]string {
	return of(statusOf(g, c), func(s *clientv3.StatusResponse) string { return s.StorageVersion })
}

// downgrading says of each member whether etcd still lets it go down.
func downgrading(g Gomega, c *v1beta1.EtcdCluster) map[string]bool {
	return of(statusOf(g, c), func(s *clientv3.StatusResponse) bool { return s.DowngradeInfo.GetEnabled() })
}
