// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"strconv"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func otherWriters() {
	It("fault 10: a controller that edits the cluster 20 times a second neither stops a change nor makes the operator spin", func() {
		needsOwnOperator()
		namespace := newNamespace()
		o := startOperator(namespace)
		c := create(newCluster(namespace, "busy", func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To[int32](1) }))

		storm, calm := context.WithCancel(ctx)
		var writers sync.WaitGroup
		edits := 0
		writers.Go(func() {
			for storm.Err() == nil {
				patch := client.RawPatch("application/merge-patch+json",
					[]byte(`{"metadata":{"annotations":{"count":"`+strconv.Itoa(edits)+`"},"labels":{"count":"`+strconv.Itoa(edits%7)+`"}}}`))
				_ = api.Patch(ctx, c.DeepCopy(), patch)
				edits++
				time.Sleep(50 * time.Millisecond)
			}
		})
		defer func() {
			calm()
			writers.Wait()
		}()
		o.Forget()
		begun := time.Now()
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To[int32](3) })).To(Succeed())
		settles(c)
		took := time.Since(begun)
		Expect(members(c)).To(HaveLen(3))
		perSecond := float64(o.Requests()) / took.Seconds()
		Expect(perSecond).To(BeNumerically("<", 100), "requests a second")

		o.Forget()
		time.Sleep(5 * time.Second)
		Expect(o.Written()).To(BeEmpty(), "edits of metadata alone cause no writes")
		Expect(o.Requests()).To(BeNumerically("<", 25))
		Expect(edits).To(BeNumerically(">", 50))
	})
}
