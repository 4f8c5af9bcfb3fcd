// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestFault87CertManagerWritesOverNothing: a Secret of the name of one that cert-manager is to write is left alone, unless cert-manager has
// written it for this very Certificate of this very cluster, or is to write it already.
func TestFault87CertManagerWritesOverNothing(t *testing.T) {
	c := with(issuedBy(v1beta1.IssuerRef{Name: "corp"}))
	wanted := specs.Certificates(c, "")[0]
	name := specs.SecretOf(wanted)
	secret := func(cluster, certificate string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{specs.ManagedByLabel: v1beta1.FieldOwner, v1beta1.LabelCluster: cluster},
			Annotations: map[string]string{"cert-manager.io/certificate-name": certificate},
		}}
	}
	elsewhere := wanted.DeepCopy()
	if err := unstructured.SetNestedField(elsewhere.Object, "another", "spec", "secretName"); err != nil {
		t.Fatal(err)
	}
	somebodys := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}
	unlabelled := secret(c.Name, wanted.GetName())
	unlabelled.Labels = nil
	for _, test := range []struct {
		what        string
		certificate *unstructured.Unstructured
		secret      *corev1.Secret
		refused     bool
	}{
		{what: "none"},
		{what: "a person's", secret: somebodys, refused: true},
		{what: "written for it", secret: secret(c.Name, wanted.GetName())},
		{what: "written for another Certificate", secret: secret(c.Name, "shop"), refused: true},
		{what: "written for another cluster", secret: secret("other", wanted.GetName()), refused: true},
		{what: "written for a Certificate of another owner", secret: unlabelled, refused: true},
		{what: "a person's, whom cert-manager overwrites already", certificate: wanted, secret: somebodys},
		{what: "a person's, beside a Certificate for another", certificate: elsewhere, secret: secret(c.Name, "shop"), refused: true},
	} {
		if why := specs.WouldOverwrite(wanted, test.certificate, test.secret); (why != "") != test.refused {
			t.Errorf("%s: %q", test.what, why)
		}
	}
}
