// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package act_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/act"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// secrets are a cluster's good Secrets, made at that time.
func secrets(t *testing.T, at time.Time) []client.Object {
	t.Helper()
	c := example()
	held := certs.Read(c, func(string) *corev1.Secret { return nil })
	var all []client.Object
	for _, name := range certs.Names(c) {
		secret, err := held.Make(rand.Reader, at, c, name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, secret)
	}
	return all
}

func (s *scene) secret(name string) *corev1.Secret {
	s.t.Helper()
	secret := &corev1.Secret{}
	s.get(name, secret)
	return secret
}

// TestApplyMakesWhatIsMissing: everything is there, belongs to the EtcdCluster,
// and is written under one field owner.
func TestApplyMakesWhatIsMissing(t *testing.T) {
	s := newScene(t, example(), seen())
	s.mustDo(applyAll())
	for _, object := range []client.Object{
		s.secret("a-client-ca"), s.secret("a-peer-ca"), s.secret("a-member-tls"), s.secret("a-client"),
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a-client"}},
		&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
	} {
		if !s.get(object.GetName(), object) {
			t.Errorf("%T %s is missing", object, object.GetName())
			continue
		}
		if owner := metav1.GetControllerOf(object); owner == nil || owner.UID != s.c.UID || owner.Kind != "EtcdCluster" {
			t.Errorf("%T %s is owned by %v", object, object.GetName(), owner)
		}
		if object.GetLabels()[v1beta1.LabelCluster] != "a" {
			t.Errorf("%T %s has labels %v", object, object.GetName(), object.GetLabels())
		}
		for _, entry := range object.GetManagedFields() {
			if entry.Manager != v1beta1.FieldOwner {
				t.Errorf("%T %s is managed by %s", object, object.GetName(), entry.Manager)
			}
		}
	}
	if bad := slices.DeleteFunc(slices.Clone(s.api.owners), func(o string) bool { return o == v1beta1.FieldOwner }); len(bad) > 0 {
		t.Errorf("field owners %v", bad)
	}
}

// TestApplyWritesOnlyWhatIsAskedFor: one object that is not as wanted is no
// reason to touch the others.
func TestApplyWritesOnlyWhatIsAskedFor(t *testing.T) {
	for _, object := range applyAll().Objects[2:] {
		s := newScene(t, example(), seen(), secrets(t, now)[:2]...)
		s.mustDo(plan.Apply{Objects: []cluster.Object{object}})
		if len(s.api.writes) != 1 || !strings.HasSuffix(s.api.writes[0], object.String()) {
			t.Errorf("for %s wrote %v", object, s.api.writes)
		}
	}
}

// TestServiceIsMadeRightAgain: a Service that was changed is as wanted after.
func TestServiceIsMadeRightAgain(t *testing.T) {
	bent := specs.ClientService(example())
	bent.Spec.Selector = map[string]string{"app": "other"}
	bent.Spec.Ports[0].Port = 80
	s := newScene(t, example(), seen(), bent)
	s.mustDo(plan.Apply{Objects: []cluster.Object{{Kind: "Service", Name: "a-client", Why: "it is not as wanted"}}})
	service := &corev1.Service{}
	s.get("a-client", service)
	want := specs.ClientService(example()).Spec
	if !slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == want.Ports[0].Port }) {
		t.Errorf("ports %v", service.Spec.Ports)
	}
	for key, value := range want.Selector {
		if service.Spec.Selector[key] != value {
			t.Errorf("selector %v", service.Spec.Selector)
		}
	}
}

// TestServicesOfMembers: the one that is wanted is created, the one that is not is deleted, and one of the same name that was made since
// then is left alone.
func TestServicesOfMembers(t *testing.T) {
	c := example()
	c.Spec.ClientService = &v1beta1.ClientService{PerMember: &v1beta1.MemberService{Type: v1beta1.ClientServiceNodePort}}
	asked := *c.Spec.ClientService.PerMember
	old, another := specs.MemberService(c, "a-1", asked), specs.MemberService(c, "a-2", asked)
	old.UID, another.UID = "u1", "u2"
	s := newScene(t, c, seen(), old, another)
	s.mustDo(plan.Apply{Objects: []cluster.Object{
		{Kind: "Service", Name: "a-0-external"}, {Kind: "Service", Name: "a-1-external", UID: "u1"},
	}})
	made := &corev1.Service{}
	s.get("a-0-external", made)
	if made.Spec.Type != corev1.ServiceTypeNodePort || made.Spec.Selector[v1beta1.LabelMember] != "a-0" {
		t.Errorf("made %+v", made.Spec)
	}
	if err := s.api.Get(t.Context(), client.ObjectKeyFromObject(old), made); !apierrors.IsNotFound(err) {
		t.Errorf("the one that is not wanted: %v", err)
	}
	s.get("a-2-external", made)
}

// TestOursWithoutItsLabelIsMadeRight: an object of ours that the cache does not show any
// more, because the label by which it is found was changed.
func TestOursWithoutItsLabelIsMadeRight(t *testing.T) {
	c := example()
	for _, ours := range []client.Object{specs.HeadlessService(c), specs.ClientService(c), specs.Budget(c, 2), secrets(t, now)[2]} {
		kind := ours.GetObjectKind().GroupVersionKind().Kind
		ours.GetLabels()["app.kubernetes.io/managed-by"] = "Helm"
		s := newScene(t, c, seen(), append(secrets(t, now)[:2], ours)...)
		s.actor.Client = hiding{s.api, fmt.Sprintf("%T %s", ours, ours.GetName())}
		s.mustDo(plan.Apply{Objects: []cluster.Object{{Kind: kind, Name: ours.GetName()}}})
		if s.get(ours.GetName(), ours); ours.GetLabels()["app.kubernetes.io/managed-by"] != v1beta1.FieldOwner {
			t.Errorf("%s %s has labels %v", kind, ours.GetName(), ours.GetLabels())
		}
	}
}

// TestWhatIsInTheWayIsTakenOff: what the API server refuses beside what we apply.
func TestWhatIsInTheWayIsTakenOff(t *testing.T) {
	budget := specs.Budget(example(), 2)
	budget.Spec.MinAvailable, budget.Spec.MaxUnavailable = nil, ptr.To(intstr.FromInt32(1))
	service := specs.ClientService(example())
	service.Spec.Ports[0].Port = 80
	s := newScene(t, example(), seen(), budget, service)
	s.mustDo(plan.Apply{Objects: []cluster.Object{{Kind: "PodDisruptionBudget", Name: "a"}, {Kind: "Service", Name: "a-client"}}})
	s.get("a", budget)
	s.get("a-client", service)
	want := specs.Budget(example(), 2).Spec
	if !equality.Semantic.DeepEqual(budget.Spec, want) {
		t.Errorf("the budget is %+v", budget.Spec)
	}
	if len(service.Spec.Ports) != 1 || service.Spec.Ports[0].Port != v1beta1.ClientPort {
		t.Errorf("ports %v", service.Spec.Ports)
	}
}

// TestAuthorityWithoutItsLabel: one whose label was removed signs, and gets its label back.
func TestAuthorityWithoutItsLabel(t *testing.T) {
	good := secrets(t, now)
	good[0].GetLabels()["app.kubernetes.io/managed-by"] = "Helm"
	s := newScene(t, example(), seen(), good[:2]...)
	s.mustDo(applyAll())
	ca := s.secret("a-client-ca")
	if !bytes.Equal(ca.Data[corev1.TLSCertKey], good[0].(*corev1.Secret).Data[corev1.TLSCertKey]) {
		t.Error("it was overwritten")
	}
	if got := ca.Labels["app.kubernetes.io/managed-by"]; got != v1beta1.FieldOwner {
		t.Errorf("it is managed by %s", got)
	}
	if !bytes.Equal(s.secret("a-client").Data[specs.CAKey], ca.Data[corev1.TLSCertKey]) {
		t.Error("another one has signed")
	}
}

// TestAuthorityOfAnotherStays: it is in the way and not used, and nothing is signed by one that
// does not exist.
func TestAuthorityOfAnotherStays(t *testing.T) {
	good := secrets(t, now)
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "EtcdCluster", Name: "b", UID: "u9", Controller: ptr.To(true)}
	good[0].SetOwnerReferences([]metav1.OwnerReference{other})
	s := newScene(t, example(), seen(), good[:2]...)
	s.actor.Client = hiding{s.api, "*v1.Secret a-client-ca"}
	if err := s.do(applyAll()); !errors.Is(err, act.ErrTaken) || !strings.Contains(err.Error(), "a-client-ca") {
		t.Errorf("got error %v, want one that names a-client-ca", err)
	}
	for i, name := range []string{"a-client-ca", "a-peer-ca"} {
		if !bytes.Equal(s.secret(name).Data[corev1.TLSCertKey], good[i].(*corev1.Secret).Data[corev1.TLSCertKey]) {
			t.Errorf("%s was overwritten", name)
		}
	}
	if s.get("a-member-tls", &corev1.Secret{}) || s.get("a-client", &corev1.Secret{}) {
		t.Error("certificates of an authority that does not exist were stored")
	}
}

// TestAuthorityMadeMeanwhileStays: the step was planned while it was missing, and
// it is there now.
func TestAuthorityMadeMeanwhileStays(t *testing.T) {
	good := secrets(t, now)
	s := newScene(t, example(), seen(), good...)
	s.mustDo(applyAll())
	for i, name := range certs.Names(s.c)[:2] {
		if !bytes.Equal(s.secret(name).Data[corev1.TLSCertKey], good[i].(*corev1.Secret).Data[corev1.TLSCertKey]) {
			t.Errorf("%s was overwritten", name)
		}
	}
}

// TestBrokenAuthorityIsMadeAgain: one without a usable key signs nothing any more.
func TestBrokenAuthorityIsMadeAgain(t *testing.T) {
	all := secrets(t, now)
	all[0].(*corev1.Secret).Data[corev1.TLSPrivateKeyKey] = []byte("garbage")
	s := newScene(t, example(), seen(), all...)
	s.mustDo(plan.Apply{Objects: applyAll().Objects[:4]})
	held := s.held()
	for _, name := range certs.Names(s.c) {
		if fault := held.Fault(s.c, name, now); fault != nil {
			t.Errorf("%s: %v", name, fault)
		}
	}
}

// TestCertificatesAreIssuedAgain: those that end soon, by the same authority.
func TestCertificatesAreIssuedAgain(t *testing.T) {
	old := now.Add(-v1beta1.DefaultCertificateLifetime * 3 / 4)
	s := newScene(t, example(), seen(), secrets(t, old)...)
	authority := s.secret("a-client-ca").Data[corev1.TLSCertKey]
	s.mustDo(plan.Apply{Objects: applyAll().Objects[2:4]})
	held := s.held()
	for _, name := range certs.Names(s.c) {
		if fault := held.Fault(s.c, name, now); fault != nil {
			t.Errorf("%s: %v", name, fault)
		}
	}
	if !bytes.Equal(s.secret("a-client-ca").Data[corev1.TLSCertKey], authority) {
		t.Error("the authority was changed")
	}
}

// TestOthersSupportingObjectsStay: one of our name that the operator has not made, and
// that the cache does not hold because it lacks our labels, is not taken over.
func TestOthersSupportingObjectsStay(t *testing.T) {
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: "default"} }
	for _, theirs := range []client.Object{
		&corev1.Service{ObjectMeta: meta("a-client")}, &corev1.Secret{ObjectMeta: meta("a-client")},
		&policyv1.PodDisruptionBudget{ObjectMeta: meta("a")},
	} {
		s := newScene(t, example(), seen(), append(secrets(t, now)[:2], theirs)...)
		s.actor.Client = hiding{s.api, fmt.Sprintf("%T %s", theirs, theirs.GetName())}
		if err := s.do(applyAll()); err == nil || !strings.Contains(err.Error(), theirs.GetName()) {
			t.Errorf("%T: got error %v, want one that names %s", theirs, err, theirs.GetName())
		}
		if s.get(theirs.GetName(), theirs); len(theirs.GetLabels())+len(theirs.GetOwnerReferences()) > 0 {
			t.Errorf("%T was taken over", theirs)
		}
	}
}

// TestBudgetFollowsTheVoters: it keeps a quorum of those that there are, not of
// those that are wanted.
func TestBudgetFollowsTheVoters(t *testing.T) {
	s := newScene(t, example(), seen())
	s.c.Spec.Size, s.view.Want.Size = ptr.To[int32](7), 7
	s.mustDo(plan.Apply{Objects: []cluster.Object{{Kind: "PodDisruptionBudget", Name: "a"}}})
	budget := &policyv1.PodDisruptionBudget{}
	if s.get("a", budget); budget.Spec.MinAvailable.IntValue() != 2 {
		t.Errorf("at least %v stay, want 2 of 3 voters", budget.Spec.MinAvailable)
	}
}

// TestNetworkPolicyIsMadeAndDeleted: it lets the operator in whose namespace is known, and only the one that was seen is deleted.
func TestNetworkPolicyIsMadeAndDeleted(t *testing.T) {
	s := newScene(t, example(), seen())
	s.actor.Operator = "operators"
	wanted := cluster.Object{Kind: "NetworkPolicy", Name: "a-members"}
	s.mustDo(plan.Apply{Objects: []cluster.Object{wanted}})
	policy := &networkingv1.NetworkPolicy{}
	if !s.get("a-members", policy) || !reflect.DeepEqual(policy.Spec, specs.NetworkPolicy(s.c, "operators").Spec) {
		t.Errorf("got %+v", policy.Spec)
	}
	policy.UID = "p1"
	if err := s.api.Update(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	for _, uid := range []string{"p0", "p1", "p1"} {
		wanted.UID = uid
		err := s.do(plan.Apply{Objects: []cluster.Object{wanted}})
		if there := s.get("a-members", policy); there != (uid == "p0") || (err != nil) != there {
			t.Errorf("after the deletion of %s: there %t, error %v", uid, there, err)
		}
	}
}

// TestVolumesAreFitted: they grow and never shrink, a quarantined one keeps its
// size, and the deletion policy decides their owner.
func TestVolumesAreFitted(t *testing.T) {
	big, aside := claim("a-1"), claim("a-2")
	big.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("9Gi")
	metav1.SetMetaDataLabel(&aside.ObjectMeta, v1beta1.LabelQuarantined, "true")
	s := newScene(t, example(), seen(), claim("a-0"), big, aside)
	s.c.Spec.Storage.Size = ptr.To(resource.MustParse("4Gi"))
	var sized, owned plan.Apply
	sizes := map[string]string{"a-0": "4Gi", "a-1": "9Gi", "a-2": "2Gi"}
	for name := range sizes {
		sized.Objects = append(sized.Objects, part(cluster.Size, name))
		owned.Objects = append(owned.Objects, part(cluster.Owner, name))
	}
	s.mustDo(sized)
	for _, policy := range []v1beta1.DeletionPolicy{v1beta1.Delete, v1beta1.Retain} {
		s.c.Spec.DeletionPolicy = policy
		s.mustDo(owned)
		for name, want := range sizes {
			var c corev1.PersistentVolumeClaim
			s.get(name, &c)
			if size := c.Spec.Resources.Requests[corev1.ResourceStorage]; size.String() != want {
				t.Errorf("%s: %s has %s, want %s", policy, name, size.String(), want)
			}
			if owner := metav1.GetControllerOf(&c); (owner != nil) != (policy == v1beta1.Delete) {
				t.Errorf("%s: %s is owned by %v", policy, name, owner)
			}
		}
	}
}

// TestOnlyThePartIsFitted: a volume that is handed over keeps its size, which may not
// change now, and one that grows keeps its owner.
func TestOnlyThePartIsFitted(t *testing.T) {
	s := newScene(t, example(), seen(), claim("a-0"), claim("a-1"))
	s.c.Spec.Storage.Size, s.c.Spec.DeletionPolicy = ptr.To(resource.MustParse("4Gi")), v1beta1.Delete
	s.mustDo(plan.Apply{Objects: []cluster.Object{part(cluster.Owner, "a-0"), part(cluster.Size, "a-1")}})
	for name, want := range map[string]string{"a-0": "2Gi owned true", "a-1": "4Gi owned false"} {
		var c corev1.PersistentVolumeClaim
		s.get(name, &c)
		size := c.Spec.Resources.Requests[corev1.ResourceStorage]
		if got := fmt.Sprintf("%s owned %v", size.String(), metav1.GetControllerOf(&c) != nil); got != want {
			t.Errorf("%s has %s, want %s", name, got, want)
		}
	}
}

// TestVersionIsWrittenOnVolumes: what each member says that it runs.
func TestVersionIsWrittenOnVolumes(t *testing.T) {
	s := newScene(t, example(), seen(), claim("a-0"), claim("a-1"), claim("a-2"))
	s.view.Members[0].Version, s.view.Members[1].Version = "3.6.16", "3.7.3"
	s.view.Members[0].Pod.Image, s.view.Members[1].Pod.Image, s.view.Members[1].Pod.DefaultImage = "mine", "usual", true
	s.mustDo(plan.Apply{Objects: []cluster.Object{part(cluster.Version, "a-0"), part(cluster.Version, "a-1")}})
	for name, want := range map[string]string{"a-0": "3.6.16 mine", "a-1": "3.7.3 ", "a-2": " "} {
		var c corev1.PersistentVolumeClaim
		s.get(name, &c)
		if got := c.Annotations[v1beta1.AnnotationVersion] + " " + c.Annotations[v1beta1.AnnotationChosenImage]; got != want {
			t.Errorf("%s says %q, want %q", name, got, want)
		}
	}
	s.view.Members[0].Pod.DefaultImage = true
	s.mustDo(plan.Apply{Objects: []cluster.Object{part(cluster.Version, "a-0")}})
	var c corev1.PersistentVolumeClaim
	if s.get("a-0", &c); c.Annotations[v1beta1.AnnotationChosenImage] != "" {
		t.Errorf("the choice is left to the operator again: %v", c.Annotations)
	}
}

// TestRefusedGrowthIsWrittenDown, with what Kubernetes said, on each volume; it is an
// error all the same. The note goes when the volume grows.
func TestRefusedGrowthIsWrittenDown(t *testing.T) {
	s := newScene(t, example(), seen(), claim("a-0"), claim("a-1"))
	s.api.fixed = true
	s.c.Spec.Storage.Size = ptr.To(resource.MustParse("4Gi"))
	grow := plan.Apply{Objects: []cluster.Object{part(cluster.Size, "a-0"), part(cluster.Size, "a-1")}}
	if err := s.do(grow); !apierrors.IsForbidden(err) {
		t.Errorf("got %v, want that it is forbidden", err)
	}
	for _, name := range []string{"a-0", "a-1"} {
		want := "4Gi " + now.UTC().Format(time.RFC3339) + ` persistentvolumeclaims "` + name + `" is forbidden: ` + errFixed.Error()
		if got := s.noteOn(name); got != want {
			t.Errorf("%s says %q, want %q", name, got, want)
		}
	}
	s.api.fixed = false
	s.mustDo(grow)
	if got := s.noteOn("a-0"); got != "" {
		t.Errorf("a-0 has grown and says %q", got)
	}
}

// noteOn is what a volume says about its growth.
func (s *scene) noteOn(name string) string {
	var c corev1.PersistentVolumeClaim
	s.get(name, &c)
	return c.Annotations[v1beta1.AnnotationGrowthRefused]
}

// TestAdopted: what has no owner gets its owner and keeps all else, even a key that signs.
func TestAdopted(t *testing.T) {
	all := append(secrets(t, now), pod("a-1", "pod-1"))
	for _, object := range all {
		object.SetOwnerReferences(nil)
	}
	s := newScene(t, example(), seen(), all...)
	s.mustDo(applyAll())
	s.mustDo(plan.MarkPods{Pods: []plan.PodRef{{Name: "a-1", UID: "pod-1"}}, As: plan.Attach})
	for _, was := range all {
		is, _ := was.DeepCopyObject().(client.Object)
		if !s.get(was.GetName(), is) || !metav1.IsControlledBy(is, example()) {
			t.Errorf("%s: owners %v", was.GetName(), is.GetOwnerReferences())
		}
		if secret, isSecret := was.(*corev1.Secret); isSecret && !maps.EqualFunc(secret.Data, is.(*corev1.Secret).Data, bytes.Equal) {
			t.Errorf("%s was made again", was.GetName())
		}
	}
}

// TestCertificateNamesTheDomain: what is made is what is looked for with the same domain.
func TestCertificateNamesTheDomain(t *testing.T) {
	s := newScene(t, example(), seen(), secrets(t, now)...)
	s.actor.Domain = "corp.example"
	s.mustDo(plan.Apply{Objects: []cluster.Object{{Kind: "Secret", Name: "a-member-tls"}}})
	held := s.held()
	for domain, good := range map[string]bool{"corp.example": true, "": false} {
		held.Domain = domain
		if fault := held.Fault(example(), "a-member-tls", now); (fault == nil) != good {
			t.Errorf("domain %q: %v", domain, fault)
		}
	}
}
