// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// TestObjectsThatAreNotAsWanted: each that is missing or bent is named with its
// fault, and a change that is not ours to make is left alone.
func TestObjectsThatAreNotAsWanted(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*scene)
		want  []string
	}{
		"no headless service": {func(s *scene) { s.drop("Service a") }, []string{"Service a: it is missing"}},
		"no budget":           {func(s *scene) { s.drop("PodDisruptionBudget a") }, []string{"PodDisruptionBudget a: it is missing"}},
		"another selector": {func(s *scene) {
			s.find("Service a-client").(*corev1.Service).Spec.Selector["etcd-operator.dev/cluster"] = "b"
		}, []string{"Service a-client: it is not as wanted"}},
		"another port": {func(s *scene) {
			s.find("Service a").(*corev1.Service).Spec.Ports[1].Port = 80
		}, []string{"Service a: it is not as wanted"}},
		"a narrower selector": {func(s *scene) {
			s.find("Service a-client").(*corev1.Service).Spec.Selector["app"] = "other"
		}, []string{"Service a-client: it is not as wanted"}},
		"a port is gone": {func(s *scene) {
			spec := &s.find("Service a").(*corev1.Service).Spec
			spec.Ports = spec.Ports[1:]
		}, []string{"Service a: it is not as wanted"}},
		"another port before ours": {func(s *scene) {
			spec := &s.find("Service a-client").(*corev1.Service).Spec
			spec.Ports = append([]corev1.ServicePort{{Name: "theirs", Port: 80}}, spec.Ports...)
		}, nil},
		"a narrower budget": {func(s *scene) {
			s.find("PodDisruptionBudget a").(*policyv1.PodDisruptionBudget).Spec.Selector.MatchLabels["app"] = "other"
		}, []string{"PodDisruptionBudget a: it is not as wanted"}},
		"a budget of those that may go": {func(s *scene) {
			spec := &s.find("PodDisruptionBudget a").(*policyv1.PodDisruptionBudget).Spec
			spec.MinAvailable, spec.MaxUnavailable = nil, ptr.To(intstr.FromInt32(1))
		}, []string{"PodDisruptionBudget a: it is not as wanted"}},
		"a smaller budget": {func(s *scene) {
			s.find("PodDisruptionBudget a").(*policyv1.PodDisruptionBudget).Spec.MinAvailable = ptr.To(intstr.FromInt32(1))
		}, []string{"PodDisruptionBudget a: it is not as wanted"}},
		"what Kubernetes adds": {func(s *scene) {
			service := s.find("Service a-client").(*corev1.Service)
			service.Spec.ClusterIP, service.Spec.SessionAffinity = "10.1.1.1", corev1.ServiceAffinityNone
			service.Labels["team"], service.Annotations = "x", map[string]string{"a": "b"}
		}, nil},
		"a label is gone": {func(s *scene) {
			delete(s.find("PodDisruptionBudget a").(*policyv1.PodDisruptionBudget).Labels, "app.kubernetes.io/part-of")
		}, []string{"PodDisruptionBudget a: labels of it are not as wanted"}},
		"a label of the Service of members is gone": {func(s *scene) {
			delete(s.find("Service a").(*corev1.Service).Labels, "app.kubernetes.io/part-of")
		}, []string{"Service a: labels of it are not as wanted"}},
		"no secret of members": {func(s *scene) { s.drop("Secret a-member-tls") }, []string{"Secret a-member-tls: "}},
		"no authority": {func(s *scene) { s.drop("Secret a-peer-ca") }, []string{
			"Secret a-peer-ca: it is missing", "Secret a-member-tls: ",
		}},
		"no data": {func(s *scene) { s.find("Secret a-client").(*corev1.Secret).Data = nil }, []string{"Secret a-client: "}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			test.spoil(s)
			var got []string
			for _, o := range s.look().Objects {
				got = append(got, o.String()+": "+o.Why)
				if waits := o.String() == "Secret a-client" || strings.HasPrefix(o.Why, "labels of it"); o.CanWait != waits {
					t.Errorf("%s can wait: %t", o, o.CanWait)
				}
			}
			matches := func(got, want string) bool { return len(got) >= len(want) && got[:len(want)] == want }
			if !slices.EqualFunc(got, test.want, matches) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestLostAuthority: what is signed by another authority than before is marked, and so is the authority.
func TestLostAuthority(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*scene)
		want  []string
	}{
		"a member's Secret alone": {func(s *scene) { s.drop("Secret a-member-tls") }, []string{"Secret a-member-tls parts=false"}},
		"the peers'": {func(s *scene) { s.drop("Secret a-peer-ca", "Secret a-client") }, []string{
			"lost Secret a-peer-ca: it is missing, a-member-tls has its certificates",
			"Secret a-peer-ca parts=true", "Secret a-member-tls parts=true", "Secret a-client parts=false",
		}},
		"the clients', and what it signed": {func(s *scene) { s.drop("Secret a-client-ca", "Secret a-member-tls") }, []string{
			"lost Secret a-client-ca: it is missing,  has its certificates",
			"Secret a-client-ca parts=true", "Secret a-member-tls parts=true", "Secret a-client parts=true",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			test.spoil(s)
			v := s.look()
			var got []string
			for _, o := range v.Lost {
				got = append(got, fmt.Sprintf("lost %s: %s, %s has its certificates", o, o.Why, o.Holder))
			}
			for _, o := range v.Objects {
				got = append(got, fmt.Sprintf("%s parts=%t", o, o.ChangesCA))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestNothingIsThereYet: everything is named, authorities first.
func TestNothingIsThereYet(t *testing.T) {
	s := newScene(t)
	s.objects, s.c.Status = nil, v1beta1.EtcdClusterStatus{}
	want := []string{
		"Secret a-client-ca", "Secret a-peer-ca", "Secret a-member-tls", "Secret a-client",
		"Service a", "Service a-client", "PodDisruptionBudget a",
	}
	var got []string
	for _, o := range s.look().Objects {
		got = append(got, o.String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestWithoutTLSThereIsOneSecret: the one that says where clients connect to.
func TestWithoutTLSThereIsOneSecret(t *testing.T) {
	s := newScene(t)
	s.c.Spec.TLS.Mode = v1beta1.TLSDisabled
	s.objects, s.c.Status = nil, v1beta1.EtcdClusterStatus{}
	if got := s.look().Objects; len(got) != 4 || got[0].String() != "Secret a-client" {
		t.Errorf("got %v", got)
	}
}

// TestBudgetIsForTheVotersThatThereAre: a larger wish alone does not change it.
func TestBudgetIsForTheVotersThatThereAre(t *testing.T) {
	s := newScene(t)
	s.c.Spec.Size = ptr.To[int32](7)
	if got := s.look().Objects; len(got) > 0 {
		t.Errorf("got %v", got)
	}
	s.find("PodDisruptionBudget a").SetOwnerReferences(owner("EtcdCluster", "b", "u9"))
	if got := s.look(); len(got.Objects) > 0 || len(got.Foreign) != 1 {
		t.Errorf("objects %v, foreign %v", got.Objects, got.Foreign)
	}
}

// TestCertificatesThatAreDueCanWait: members start with what is valid, one year long.
func TestCertificatesThatAreDueCanWait(t *testing.T) {
	for months, canWait := range map[int]bool{9: true, 13: false} {
		s := newScene(t)
		held := certs.Read(s.c, func(string) *corev1.Secret { return nil })
		for _, name := range certs.Names(s.c) {
			secret, err := held.Make(rand.Reader, now.AddDate(0, -months, 0), s.c, name)
			if err != nil {
				t.Fatal(err)
			}
			s.find("Secret " + name).(*corev1.Secret).Data = secret.Data
		}
		if all := s.look().Objects; len(all) != 2 || all[0].Name != "a-member-tls" || all[0].CanWait != canWait || !all[1].CanWait {
			t.Errorf("after %d months: %+v", months, all)
		}
	}
}

// TestChangedTypeOfServiceIsReported: a message says that the type of the client Service is set back, and what to do instead.
func TestChangedTypeOfServiceIsReported(t *testing.T) {
	s := newScene(t)
	s.find("Service a-client").(*corev1.Service).Spec.Type = corev1.ServiceTypeLoadBalancer
	step, _ := plan.Next(s.look())
	const want = "apply Service a-client; Service a-client: its type was changed, and is set back; for clients outside"
	if !strings.HasPrefix(step.String(), want) || plan.KindOf(step).Event != "ObjectsApplied" {
		t.Errorf("%s", step)
	}
}
