// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// table is what kubectl get prints.
type table struct{ metav1.Table }

func (t table) column(name string) any {
	GinkgoHelper()
	for i, column := range t.ColumnDefinitions {
		if column.Name == name {
			return t.Rows[0].Cells[i]
		}
	}
	Fail("no column " + name)
	return nil
}

// asTable is the row that kubectl get prints for an object.
func asTable(resource string, object client.Object) table {
	GinkgoHelper()
	chosen := rest.CopyConfig(config)
	chosen.GroupVersion = &v1beta1.GroupVersion
	chosen.APIPath = "/apis"
	chosen.NegotiatedSerializer = plainCodec()
	asker, err := rest.RESTClientFor(chosen)
	Expect(err).NotTo(HaveOccurred())
	text, err := asker.Get().Namespace(object.GetNamespace()).Resource(resource).Name(object.GetName()).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(ctx)
	Expect(err).NotTo(HaveOccurred())
	var shown table
	Expect(json.Unmarshal(text, &shown.Table)).To(Succeed())
	Expect(shown.Rows).To(HaveLen(1))
	return shown
}

func plainCodec() runtime.NegotiatedSerializer { return clientgoscheme.Codecs.WithoutConversion() }
