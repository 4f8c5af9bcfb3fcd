// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package initialdata_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/initialdata"
)

// formed is a cluster that has formed empty, serves, and is to begin with the ConfigMap settings.
func formed() *v1beta1.EtcdCluster {
	c := &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: types.UID("u1")}}
	from := v1beta1.Import{ConfigMapRef: &v1beta1.ImportReference{Name: "settings"}, Prefix: "/p/"}
	c.Spec.Bootstrap = &v1beta1.BootstrapSpec{Import: &from}
	c.Status.ClusterID, c.Status.Bootstrap = "c1", &v1beta1.Bootstrap{Token: "u1", Members: []string{"a-0"}}
	condition(c, v1beta1.ConditionAvailable, metav1.ConditionTrue)
	return c
}

func condition(c *v1beta1.EtcdCluster, kind string, status metav1.ConditionStatus) {
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: "R"})
}

// TestSources: all entries of a ConfigMap, and those of a Secret that people have made for themselves.
func TestSources(t *testing.T) {
	got := initialdata.OfConfigMap(&corev1.ConfigMap{Data: map[string]string{"a": "1"}, BinaryData: map[string][]byte{"b": {2}}})
	if !got.Exists || string(got.Entries["a"]) != "1" || got.Entries["b"][0] != 2 || len(got.Entries) != 2 {
		t.Errorf("a ConfigMap: %+v", got)
	}
	for kind, taken := range map[corev1.SecretType]bool{
		"": true, corev1.SecretTypeOpaque: true, corev1.SecretTypeTLS: false, corev1.SecretTypeServiceAccountToken: false, "x.example/y": false,
	} {
		got := initialdata.OfSecret(&corev1.Secret{Type: kind, Data: entries("a", "1")})
		if !got.Exists || (got.Refused == "") != taken || (len(got.Entries) == 1) != taken {
			t.Errorf("a Secret of type %q: %+v", kind, got)
		}
	}
	ours := &corev1.Secret{Data: entries("ca.crt", "1")}
	ours.Labels = map[string]string{specs.ManagedByLabel: v1beta1.FieldOwner}
	if got := initialdata.OfSecret(ours); got.Refused == "" || len(got.Entries) > 0 {
		t.Errorf("a Secret of the operator: %+v", got)
	}
}

// TestWhatIsSaid: when all keys are there, and after an error.
func TestWhatIsSaid(t *testing.T) {
	c := formed()
	for want, got := range map[string]metav1.Condition{
		"the key of ConfigMap settings is in etcd":                                             initialdata.Written(c, 1, 0),
		"12 keys of ConfigMap settings are in etcd; 3 were there already and are as they were": initialdata.Written(c, 12, 3),

		"trying again: no space": initialdata.Failed(errors.New("no space")),
	} {
		if isDone := got.Status == metav1.ConditionTrue; got.Message != want || isDone != strings.Contains(want, "etcd") {
			t.Errorf("got %+v, want %q", got, want)
		}
	}
}
