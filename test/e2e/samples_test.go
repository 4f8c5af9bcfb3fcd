// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func samples() {
	files, _ := filepath.Glob(filepath.Join(top, "config/samples/*.yaml"))
	for i, file := range files {
		// Others need a store of the user's, or a backup in it, or certificates that somebody issues.
		needy := slices.ContainsFunc([]string{"restored", "brought", "issued"}, func(kind string) bool {
			return strings.HasPrefix(filepath.Base(file), kind)
		})
		if needy || !strings.Contains(filepath.Base(file), "etcdcluster") {
			continue
		}
		It("becomes available as it is: "+filepath.Base(file), longAfter(0, i), func() {
			namespace := newNamespace()
			startOperator(namespace)
			sample := readObject(file)
			sample.SetNamespace(namespace)
			apply(sample)
			c := &v1beta1.EtcdCluster{}
			c.Namespace, c.Name = namespace, sample.GetName()
			settles(c)
			if c := now(c); c.IsSecure() {
				put(c, "key", "value")
				Expect(value(c, "key")).To(Equal("value"))
			}
		})
	}
}
