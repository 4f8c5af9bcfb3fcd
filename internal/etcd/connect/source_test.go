// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// consented is an EtcdCluster that adopts by a password, and a dialer that reads that in a Secret whose annotation has this value.
func consented(value string) (*Dialer, *v1beta1.EtcdCluster) {
	c := example()
	c.Spec.TLS.Mode = v1beta1.TLSDisabled
	c.Spec.Bootstrap = &v1beta1.BootstrapSpec{Adopt: &v1beta1.Adopt{
		Endpoints: []string{"http://old-0:2379"}, CredentialsRef: &v1beta1.Credentials{Name: "old"},
	}}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "old", Annotations: map[string]string{v1beta1.AnnotationAdoptedBy: value},
		},
		Data: map[string][]byte{"password": []byte("word")},
	}
	return &Dialer{Reader: client.Reader(fake.NewClientBuilder().WithObjects(secret).Build())}, c
}

// TestPasswordGoesWhereTheSecretSays: to the endpoints that the annotation names, for the EtcdCluster whose UID it has, and nowhere else.
func TestPasswordGoesWhereTheSecretSays(t *testing.T) {
	for what, test := range map[string]struct{ value, url, refused string }{
		"all of it":                {"a,u1,http://old-0:2379", "http://old-0:2379", ""},
		"an advertised one, too":   {"a,u1,http://old-0:2379,http://old-1:2379", "http://old-1:2379", ""},
		"a name alone":             {"a", "http://old-0:2379", "whatever its UID and endpoints are"},
		"a namesake":               {"a,u0,http://old-0:2379", "http://old-0:2379", "allows another EtcdCluster of the name a"},
		"another name":             {"b,u1,http://old-0:2379", "http://old-0:2379", "does not allow it"},
		"none":                     {"", "http://old-0:2379", "adopted-by=a,u1,http://old-0:2379'"},
		"other endpoints":          {"a,u1,http://old-1:2379", "http://old-0:2379", "does not allow it to use http://old-0:2379"},
		"one that is advertised":   {"a,u1,http://old-0:2379", "http://evil:2379", "old-0:2379,http://evil:2379'"},
		"another scheme":           {"a,u1,https://old-0:2379", "http://old-0:2379", "does not allow it to use http://old-0:2379"},
		"what could end the quote": {"", "http://old-0:2379/'x", `http://old-0:2379/'\''x'`},
	} {
		d, c := consented(test.value)
		target, err := d.source(t.Context(), c, test.url)
		switch {
		case test.refused == "" && (err != nil || target.Password != "word"):
			t.Errorf("%s: %v", what, err)
		case test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused) || target.Password != ""):
			t.Errorf("%s: got %q, %v", what, target.Password, err)
		}
	}
}

// TestAdoptionsThatHaveBegunGoOn although the annotation is as older operators wanted it: the name alone.
func TestAdoptionsThatHaveBegunGoOn(t *testing.T) {
	d, c := consented("a")
	if target, err := d.target(t.Context(), c, one); err == nil || target.Password != "" {
		t.Errorf("a member of a cluster that has not begun: %q", target.Password)
	}
	c.Status.Adoption = &v1beta1.AdoptionStatus{}
	if target, err := d.source(t.Context(), c, "http://old-1:2379"); err != nil || target.Password != "word" {
		t.Errorf("a source: %v", err)
	}
	if target, err := d.target(t.Context(), c, one); err != nil || target.Password != "word" {
		t.Errorf("a member: %v", err)
	}
	if c.UID = "u2"; c.MayUse("secret/old", map[string]string{v1beta1.AnnotationAdoptedBy: "a,u1,http://old-0:2379"}) == "" {
		t.Error("the annotation names another one")
	}
}
