// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// movedData is what a backup tool does that maps one namespace to another: the volume of a cluster
// is claimed by the same name elsewhere. The data goes back to where it belongs, and is all there.
func movedData() {
	retained := func(spec *v1beta1.EtcdClusterSpec) {
		oneMember(spec)
		spec.DeletionPolicy = v1beta1.Retain
	}
	for _, mark := range []struct {
		name    string
		missing []string // annotations of the volume
		says    string
	}{
		{"a volume says where it belongs, and is not mounted", nil, "PersistentVolumeClaim moved-0 is in the way"},
		{"etcd says where it belongs, if the volume does not", []string{v1beta1.AnnotationNamespace}, "etcd lists its member at"},
	} {
		It(mark.name, func() {
			namespace, elsewhere := newNamespace(), newNamespace()
			startOperator(namespace + "," + elsewhere)
			c := create(newCluster(namespace, "moved", retained))
			put(c, "key", "survives")
			id := now(c).Status.ClusterID
			remove(c)

			claim := rebind(namespace, elsewhere, "moved-0", mark.missing...)
			stranger := newCluster(elsewhere, "moved", retained)
			Expect(api.Create(ctx, stranger)).To(Succeed())
			says(stranger, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, mark.says)
			Expect(conditionOf(now(stranger), v1beta1.ConditionDegraded).Message).To(And(
				ContainSubstring(namespace), Not(ContainSubstring("member remove"))))
			if mark.missing == nil {
				Expect(pods(stranger)).To(BeEmpty())
			}
			remove(stranger)
			Expect(api.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed(), "the volume is kept")

			rebind(elsewhere, namespace, "moved-0") // with what the operator has written on it meanwhile
			again := create(newCluster(namespace, "moved", retained))
			Expect(value(again, "key")).To(Equal("survives"))
			Expect(now(again).Status.ClusterID).To(Equal(id))
			discard(again)
		})
	}
}
