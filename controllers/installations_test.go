// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers"
	"github.com/etcd-operator/etcd-operator/controllers/lease"
)

// An installed operator looks at a cluster when a test has it do so, with the rights of the
// generated roles. Its Lease is held as long as the test wants.
type installed struct {
	t          *testing.T
	name       string
	lease      *coordinationv1.Lease
	reconciler *controllers.EtcdClusterReconciler
	events     *events.FakeRecorder
	did        *counter // what it changed: what was refused changed nothing
}

// install makes an operator that holds a Lease in a namespace of its own.
func install(t *testing.T, namespace string) *installed {
	t.Helper()
	o := newInstalled(t, namespace+"/"+lease.Name)
	home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := client.IgnoreAlreadyExists(server.Create(t.Context(), home)); err != nil {
		t.Fatal(err)
	}
	o.lease = &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: lease.Name},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("replica"), LeaseDurationSeconds: ptr.To[int32](15), RenewTime: &metav1.MicroTime{Time: time.Now()},
		},
	}
	if err := server.Create(t.Context(), o.lease); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(server.Delete(context.Background(), o.lease)); err != nil {
			t.Error(err)
		}
	})
	return o
}

// newInstalled makes one without a Lease.
func newInstalled(t *testing.T, name string) *installed {
	t.Helper()
	o := &installed{t: t, name: name, events: events.NewFakeRecorder(1000), did: &counter{}}
	config := rest.CopyConfig(rights)
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper {
		return roundTrip(func(request *http.Request) (*http.Response, error) {
			response, err := inner.RoundTrip(request)
			if err == nil && request.Method != http.MethodGet && response.StatusCode < http.StatusMultipleChoices {
				o.did.note(request)
			}
			return response, err
		})
	})
	live, err := client.New(config, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	o.reconciler = controllers.NewReconciler(live, name, o.events, time.Now)
	return o
}

// look lets it look at the cluster once, or several times.
func (o *installed) look(c *v1beta1.EtcdCluster, times int) ctrl.Result {
	o.t.Helper()
	var result ctrl.Result
	for range times {
		var err error
		if result, err = o.reconciler.Reconcile(o.t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(c)}); err != nil {
			o.t.Errorf("%s: %v", o.name, err)
		}
	}
	return result
}

// told are the events of one reason since the last time.
func (o *installed) told(reason string) []string {
	var notes []string
	for {
		select {
		case event := <-o.events.Events:
			if strings.Contains(event, " "+reason+" ") {
				notes = append(notes, event)
			}
		default:
			return notes
		}
	}
}

func (o *installed) set(change func(*coordinationv1.LeaseSpec)) {
	o.t.Helper()
	change(&o.lease.Spec)
	if err := server.Update(o.t.Context(), o.lease); err != nil {
		o.t.Fatal(err)
	}
}

// enough is how many looks it takes to make all that a cluster of three has.
const enough = 8

// isLedBy checks whose name is in the status.
func isLedBy(t *testing.T, c *v1beta1.EtcdCluster, name string) {
	t.Helper()
	if err := get(t, c, c.Name, c); err != nil || c.Status.Operator != name {
		t.Errorf("the status names %q, want %q: %v", c.Status.Operator, name, err)
	}
}

// made leaves out that volumes cease to be marked as unused, which is before the first Pod.
func made(writes []string) []string {
	return slices.DeleteFunc(slices.Clone(writes), func(w string) bool {
		return strings.HasPrefix(w, "PATCH ") && strings.Contains(w, "/persistentvolumeclaims/")
	})
}

// TestFault12SecondInstallationIsPassive: it changes nothing and says why, once, until
// the first has ended; it then takes over, and the first, if it still runs, is passive.
func TestFault12SecondInstallationIsPassive(t *testing.T) {
	for what, end := range map[string]func(*installed){
		"given-up": func(o *installed) { o.set(func(l *coordinationv1.LeaseSpec) { l.HolderIdentity = ptr.To("") }) },
		"over": func(o *installed) {
			o.set(func(l *coordinationv1.LeaseSpec) { l.RenewTime.Time = time.Now().Add(-time.Minute) })
		},
		"gone": func(o *installed) {
			if err := server.Delete(t.Context(), o.lease); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			one, two := install(t, "one"), install(t, "two")
			c := create(t, elsewhere, "twice-"+what)
			one.look(c, enough)
			whole(t, c)
			isLedBy(t, c, one.name)
			if did := one.did.take(); !strings.HasSuffix(did[0], "/status") || len(made(did)) != len(parts(c))+1 {
				t.Errorf("the name costs a write: %v", did)
			}
			remakes(t, c, "1", two, one)
			if told := two.told("OtherOperator"); len(told) != 1 || !strings.Contains(told[0], one.name) || !strings.Contains(told[0], two.name) {
				t.Errorf("the second says %q", told)
			}
			end(one)
			remakes(t, c, "2", one, two)
			isLedBy(t, c, two.name)
			if told := two.told("OperatorChanged"); len(told) != 1 {
				t.Errorf("the second says %q", told)
			}
			if told := one.told("OtherOperator"); len(told) != 1 {
				t.Errorf("the first says %q", told)
			}
		})
	}
}

// remakes deletes a Pod: the passive one leaves it so and will look again, the other
// one, which looks later, makes it again.
func remakes(t *testing.T, c *v1beta1.EtcdCluster, serial string, idle, busy *installed) {
	t.Helper()
	pod := &corev1.Pod{}
	if err := get(t, c, c.Name+"-"+serial, pod); err != nil {
		t.Fatal(err)
	}
	if err := server.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	if c.Status.Operator != busy.name { // it takes over: what it writes first is its name
		busy.look(c, 1)
		if did := busy.did.take(); len(did) == 0 || !strings.HasSuffix(did[0], "/status") {
			t.Errorf("%s began with %v", busy.name, did)
		}
	}
	if pause := idle.look(c, 3).RequeueAfter; pause < 15*time.Second {
		t.Errorf("%s looks again after %s", idle.name, pause)
	}
	if did := idle.did.take(); len(did) > 0 {
		t.Errorf("%s did %v", idle.name, did)
	}
	busy.look(c, enough)
	busy.did.take()
	if err := get(t, c, pod.Name, &corev1.Pod{}); err != nil {
		t.Errorf("%s: %v", busy.name, err)
	}
}

// TestFault12WithoutALease: an operator that is run by hand stays out of the
// way of one that is installed, takes its cluster when that has ended, and gives way
// when it is back.
func TestFault12WithoutALease(t *testing.T) {
	one, byHand := install(t, "one"), newInstalled(t, "")
	c := create(t, elsewhere, "by-hand")
	one.look(c, enough)
	whole(t, c)
	byHand.look(c, 2)
	if did := byHand.did.take(); len(did) > 0 || len(byHand.told("OtherOperator")) != 1 {
		t.Errorf("beside the installed one it did %v", did)
	}
	one.set(func(l *coordinationv1.LeaseSpec) { l.HolderIdentity = ptr.To("") })
	byHand.look(c, 1)
	isLedBy(t, c, "")
	one.set(func(l *coordinationv1.LeaseSpec) { l.HolderIdentity = ptr.To("replica") })
	one.look(c, 1)
	isLedBy(t, c, one.name)
	byHand.did.take()
	byHand.look(c, 2)
	if did := byHand.did.take(); len(did) > 0 {
		t.Errorf("after it gave way it did %v", did)
	}
}

// TestFault12LeaseThatMayNotBeRead: an operator that cannot see that the other has ended must
// not act, and says what is missing.
func TestFault12LeaseThatMayNotBeRead(t *testing.T) {
	one := install(t, "one")
	c := create(t, elsewhere, "unseen")
	c.Status.Operator = "secluded/other-lease" // the role names ours only
	if err := server.Status().Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	one.look(c, 2)
	if did := one.did.take(); len(did) > 0 {
		t.Errorf("it did %v", did)
	}
	if told := one.told("OtherOperator"); len(told) != 1 || !strings.Contains(told[0], "may not read the lease secluded/other-lease") {
		t.Errorf("it says %q", told)
	}
}

// TestFault12BothBeginAtOnce: of two that find a cluster new, only one ever changes
// anything.
func TestFault12BothBeginAtOnce(t *testing.T) {
	one, two := install(t, "one"), install(t, "two")
	for _, name := range []string{"race-a", "race-b", "race-c", "race-d", "race-e", "race-f"} {
		c := create(t, elsewhere, name)
		var both sync.WaitGroup
		for _, o := range []*installed{one, two} {
			both.Go(func() { o.look(c, 2*enough) })
		}
		both.Wait()
		whole(t, c)
		did := map[string][]string{one.name: one.did.take(), two.name: two.did.take()}
		if err := get(t, c, c.Name, c); err != nil {
			t.Fatal(err)
		}
		if len(did[c.Status.Operator]) < len(parts(c)) {
			t.Errorf("%q is in charge and did %v", c.Status.Operator, did[c.Status.Operator])
		}
		delete(did, c.Status.Operator)
		for name, changes := range did {
			if len(changes) > 0 {
				t.Errorf("%s is not in charge and did %v", name, changes)
			}
		}
	}
}

// TestFault13NewerStatusIsLeftAlone: also by an operator that could take the cluster
// over, because it would write down less than there was. It says so once.
func TestFault13NewerStatusIsLeftAlone(t *testing.T) {
	one, two := install(t, "one"), install(t, "two")
	c := create(t, elsewhere, "newer")
	one.look(c, enough)
	whole(t, c)
	isLedBy(t, c, one.name)
	c.Status.Format = v1beta1.StatusFormat + 1
	if err := server.Status().Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := server.Delete(t.Context(), one.lease); err != nil {
		t.Fatal(err)
	}
	one.did.take()
	for _, o := range []*installed{one, two} {
		o.look(c, 3)
		if did := o.did.take(); len(did) > 0 {
			t.Errorf("%s did %v", o.name, did)
		}
		if told := o.told("NewerStatus"); len(told) != 1 || !strings.Contains(told[0], fmt.Sprintf("format %d", c.Status.Format)) {
			t.Errorf("%s says %q", o.name, told)
		}
	}
	isLedBy(t, c, one.name)
}
