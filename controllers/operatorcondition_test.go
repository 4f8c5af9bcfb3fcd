// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/operator-framework/api/crds"
	apiv2 "github.com/operator-framework/api/pkg/operators/v2"
	_ "github.com/operator-framework/operator-lib/conditions" // whose variable is set here
	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers/lease"
	"github.com/etcd-operator/etcd-operator/controllers/manager"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// readNamespace is how operator-lib finds the namespace of its Pod, from a file that only
// a Pod has. Its own tests replace it, too.
//
//go:linkname readNamespace github.com/operator-framework/operator-lib/conditions.readNamespace
var readNamespace func() (string, error)

// csv is the name of the OperatorCondition, which the operator reads from its environment.
const csv = "etcd-operator.v0.3.0"

func init() {
	if err := os.Setenv("OPERATOR_CONDITION_NAME", csv); err != nil {
		panic(err)
	}
}

var olm sync.Mutex

// aloneWithOLM lets tests that have the CRD of Operator Lifecycle Manager, or must not have it, run one after the other. They mostly
// wait, beside others that are parallel.
func aloneWithOLM(t *testing.T) {
	t.Helper()
	t.Parallel()
	olm.Lock()
	t.Cleanup(olm.Unlock)
}

// An updated is an operator as Operator Lifecycle Manager has installed it: the version's
// OperatorCondition, and the right to change that.
type updated struct {
	t      *testing.T
	object *apiv2.OperatorCondition
	config *rest.Config
	asked  *counter // requests for OperatorConditions that write
	probes string
	stop   func() // as a Pod that is terminated
	before func() // the next write of the OperatorCondition
	mutex  sync.Mutex
}

// newUpdated prepares an operator in a namespace of its own, which it manages.
func newUpdated(t *testing.T, namespace string) *updated {
	t.Helper()
	u := &updated{t: t, asked: &counter{}, object: &apiv2.OperatorCondition{}, probes: process.FreeAddress(t)}
	u.object.Namespace, u.object.Name = namespace, csv
	u.object.Spec = apiv2.OperatorConditionSpec{
		ServiceAccounts: []string{"controller-manager"}, Deployments: []string{"controller-manager"},
		Overrides: []metav1.Condition{{
			Type: "Other", Status: metav1.ConditionTrue, Reason: "Kept", Message: "kept", LastTransitionTime: metav1.NewTime(time.Unix(1e9, 0)),
		}},
	}
	u.config = rest.CopyConfig(rights)
	u.config.Wrap(func(inner http.RoundTripper) http.RoundTripper {
		return roundTrip(func(request *http.Request) (*http.Response, error) {
			if request.Method != http.MethodGet && strings.Contains(request.URL.Path, "/operatorconditions/") {
				u.interfere()
				u.asked.note(request)
			}
			return inner.RoundTrip(request)
		})
	})
	newLeaseNamespace(t, namespace)
	original := readNamespace
	readNamespace = func() (string, error) { return namespace, nil }
	t.Cleanup(func() { readNamespace = original })
	return u
}

func (u *updated) interfere() {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if before := u.before; before != nil {
		u.before = nil
		before()
	}
}

// keep makes the OperatorCondition, if there is a CRD for it.
func (u *updated) keep() {
	u.t.Helper()
	if err := server.Create(u.t.Context(), u.object); err != nil {
		u.t.Fatal(err)
	}
}

// allow grants what Operator Lifecycle Manager grants: three verbs on this one object.
func (u *updated) allow() {
	u.t.Helper()
	of := metav1.ObjectMeta{Namespace: u.object.Namespace, Name: u.object.Name}
	for _, object := range []client.Object{
		&rbacv1.Role{ObjectMeta: of, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"operators.coreos.com"}, Resources: []string{"operatorconditions"}, ResourceNames: []string{u.object.Name},
			Verbs: []string{"get", "update", "patch"},
		}}},
		&rbacv1.RoleBinding{
			ObjectMeta: of, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: of.Name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "operator"}},
		},
	} {
		if err := server.Create(u.t.Context(), object); err != nil {
			u.t.Fatal(err)
		}
	}
}

// start runs one replica.
func (u *updated) start() {
	u.t.Helper()
	started, err := manager.NewIdle(u.config, manager.Options{
		MetricsAddress: "0", ProbeAddress: u.probes, LeaderElect: true, LeaseNamespace: u.object.Namespace,
		Namespaces: []string{u.object.Namespace}, HasOperatorCondition: true, Now: time.Now,
	})
	if err == nil {
		err = started.AddProbes()
	}
	if err != nil {
		u.t.Fatal(err)
	}
	u.run(started)
}

func (u *updated) run(started ctrl.Manager) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- started.Start(ctx) }()
	u.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			u.t.Errorf("the manager: %v", err)
		}
	})
	u.t.Cleanup(u.stop)
}

// another replica holds the Lease until the function is called.
func (u *updated) another() (end func()) {
	u.t.Helper()
	held := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: u.object.Namespace, Name: lease.Name},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("another"), LeaseDurationSeconds: ptr.To[int32](600), RenewTime: &metav1.MicroTime{Time: time.Now()},
		},
	}
	if err := server.Create(u.t.Context(), held); err != nil {
		u.t.Fatal(err)
	}
	return func() {
		held.Spec.HolderIdentity = ptr.To("")
		if err := server.Update(u.t.Context(), held); err != nil {
			u.t.Fatal(err)
		}
	}
}

// isReady asks the replica's probe.
func (u *updated) isReady() error {
	request, err := http.NewRequestWithContext(u.t.Context(), http.MethodGet, "http://"+u.probes+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: %s", response.Status)
	}
	return nil
}

// said is the condition as Operator Lifecycle Manager reads it.
func (u *updated) said() (*metav1.Condition, error) {
	object := &apiv2.OperatorCondition{}
	if err := server.Get(u.t.Context(), client.ObjectKeyFromObject(u.object), object); err != nil {
		return nil, err
	}
	kept := slices.Equal(object.Spec.Deployments, u.object.Spec.Deployments) && slices.Equal(object.Spec.Overrides, u.object.Spec.Overrides)
	if !kept || !slices.Equal(object.Spec.ServiceAccounts, u.object.Spec.ServiceAccounts) {
		u.t.Errorf("what others wrote is lost: %+v", object.Spec)
	}
	return meta.FindStatusCondition(object.Spec.Conditions, apiv2.Upgradeable), nil
}

// says waits until the condition has that status and reason.
func (u *updated) says(status metav1.ConditionStatus, reason string) {
	u.t.Helper()
	eventually(u.t, reason, func() error {
		said, err := u.said()
		if err != nil || said == nil || said.Status != status || said.Reason != reason {
			return fmt.Errorf("it says %+v, %w", said, err)
		}
		return nil
	})
}

// keepConditions installs Operator Lifecycle Manager's own CRD for the time of the test.
func keepConditions(t *testing.T) {
	t.Helper()
	crd := crds.OperatorCondition().DeepCopy()
	options := envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}}
	if _, err := envtest.InstallCRDs(environment.Config, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := envtest.UninstallCRDs(environment.Config, options); err != nil {
			t.Error(err)
		}
		gone := &metav1.PartialObjectMetadata{}
		gone.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		eventually(t, "the CRD to be gone", func() error {
			err := server.Get(context.Background(), client.ObjectKey{Name: crd.Name}, gone)
			if err == nil {
				return errors.New("it is there")
			}
			return client.IgnoreNotFound(err)
		})
	})
}

// TestNobodyKeepsAnOperatorCondition: without the CRD, without the object, or without the
// right to it, a replica gets ready and leads all the same.
func TestNobodyKeepsAnOperatorCondition(t *testing.T) {
	aloneWithOLM(t)
	t.Run("no CRD", func(t *testing.T) {
		u := newUpdated(t, "no-crd")
		u.allow()
		u.start()
		eventually(t, "the replica to be ready", u.isReady)
	})
	keepConditions(t)
	t.Run("no object", func(t *testing.T) {
		u := newUpdated(t, "no-object")
		u.allow()
		u.start()
		eventually(t, "the replica to be ready", u.isReady)
		if wrote := u.asked.take(); len(wrote) > 0 {
			t.Errorf("it wrote %v", wrote)
		}
	})
	t.Run("no right", func(t *testing.T) {
		u := newUpdated(t, "no-right")
		u.keep()
		u.start()
		eventually(t, "its probe to answer", func() error {
			if err := u.isReady(); err != nil && strings.HasPrefix(err.Error(), "not ready") {
				return nil
			}
			return errors.New("it does not, or the replica is ready before it has published")
		})
		eventually(t, "the replica to be ready", u.isReady)
	})
}

// TestOperatorCondition: a replica says before it is ready that an update may come, if
// nothing was said; from then on the one that leads says what is under way, and writes
// nothing while that is the same.
func TestOperatorCondition(t *testing.T) {
	aloneWithOLM(t)
	keepConditions(t)
	u := newUpdated(t, "updated")
	u.allow()
	end := u.another()
	u.start()
	time.Sleep(quiet)
	if err := u.isReady(); err != nil {
		t.Errorf("without an OperatorCondition: %v", err)
	}
	u.stop()

	u.keep()
	u.start()
	eventually(t, "the replica to be ready", u.isReady)
	if said, err := u.said(); err != nil || said == nil || said.Status != metav1.ConditionTrue {
		t.Fatalf("ready, and it says %+v, %v", said, err)
	}
	if wrote := u.asked.take(); len(wrote) != 1 {
		t.Errorf("it wrote %v", wrote)
	}
	c := u.cluster("rolls", v1beta1.EtcdClusterStatus{Replicas: 3, UpdatedMembers: 1})
	time.Sleep(2 * quiet)
	if said, err := u.said(); err != nil || said.Status != metav1.ConditionTrue {
		t.Errorf("one that stands by says %+v, %v", said, err)
	}

	end() // it leads
	u.says(metav1.ConditionFalse, v1beta1.ReasonRollInProgress)
	recovering := u.cluster("recovers", v1beta1.EtcdClusterStatus{Replicas: 3, Recovering: "recovers-0"})
	u.says(metav1.ConditionFalse, v1beta1.ReasonQuorumRecoveryInProgress)
	if err := server.Delete(t.Context(), recovering); err != nil {
		t.Fatal(err)
	}
	u.says(metav1.ConditionFalse, v1beta1.ReasonRollInProgress)
	u.asked.take()
	for ready := range int32(10) { // its status changes, and nothing that counts
		c.Status.ReadyMembers = ready
		u.write(c)
	}
	time.Sleep(2 * quiet)
	if wrote := u.asked.take(); len(wrote) > 0 {
		t.Errorf("nothing changes, and it wrote %v", wrote)
	}
	u.conflict()
	c.Status.UpdatedMembers = 3
	u.write(c)
	u.says(metav1.ConditionTrue, v1beta1.ReasonIdle)
	if wrote := u.asked.take(); len(wrote) != 2 {
		t.Errorf("it wrote %v, want one that was refused and one more", wrote)
	}
}

// TestReplicaKeepsWhatIsSaid: one that starts while the one that leads has said that
// something is under way does not say the opposite.
func TestReplicaKeepsWhatIsSaid(t *testing.T) {
	aloneWithOLM(t)
	keepConditions(t)
	u := newUpdated(t, "said")
	u.allow()
	u.another()
	u.object.Spec.Conditions = []metav1.Condition{{
		Type: apiv2.Upgradeable, Status: metav1.ConditionFalse, Reason: v1beta1.ReasonRollInProgress, Message: "said",
		LastTransitionTime: metav1.NewTime(time.Unix(1e9, 0)),
	}}
	u.keep()
	u.start()
	eventually(t, "the replica to be ready", u.isReady)
	if said, err := u.said(); err != nil || said.Status != metav1.ConditionFalse || said.Message != "said" {
		t.Errorf("it says %+v, %v", said, err)
	}
}

// cluster is one of the operator's that progresses.
func (u *updated) cluster(name string, status v1beta1.EtcdClusterStatus) *v1beta1.EtcdCluster {
	u.t.Helper()
	c := create(u.t, u.object.Namespace, name)
	c.Status = status
	c.Status.Operator, c.Status.Format = u.object.Namespace+"/"+lease.Name, v1beta1.StatusFormat
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
		Type: v1beta1.ConditionProgressing, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonActing, Message: "it acts",
	})
	u.write(c)
	return c
}

func (u *updated) write(c *v1beta1.EtcdCluster) {
	u.t.Helper()
	if err := server.Status().Update(u.t.Context(), c); err != nil {
		u.t.Fatal(err)
	}
}

// conflict lets Operator Lifecycle Manager write the object just before the operator does.
func (u *updated) conflict() {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	u.before = func() {
		object := &apiv2.OperatorCondition{}
		if err := server.Get(u.t.Context(), client.ObjectKeyFromObject(u.object), object); err != nil {
			u.t.Error(err)
		}
		metav1.SetMetaDataAnnotation(&object.ObjectMeta, "touched", "true")
		if err := server.Update(u.t.Context(), object); err != nil {
			u.t.Error(err)
		}
	}
}
