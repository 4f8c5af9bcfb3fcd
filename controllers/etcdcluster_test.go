// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

const (
	patience = 3 * time.Minute         // for the manager to do something, beside much else
	pause    = 50 * time.Millisecond   // between two looks
	quiet    = 1500 * time.Millisecond // in which nothing may happen
)

// create makes an EtcdCluster that is gone, with all that was made for it, when the
// test ends.
func create(t *testing.T, namespace, name string, changes ...func(*v1beta1.EtcdClusterSpec)) *v1beta1.EtcdCluster {
	t.Helper()
	c := &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	c.Spec.Size = ptr.To[int32](3)
	for _, change := range changes {
		change(&c.Spec)
	}
	if err := server.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(server.Delete(context.Background(), c)); err != nil {
			t.Error(err)
		}
		collect(t, c, &corev1.Pod{}, &corev1.Service{}, &corev1.Secret{}, &policyv1.PodDisruptionBudget{}, &corev1.PersistentVolumeClaim{})
	})
	return c
}

func labelled(c *v1beta1.EtcdCluster) client.MatchingLabels {
	return client.MatchingLabels{v1beta1.LabelCluster: c.Name}
}

// collect deletes what belongs to a cluster, as the garbage collector would.
func collect(t *testing.T, c *v1beta1.EtcdCluster, kinds ...client.Object) {
	t.Helper()
	for _, kind := range kinds {
		err := server.DeleteAllOf(context.Background(), kind, client.InNamespace(c.Namespace), labelled(c), client.GracePeriodSeconds(0))
		if err != nil {
			t.Error(err)
		}
	}
}

// eventually looks until there is no complaint.
func eventually(t *testing.T, what string, look func() error) {
	t.Helper()
	deadline := time.After(patience)
	for {
		err := look()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("waited %s for %s: %v", patience, what, err)
		case <-time.After(pause):
		}
	}
}

func get(t *testing.T, c *v1beta1.EtcdCluster, name string, into client.Object) error {
	t.Helper()
	return server.Get(t.Context(), client.ObjectKey{Namespace: c.Namespace, Name: name}, into)
}

// parts are the objects that belong to a cluster of three.
func parts(c *v1beta1.EtcdCluster) []client.Object {
	named := func(object client.Object, suffix string) client.Object {
		object.SetName(c.Name + suffix)
		return object
	}
	all := []client.Object{
		named(&corev1.Secret{}, "-client-ca"), named(&corev1.Secret{}, "-peer-ca"),
		named(&corev1.Secret{}, "-member-tls"), named(&corev1.Secret{}, "-client"),
		named(&corev1.Service{}, ""), named(&corev1.Service{}, "-client"), named(&policyv1.PodDisruptionBudget{}, ""),
	}
	for _, serial := range []string{"-0", "-1", "-2"} {
		all = append(all, named(&corev1.PersistentVolumeClaim{}, serial), named(&corev1.Pod{}, serial))
	}
	return all
}

// whole waits until every part exists.
func whole(t *testing.T, c *v1beta1.EtcdCluster) []client.Object {
	t.Helper()
	all := parts(c)
	for _, part := range all {
		eventually(t, fmt.Sprintf("%T %s", part, part.GetName()), func() error { return get(t, c, part.GetName(), part) })
	}
	return all
}

func conditionReason(t *testing.T, c *v1beta1.EtcdCluster, kind string) string {
	t.Helper()
	if err := get(t, c, c.Name, c); err != nil {
		t.Fatal(err)
	}
	condition := meta.FindStatusCondition(c.Status.Conditions, kind)
	if condition == nil {
		return ""
	}
	return condition.Reason
}

// TestClusterIsMade: from nothing to Pods that wait for a kubelet, by the rights of
// the generated roles alone.
func TestClusterIsMade(t *testing.T) {
	c := create(t, watched, "made")
	for _, part := range whole(t, c) {
		if part.GetLabels()[v1beta1.LabelCluster] != c.Name {
			t.Errorf("%T %s has labels %v", part, part.GetName(), part.GetLabels())
		}
		owner := metav1.GetControllerOf(part)
		if _, isVolume := part.(*corev1.PersistentVolumeClaim); isVolume {
			if owner != nil {
				t.Errorf("a volume that is to be kept is owned by %v", owner)
			}
		} else if owner == nil || owner.UID != c.UID {
			t.Errorf("%T %s is owned by %v", part, part.GetName(), owner)
		}
	}
	eventually(t, "the status", func() error {
		if reason := conditionReason(t, c, v1beta1.ConditionAvailable); reason != v1beta1.ReasonBootstrapping {
			return fmt.Errorf("available: %q", reason)
		}
		return nil
	})
	plan := c.Status.Bootstrap
	first := []string{"made-0", "made-1", "made-2"}
	if plan == nil || plan.Token != string(c.UID) || !slices.Equal(plan.Members, first) || c.Status.NextSerial != 3 {
		t.Errorf("status: %+v", c.Status)
	}
	eventually(t, "events", func() error { return eventsTell(t, c, "BootstrapPlanned", "ObjectsApplied", "MembersStarted") })
}

func eventsTell(t *testing.T, c *v1beta1.EtcdCluster, reasons ...string) error {
	t.Helper()
	var list eventsv1.EventList
	if err := server.List(t.Context(), &list, client.InNamespace(c.Namespace)); err != nil {
		return err
	}
	for _, reason := range reasons {
		if !slices.ContainsFunc(list.Items, func(e eventsv1.Event) bool { return e.Reason == reason && e.Regarding.UID == c.UID }) {
			return fmt.Errorf("no event %s", reason)
		}
	}
	return nil
}

// TestWhatIsDeletedComesBack: every kind of object is watched, but Secrets, which are looked for now and then.
func TestWhatIsDeletedComesBack(t *testing.T) {
	c := create(t, watched, "back")
	var secrets []client.Object
	for _, part := range whole(t, c) {
		switch part.(type) {
		case *corev1.PersistentVolumeClaim: // is protected while it exists, and never replaced
		case *corev1.Secret:
			secrets = append(secrets, part)
		default:
			comeBack(t, c, part)
		}
	}
	comeBack(t, c, secrets...)
}

// comeBack deletes objects, and waits for others in their places.
func comeBack(t *testing.T, c *v1beta1.EtcdCluster, gone ...client.Object) {
	t.Helper()
	old := map[client.Object]types.UID{}
	for _, part := range gone {
		uid := part.GetUID()
		old[part] = uid
		err := server.Delete(t.Context(), part, client.GracePeriodSeconds(0), client.Preconditions{UID: &uid})
		if err != nil && !apierrors.IsConflict(err) { // it has come back another already
			t.Fatal(err)
		}
	}
	for _, part := range gone {
		eventually(t, fmt.Sprintf("the return of %T %s", part, part.GetName()), func() error { return isAnother(t, c, part, old[part]) })
	}
}

// TestLostAuthorityOfAFormedCluster: it is reported, and not made again before all members are healthy, which none is here.
// When it is back, the same, nothing is wrong.
func TestLostAuthorityOfAFormedCluster(t *testing.T) {
	c := create(t, watched, "lost")
	whole(t, c)
	eventually(t, "the memory of a cluster", func() error {
		if err := get(t, c, c.Name, c); err != nil {
			return err
		}
		c.Status.ClusterID = "c1"
		return server.Status().Update(t.Context(), c)
	})
	eventually(t, "the operator to have read it", func() error {
		if reason := conditionReason(t, c, v1beta1.ConditionAvailable); reason != v1beta1.ReasonQuorumLost {
			return fmt.Errorf("available: %q", reason)
		}
		return nil
	})
	ca := &corev1.Secret{}
	if err := get(t, c, "lost-peer-ca", ca); err != nil {
		t.Fatal(err)
	}
	backup := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: ca.Name, Namespace: ca.Namespace, Labels: ca.Labels, OwnerReferences: ca.OwnerReferences},
		Type:       ca.Type, Data: ca.Data,
	}
	if err := server.Delete(t.Context(), ca); err != nil {
		t.Fatal(err)
	}
	needsHelp := func(want bool) func() error {
		return func() error {
			if reason := conditionReason(t, c, v1beta1.ConditionDegraded); (reason == v1beta1.ReasonActionRequired) != want {
				return fmt.Errorf("degraded: %q", reason)
			}
			return nil
		}
	}
	eventually(t, "a word about it", needsHelp(true))
	degraded := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionDegraded)
	for _, part := range []string{
		"Secret lost-peer-ca: it is missing", "another authority is introduced beside it when all members are healthy",
	} {
		if !strings.Contains(degraded.Message, part) {
			t.Errorf("it says %s", degraded.Message)
		}
	}
	time.Sleep(quiet)
	if err := get(t, c, ca.Name, ca); !apierrors.IsNotFound(err) {
		t.Errorf("it was made again: %v", err)
	}
	if err := server.Create(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	eventually(t, "no word about it", needsHelp(false))
}

func isAnother(t *testing.T, c *v1beta1.EtcdCluster, object client.Object, old types.UID) error {
	t.Helper()
	if err := get(t, c, object.GetName(), object); err != nil {
		return err
	}
	if object.GetUID() == old || object.GetDeletionTimestamp() != nil {
		return fmt.Errorf("it is still the old one")
	}
	return nil
}

// TestWhatIsBentIsMadeRight: whatever an object was changed to, one write makes it
// right again, and the next thing to do is done.
func TestWhatIsBentIsMadeRight(t *testing.T) {
	c := create(t, watched, "bent")
	whole(t, c)
	service := func() *corev1.Service { return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "bent-client"}} }
	budget := func() *policyv1.PodDisruptionBudget {
		return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "bent"}}
	}
	for name, bent := range map[string]struct {
		object client.Object
		bend   func(client.Object)
	}{
		"another selector":    {service(), func(o client.Object) { o.(*corev1.Service).Spec.Selector[v1beta1.LabelCluster] = "other" }},
		"a narrower selector": {service(), func(o client.Object) { o.(*corev1.Service).Spec.Selector["app"] = "other" }},
		"another port":        {service(), func(o client.Object) { o.(*corev1.Service).Spec.Ports[0].Port = 80 }},
		"a narrower budget": {budget(), func(o client.Object) {
			o.(*policyv1.PodDisruptionBudget).Spec.Selector.MatchLabels["app"] = "other"
		}},
		"a budget of those that may go": {budget(), func(o client.Object) {
			spec := &o.(*policyv1.PodDisruptionBudget).Spec
			spec.MinAvailable, spec.MaxUnavailable = nil, ptr.To(intstr.FromInt32(1))
		}},
		"a Service with another's label": {service(), relabel}, "a budget with another's label": {budget(), relabel},
		"a Secret with another's label": {&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "bent-member-tls"}}, relabel},
	} {
		t.Run(name, func(t *testing.T) {
			object := bent.object
			if err := get(t, c, object.GetName(), object); err != nil {
				t.Fatal(err)
			}
			want := essence(object)
			bent.bend(object)
			if err := server.Update(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			if _, is := object.(*corev1.Secret); is {
				askToLook(t, c)
			}
			eventually(t, "it to be right", func() error {
				if err := get(t, c, object.GetName(), object); err != nil {
					return err
				}
				if got := essence(object); got != want {
					return fmt.Errorf("got %s, want %s", got, want)
				}
				return nil
			})
		})
	}
	t.Run("a port beside ours", func(t *testing.T) { besideOurs(t, c, service()) })
}

// askToLook has the Secrets of an object read again, which no watch reports.
func askToLook(t *testing.T, object client.Object) {
	t.Helper()
	text := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1beta1.AnnotationCheck, time.Now())
	patch := client.RawPatch(types.MergePatchType, text)
	copied, _ := object.DeepCopyObject().(client.Object)
	if err := server.Patch(t.Context(), copied, patch); err != nil {
		t.Fatal(err)
	}
}

// besideOurs puts a port before ours, which stays and holds nothing up.
func besideOurs(t *testing.T, c *v1beta1.EtcdCluster, service *corev1.Service) {
	if err := get(t, c, service.Name, service); err != nil {
		t.Fatal(err)
	}
	service.Spec.Ports = append([]corev1.ServicePort{{Name: "metrics", Port: 2381}}, service.Spec.Ports...)
	if err := server.Update(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{}
	if err := get(t, c, c.Name+"-0", pod); err != nil {
		t.Fatal(err)
	}
	old := pod.UID
	if err := server.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a Pod that was deleted", func() error { return isAnother(t, c, pod, old) })
	if err := get(t, c, service.Name, service); err != nil || len(service.Spec.Ports) != 2 {
		t.Errorf("ports %v, %v", service.Spec.Ports, err)
	}
}

// relabel takes an object out of the sight of an operator that looks for its own.
func relabel(object client.Object) {
	labels := object.GetLabels()
	labels["app.kubernetes.io/managed-by"] = "Helm"
	object.SetLabels(labels)
}

// essence is what of an object must be as the operator wants it.
func essence(object client.Object) string {
	by := object.GetLabels()["app.kubernetes.io/managed-by"]
	switch o := object.(type) {
	case *corev1.Service:
		return fmt.Sprint(by, o.Spec.Selector, o.Spec.Ports)
	case *policyv1.PodDisruptionBudget:
		return fmt.Sprint(by, o.Spec.Selector, o.Spec.MinAvailable, o.Spec.MaxUnavailable)
	default:
		return by
	}
}

// TestOthersObjectsAreNotTaken: a foreign Service of our name.
func TestOthersObjectsAreNotTaken(t *testing.T) {
	theirs := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "taken-client", Namespace: watched},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	if err := server.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Delete(context.Background(), theirs); err != nil {
			t.Error(err)
		}
	})
	c := create(t, watched, "taken")
	eventually(t, "a word about it", func() error {
		if reason := conditionReason(t, c, v1beta1.ConditionDegraded); reason != v1beta1.ReasonStepRejected {
			return fmt.Errorf("degraded: %q", reason)
		}
		return nil
	})
	degraded := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionDegraded)
	if !strings.Contains(degraded.Message, "taken-client") {
		t.Errorf("it does not name the Service: %s", degraded.Message)
	}
	version := theirs.ResourceVersion
	if err := get(t, c, theirs.Name, theirs); err != nil || theirs.ResourceVersion != version {
		t.Errorf("it was changed: %+v, %v", theirs, err)
	}
	if err := get(t, c, "taken-0", &corev1.Pod{}); !apierrors.IsNotFound(err) {
		t.Errorf("a member was started: %v", err)
	}
}

// TestDeletedClusterStaysDown: while it is being deleted and after, nothing that
// goes comes back.
func TestDeletedClusterStaysDown(t *testing.T) {
	c := create(t, watched, "gone")
	whole(t, c)
	if err := server.Delete(t.Context(), c, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the status", func() error {
		if reason := conditionReason(t, c, v1beta1.ConditionAvailable); reason != v1beta1.ReasonDeleting {
			return fmt.Errorf("available: %q", reason)
		}
		return nil
	})
	collect(t, c, &corev1.Pod{}, &corev1.Secret{})
	staysAway(t, c, &corev1.PodList{}, &corev1.SecretList{})
	c.Finalizers = nil // as the garbage collector does when it is done
	if err := server.Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	collect(t, c, &corev1.Service{}, &policyv1.PodDisruptionBudget{})
	staysAway(t, c, &corev1.PodList{}, &corev1.SecretList{}, &corev1.ServiceList{}, &policyv1.PodDisruptionBudgetList{})
	volumes := &corev1.PersistentVolumeClaimList{}
	if err := server.List(t.Context(), volumes, client.InNamespace(watched), labelled(c)); err != nil {
		t.Fatal(err)
	}
	if len(volumes.Items) != 3 {
		t.Errorf("%d volumes are kept", len(volumes.Items))
	}
}

func staysAway(t *testing.T, c *v1beta1.EtcdCluster, lists ...client.ObjectList) {
	t.Helper()
	time.Sleep(quiet)
	for _, list := range lists {
		if err := server.List(t.Context(), list, client.InNamespace(c.Namespace), labelled(c)); err != nil {
			t.Fatal(err)
		}
		if n := meta.LenList(list); n > 0 {
			t.Errorf("%T: %d came back", list, n)
		}
	}
}

// TestSuccessorWaitsAndAdopts: an EtcdCluster of the same name waits for what is
// left of the earlier one, and takes its volumes up.
func TestSuccessorWaitsAndAdopts(t *testing.T) {
	old := create(t, watched, "again")
	whole(t, old)
	provision(t, old)
	if err := server.Delete(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	c := create(t, watched, "again")
	eventually(t, "it to wait", func() error {
		if reason := conditionReason(t, c, v1beta1.ConditionAvailable); reason != v1beta1.ReasonBootstrapping {
			return fmt.Errorf("available: %q", reason)
		}
		return nil
	})
	if c.Status.Bootstrap != nil {
		t.Errorf("it did not wait: %+v", c.Status.Bootstrap)
	}
	collect(t, old, &corev1.Pod{}, &corev1.Service{}, &corev1.Secret{}, &policyv1.PodDisruptionBudget{})
	for _, part := range whole(t, c) {
		if owner := metav1.GetControllerOf(part); owner != nil && owner.UID != c.UID {
			t.Errorf("%T %s is owned by %v", part, part.GetName(), owner)
		}
	}
	if err := get(t, c, c.Name, c); err != nil {
		t.Fatal(err)
	}
	if plan := c.Status.Bootstrap; plan == nil || plan.Token != string(old.UID) {
		t.Errorf("the unfinished bootstrap was not taken up: %+v", plan)
	}
}

// provision has the volumes of a cluster bound to disks, as a provisioner does: one that never was holds nothing.
func provision(t *testing.T, c *v1beta1.EtcdCluster) {
	t.Helper()
	volumes := &corev1.PersistentVolumeClaimList{}
	if err := server.List(t.Context(), volumes, client.InNamespace(c.Namespace), labelled(c)); err != nil {
		t.Fatal(err)
	}
	for i := range volumes.Items {
		claim := &volumes.Items[i]
		claim.Spec.VolumeName = "disk-of-" + claim.Name
		if err := server.Update(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
		claim.Status.Phase = corev1.ClaimBound
		if err := server.Status().Update(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOtherNamespacesAreLeftAlone: the manager is configured with those to watch.
func TestOtherNamespacesAreLeftAlone(t *testing.T) {
	c := create(t, elsewhere, "far")
	whole(t, create(t, watched, "near"))
	staysAway(t, c, &corev1.PodList{}, &corev1.SecretList{}, &corev1.ServiceList{}, &corev1.PersistentVolumeClaimList{})
	if reason := conditionReason(t, c, v1beta1.ConditionAvailable); reason != "" || c.Status.Bootstrap != nil {
		t.Errorf("status: %+v", c.Status)
	}
}

// TestIdleManagerWritesNothing: a cluster that waits for its Pods is looked at again
// and again, and once all is written nothing is.
func TestIdleManagerWritesNothing(t *testing.T) {
	t.Parallel() // it mostly waits: after all tests that are not parallel, and with none that the manager manages
	writes.take()
	whole(t, create(t, watched, "idle"))
	if len(writes.take()) < len(parts(&v1beta1.EtcdCluster{})) {
		t.Fatal("writes are not counted")
	}
	eventually(t, "silence", func() error {
		writes.take()
		time.Sleep(8 * time.Second) // longer than any pause of a cluster that waits
		if taken := writes.take(); len(taken) > 0 {
			return fmt.Errorf("wrote %v", taken)
		}
		return nil
	})
}
