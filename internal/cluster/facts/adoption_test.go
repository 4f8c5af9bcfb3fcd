// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
	"github.com/etcd-operator/etcd-operator/internal/cluster/memory"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// running is a cluster of others, of three members without TLS, as it is read before it is adopted. Everything agrees.
func running() *facts.Snapshot {
	c := &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "u1"}}
	c.Spec.Size, c.Spec.Version, c.Spec.TLS.Mode = ptr.To[int32](3), "3.6", v1beta1.TLSDisabled
	c.Spec.Storage.Size = ptr.To(resource.MustParse("2Gi"))
	c.Spec.Bootstrap = &v1beta1.BootstrapSpec{Adopt: &v1beta1.Adopt{
		Endpoints: []string{"http://old-0:2379"}, Services: []string{"old"}, StatefulSet: "old",
	}}
	meta := metav1.ObjectMeta{Namespace: "default", Name: "old", Annotations: map[string]string{v1beta1.AnnotationAdoptedBy: c.Consent()}}
	s := &facts.Snapshot{
		Cluster: c, Now: now, Asleep: true, Workload: &appsv1.StatefulSet{ObjectMeta: meta},
		SourceServices: map[string]*corev1.Service{
			"old": {ObjectMeta: meta, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "old"}}},
		},
	}
	for i := range uint64(3) {
		name := fmt.Sprintf("old-%d", i)
		s.List = append(s.List, etcd.Member{
			ID: 1 + i, Name: name, PeerURLs: []string{"http://" + name + ":2380"}, ClientURLs: []string{"http://" + name + ":2379"},
		})
		s.Answers = append(s.Answers, &facts.Answer{
			Member: "http://" + name + ":2379", Source: true, WasRead: true, Revision: 5,
			Status: etcd.Status{
				ClusterID: 7, MemberID: 1 + i, LeaderID: 1, Version: "3.6.4", DBSize: 1 << 20,
				RaftTerm: 2, RaftIndex: 9, RaftAppliedIndex: 9,
			},
		})
	}
	return s
}

// TestSourcesThatAreFit: it is written down what the cluster has; nothing is wrong with it.
func TestSourcesThatAreFit(t *testing.T) {
	v := facts.View(*running(), &memory.Cluster{})
	if a := v.Adoption; a.Unreachable+a.Unfit != "" || a.ClusterID != "7" || len(a.Sources) != 3 || a.Sources[2].Name != "old-2" {
		t.Errorf("%+v", a)
	}
	if v.HealthySources() != 3 {
		t.Errorf("%+v", v.Unknown)
	}
}

// TestSourcesThatAreUnfit (fault 118): each is said in words that name what is wrong and what to do.
func TestSourcesThatAreUnfit(t *testing.T) {
	for says, spoil := range map[string]func(*facts.Snapshot){
		"old-1 is a learner: promote or remove it": func(s *facts.Snapshot) { s.List[1].Learner, s.Answers[1].Status.Learner = true, true },
		"has never started: start or remove it":    func(s *facts.Snapshot) { s.List[2].Name = "" },
		"it has raised the alarm NOSPACE": func(s *facts.Snapshot) {
			s.Answers[1].Status.Alarms = []etcd.Alarm{{MemberID: 2, Kind: cluster.NoSpace}}
		},
		"runs etcd 3.5.9: upgrade it to 3.5.11": func(s *facts.Snapshot) { s.Answers[2].Status.Version = "3.5.9" },
		`adopt it with version "3.5"`:           func(s *facts.Snapshot) { s.Answers[2].Status.Version = "3.5.21" },
		"choose another name for the EtcdCluster": func(s *facts.Snapshot) {
			s.List[0].Name = "a-0"
		},
		"or copy the data with bootstrap.copy": func(s *facts.Snapshot) { s.List[0].PeerURLs = []string{"https://old-0:2380"} },
		"does not serve reads":                 func(s *facts.Snapshot) { s.Answers[2].Read = errors.New("timeout") },
		"ask for a larger volume or quota":     func(s *facts.Snapshot) { s.Answers[0].Status.DBSize = 2 << 30 },
		"are of different clusters": func(s *facts.Snapshot) {
			s.Answers[2].Status.ClusterID, s.Answers[2].Status.MemberID = 8, 30
		},
		"Service old, which bootstrap.adopt.services": func(s *facts.Snapshot) { s.SourceServices["old"] = nil },
		"service/old does not allow it: if it should": func(s *facts.Snapshot) { s.SourceServices["old"].Annotations = nil },
		"service/old allows another EtcdCluster":      func(s *facts.Snapshot) { s.Cluster.UID = "u2" },
		"service/old allows an EtcdCluster of the name a, whatever": func(s *facts.Snapshot) {
			s.SourceServices["old"].Annotations = map[string]string{v1beta1.AnnotationAdoptedBy: "a"}
		},
		"does not serve reads at any of the URLs that it advertises: all members have to, so that none is missed while others join: secret": func(
			s *facts.Snapshot,
		) {
			s.Answers[2].Err = errors.New("secret/old does not allow it")
		},
		"statefulset/old does not allow it":              func(s *facts.Snapshot) { s.Workload = &appsv1.StatefulSet{} },
		"StatefulSet old, which bootstrap.adopt.statefu": func(s *facts.Snapshot) { s.Workload = nil },
		"are both named old-1":                           func(s *facts.Snapshot) { s.List[0].Name = "old-1" },
		"Service old selects no Pods":                    func(s *facts.Snapshot) { s.SourceServices["old"].Spec.Selector = nil },
		"cannot select members instead": func(s *facts.Snapshot) {
			s.SourceServices["old"].Spec.Type = corev1.ServiceTypeExternalName
		},
		"find each other by Service old": func(s *facts.Snapshot) {
			s.List[1].PeerURLs = []string{"http://old-1.old.default.svc:2380"}
		},
		"leads to port etcd of Pods, which members do not have": func(s *facts.Snapshot) {
			s.SourceServices["old"].Spec.Ports = []corev1.ServicePort{{Port: 2379, TargetPort: intstr.FromString("etcd")}}
		},
		"leads to port 4001 of Pods": func(s *facts.Snapshot) { s.SourceServices["old"].Spec.Ports = []corev1.ServicePort{{Port: 4001}} },
		"set both parts of its persistentVolumeClaimRetentionPolicy": func(s *facts.Snapshot) {
			s.Workload.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
			}
		},
	} {
		t.Run(says, func(t *testing.T) {
			s := running()
			for name, service := range s.SourceServices {
				s.SourceServices[name] = service.DeepCopy()
			}
			spoil(s)
			if a := facts.View(*s, &memory.Cluster{}).Adoption; !strings.Contains(a.Unfit, says) {
				t.Errorf("got %q, unreachable %q", a.Unfit, a.Unreachable)
			}
		})
	}
}

// TestServicesThatMembersServe: by the names of ports that charts have, by their numbers, and beside one of another namespace.
func TestServicesThatMembersServe(t *testing.T) {
	s := running()
	s.SourceServices["old"].Spec.Ports = []corev1.ServicePort{
		{Port: 2379, TargetPort: intstr.FromString("client")},
		{Port: 2380, TargetPort: intstr.FromString("peer")},
		{Port: 2379},
		{Port: 443, TargetPort: intstr.FromInt32(2379)},
	}
	s.List[1].PeerURLs = []string{"http://old-1.old.elsewhere.svc:2380"}
	if a := facts.View(*s, &memory.Cluster{}).Adoption; a.Unfit != "" {
		t.Error(a.Unfit)
	}
}

// TestWhatIsKnownAfterAnAdoption: Services and the StatefulSet are looked at while the spec names them, if they were read.
func TestWhatIsKnownAfterAnAdoption(t *testing.T) {
	s := running()
	s.Cluster.Status.Adoption = &v1beta1.AdoptionStatus{CompletedAt: &metav1.Time{Time: now}}
	a := facts.View(*s, &memory.Cluster{}).Adoption
	if a.Wanted || a.Undo || len(a.Services) != 1 || a.Services[0].Switched || a.Workload.Replicas != 1 {
		t.Errorf("%+v", a)
	}
	s.SourceServices = nil
	if a := facts.View(*s, &memory.Cluster{}).Adoption; len(a.Services) > 0 || a.Workload.Name != "" {
		t.Errorf("it hibernates, and they were not read: %+v", a)
	}
}

// TestSizeZeroWhileAdopting: it does not count, whatever the status knows yet, and a deletion undoes the adoption.
func TestSizeZeroWhileAdopting(t *testing.T) {
	s := running()
	s.Cluster.Spec.Size = ptr.To[int32](0)
	s.Cluster.Status.Adoption = &v1beta1.AdoptionStatus{}
	s.Cluster.Status.Members = []v1beta1.MemberStatus{{Name: "a-0"}, {Name: "a-1"}}
	if v := facts.View(*s, &memory.Cluster{}); v.Want.Size != 2 || !v.Adoption.Sleepy || v.Adoption.Undo {
		t.Errorf("size %d, %+v", v.Want.Size, v.Adoption)
	}
	s.Cluster.Finalizers, s.Cluster.DeletionTimestamp = []string{v1beta1.FinalizerAdoption}, &metav1.Time{Time: now}
	if v := facts.View(*s, &memory.Cluster{}); !v.Adoption.Held || !v.Adoption.Undo || v.Deleting || v.Backup.Held {
		t.Errorf("%+v, %+v", v.Adoption, v.Backup)
	}
	s.Cluster.Status.Adoption.CompletedAt = &metav1.Time{Time: now}
	if s.Cluster.Size() != 0 {
		t.Errorf("size %d when it is complete", s.Cluster.Size())
	}
}

// TestSchemeOfSources: what a member advertises does not say that a password goes by http.
func TestSchemeOfSources(t *testing.T) {
	c := running().Cluster
	c.Spec.Bootstrap.Adopt.Endpoints = []string{"https://old-0:2379"}
	c.Status.Adoption = &v1beta1.AdoptionStatus{Sources: []v1beta1.SourceMember{
		{ClientURLs: []string{"http://old-0:2379", "https://old-0:2379"}}, {ClientURLs: []string{"http://old-1:2379", "https://old-1:2379"}},
	}}
	if got := fmt.Sprint(c.SourceURLs()); got != "[https://old-0:2379 https://old-1:2379]" {
		t.Error(got)
	}
}

// TestSourcesThatDoNotAnswer: nothing is known, and that is said with what was seen.
func TestSourcesThatDoNotAnswer(t *testing.T) {
	for says, spoil := range map[string]func(*facts.Snapshot){
		"no member answers": func(s *facts.Snapshot) {
			for _, a := range s.Answers {
				a.Err = errors.New("connection refused")
			}
			s.List = nil
		},
		"no leader": func(s *facts.Snapshot) {
			for _, a := range s.Answers {
				a.Status.LeaderID, a.Read = 0, errors.New("timeout")
			}
			s.List = nil
		},
		"no member answers a linearizable read": func(s *facts.Snapshot) {
			for _, a := range s.Answers {
				a.Read = errors.New("timeout")
			}
			s.List = nil
		},
	} {
		s := running()
		spoil(s)
		if a := facts.View(*s, &memory.Cluster{}).Adoption; !strings.Contains(a.Unreachable, says) || a.Unfit != "" {
			t.Errorf("%s: got %q, unfit %q", says, a.Unreachable, a.Unfit)
		}
	}
}

// TestSourcesThatChange (fault 116): once the members are written down, only those are sources. One that others add meanwhile is none, also
// under the name of one that was there; one that others remove is gone; and another version stops nothing any more.
func TestSourcesThatChange(t *testing.T) {
	s := running()
	s.Cluster.Status = v1beta1.EtcdClusterStatus{ClusterID: "7", Bootstrap: &v1beta1.Bootstrap{Token: "u1"}, Adoption: &v1beta1.AdoptionStatus{
		StartedAt: metav1.NewTime(now),
		Sources: []v1beta1.SourceMember{
			{ID: "1", Name: "old-0", PeerURLs: s.List[0].PeerURLs},
			{ID: "2", Name: "old-1", PeerURLs: s.List[1].PeerURLs},
			{ID: "9", Name: "old-2", PeerURLs: s.List[2].PeerURLs},
		},
	}}
	s.Answers[1].Status.Version = "3.6.5"
	v := facts.View(*s, &memory.Cluster{})
	names := func(is bool) (names []string) {
		for _, m := range v.Unknown {
			if m.Source == is {
				names = append(names, m.Name)
			}
		}
		return names
	}
	if !slices.Equal(names(true), []string{"old-0", "old-1"}) || !slices.Equal(names(false), []string{"old-2"}) || v.Adoption.Unfit != "" {
		t.Errorf("sources %v, others %v, %q", names(true), names(false), v.Adoption.Unfit)
	}
}

// TestServicesThatOthersEdit (fault 121): a Service that was routed and is put back by others counts as not routed; one that does not agree
// any more is left alone.
func TestServicesThatOthersEdit(t *testing.T) {
	s := running()
	s.SourceServices["old"] = s.SourceServices["old"].DeepCopy()
	service := s.SourceServices["old"]
	is := func() cluster.AdoptedService { return facts.View(*s, &memory.Cluster{}).Adoption.Services[0] }
	if got := is(); got.Switched || got.Refused != "" {
		t.Errorf("before: %+v", got)
	}
	theirs := service.Spec.Selector
	service.Spec.Selector = specs.ClientService(s.Cluster).Spec.Selector
	if !is().Switched {
		t.Error("it is routed")
	}
	service.Spec.Selector = theirs
	if is().Switched {
		t.Error("others have put it back")
	}
	service.Annotations = nil
	if is().Refused == "" {
		t.Error("it does not agree any more")
	}
}

// TestARightThatAdoptionsNeed: a StatefulSet that the operator may not read is no missing one, and is said before anything begins.
func TestARightThatAdoptionsNeed(t *testing.T) {
	s := running()
	s.Workload, s.WorkloadForbidden = nil, true
	for _, volumes := range []v1beta1.SourceVolumes{v1beta1.CopyVolumes, v1beta1.KeepVolumes} {
		s.Cluster.Spec.Bootstrap.Adopt.Volumes = volumes
		a := facts.View(*s, &memory.Cluster{}).Adoption
		if a.Workload.Missing || !strings.Contains(a.Unfit, "--clusterrole=etcd-operator-adoption-role") {
			t.Errorf("volumes %s: %+v, unfit: %s", volumes, a.Workload, a.Unfit)
		}
	}
}
