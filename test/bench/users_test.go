// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// TestInPlace: what was said of an older spec, of another cluster, or without a Secret to connect by does not count.
func TestInPlace(t *testing.T) {
	good := func() v1beta1.EtcdUser {
		u := *(&bench{}).user("a", "u", "")
		u.Generation = 2
		u.Status.Binding = &v1beta1.EtcdUserBinding{Name: "a-user-u"}
		u.Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: 2}}
		return u
	}
	all := []v1beta1.EtcdUser{good()}
	for _, spoil := range []func(*v1beta1.EtcdUser){
		func(u *v1beta1.EtcdUser) { u.Generation = 3 },
		func(u *v1beta1.EtcdUser) { u.Spec.Cluster = "b" },
		func(u *v1beta1.EtcdUser) { u.Status.Binding = nil },
		func(u *v1beta1.EtcdUser) { u.Status.Conditions[0].Status = metav1.ConditionUnknown },
		func(u *v1beta1.EtcdUser) { u.Status.Conditions = nil },
	} {
		u := good()
		spoil(&u)
		all = append(all, u)
	}
	if got := inPlace(all, "a"); got != 1 {
		t.Errorf("%d users are in place, want one", got)
	}
}
