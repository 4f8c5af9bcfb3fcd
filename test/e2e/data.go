// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// fill writes some data and returns it.
func fill(c *v1beta1.EtcdCluster) map[string]string {
	GinkgoHelper()
	ask(c, func(ctx context.Context, etcd *clientv3.Client) error {
		for i := range 200 {
			if _, err := etcd.Put(ctx, fmt.Sprintf("data/%03d", i), fmt.Sprintf("%d squared is %d", i, i*i)); err != nil {
				return err
			}
		}
		return nil
	})
	data := filled(c)
	Expect(data).To(HaveLen(200))
	return data
}

// filled is what is left of the data.
func filled(c *v1beta1.EtcdCluster) map[string]string {
	GinkgoHelper()
	data := map[string]string{}
	ask(c, func(ctx context.Context, etcd *clientv3.Client) error {
		response, err := etcd.Get(ctx, "data/", clientv3.WithPrefix())
		if err != nil {
			return err
		}
		for _, pair := range response.Kvs {
			data[string(pair.Key)] = string(pair.Value)
		}
		return nil
	})
	return data
}

// putLarge writes so many values of a MiB.
func putLarge(c *v1beta1.EtcdCluster, count int) {
	GinkgoHelper()
	ask(c, func(ctx context.Context, etcd *clientv3.Client) error {
		for i := range count {
			if _, err := etcd.Put(ctx, fmt.Sprintf("big/%d", i), strings.Repeat("x", 1<<20)); err != nil {
				return err
			}
		}
		return nil
	})
}
