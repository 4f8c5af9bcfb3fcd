// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package act_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// Member is the client of a member in memory, as the actor dials it.
func (s *scene) Member(_ context.Context, _ *v1beta1.EtcdCluster, m cluster.Member) (etcd.Client, error) {
	s.dials.Add(1)
	return bounded{s.etcd.Client(m.Name)}, nil
}

// bounded refuses changes that nothing bounds in time.
type bounded struct{ etcd.Client }

func (b bounded) AddLearner(ctx context.Context, peerURLs ...string) (etcd.Member, error) {
	if _, ok := ctx.Deadline(); !ok {
		return etcd.Member{}, fmt.Errorf("a call without a deadline")
	}
	return b.Client.AddLearner(ctx, peerURLs...)
}

// api is a Kubernetes in memory that knows preconditions, notes every write, and
// can fail at one of them.
type api struct {
	client.WithWatch
	mutex  sync.Mutex
	writes []string // "create Pod a-0"; those that took effect
	owners []string // field owners of the writes
	forced []string // whose containers were given no time to end
	unseen []string // written as if a watch would report it, while none does
	tried  int
	fail   int  // number of the write that fails without effect; -1: none
	lose   int  // number of the write whose response is lost; -1: none
	fixed  bool // volumes do not grow

	image string // that a webhook gives to every Pod that is patched; empty if none does

	refusal error // the answer to a Pod in a dry run
	dryRuns []string
}

// scheme has all of Kubernetes' types, which takes long to fill.
var scheme = sync.OnceValue(func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return scheme
})

func newAPI(objects ...client.Object) *api {
	a := &api{fail: -1, lose: -1}
	a.WithWatch = fake.NewClientBuilder().WithScheme(scheme()).WithObjects(objects...).WithReturnManagedFields().
		WithInterceptorFuncs(interceptor.Funcs{
			Create: a.create, Delete: a.delete, Patch: a.patch, Apply: a.apply, SubResourcePatch: a.resize,
		}).Build()
	return a
}

func (a *api) failBefore(n int) { a.fail = n }
func (a *api) loseAfter(n int)  { a.lose = n }

func (a *api) write(what, owner string, do func() error) error {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	number := a.tried
	a.tried++
	if number == a.fail {
		return errLost
	}
	if err := do(); err != nil {
		return err
	}
	a.writes, a.owners = append(a.writes, what), append(a.owners, owner)
	if number == a.lose {
		return errLost
	}
	return nil
}

// A hiding client does not show one object, as a cache that has not seen it yet or
// does not hold it.
type hiding struct {
	*api
	object string // "*v1.Secret a-client"
}

func (h hiding) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	if fmt.Sprintf("%T %s", object, key.Name) == h.object {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	return h.api.Get(ctx, key, object, opts...)
}

func (a *api) create(ctx context.Context, inner client.WithWatch, object client.Object, opts ...client.CreateOption) error {
	options := (&client.CreateOptions{}).ApplyOptions(opts)
	if len(options.DryRun) > 0 {
		a.dryRuns = append(a.dryRuns, object.GetName())
		return a.refusal
	}
	return a.write(fmt.Sprintf("create %s %s", object.GetObjectKind().GroupVersionKind().Kind, object.GetName()), options.FieldManager,
		func() error { return inner.Create(ctx, object, opts...) })
}

// delete keeps to the UID in the preconditions, as the API server does.
func (a *api) delete(ctx context.Context, inner client.WithWatch, object client.Object, opts ...client.DeleteOption) error {
	return a.write(fmt.Sprintf("delete %T %s", object, object.GetName()), "", func() error {
		options := (&client.DeleteOptions{}).ApplyOptions(opts)
		there, _ := object.DeepCopyObject().(client.Object)
		if err := inner.Get(ctx, client.ObjectKeyFromObject(object), there); err != nil {
			return err
		}
		if options.Preconditions == nil || options.Preconditions.UID == nil || *options.Preconditions.UID != there.GetUID() {
			return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, object.GetName(), fmt.Errorf("the UID in the precondition differs"))
		}
		if options.GracePeriodSeconds != nil && *options.GracePeriodSeconds == 0 {
			a.forced = append(a.forced, object.GetName())
		}
		a.watch(there, options.DisableReadYourWritesConsistency)
		return inner.Delete(ctx, object, opts...)
	})
}

func (a *api) patch(
	ctx context.Context, inner client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption,
) error {
	options := (&client.PatchOptions{}).ApplyOptions(opts)
	return a.write("patch "+object.GetName(), options.FieldManager, func() error {
		if a.fixed && a.grows(ctx, object) {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "persistentvolumeclaims"}, object.GetName(), errFixed)
		}
		err := inner.Patch(ctx, object, patch, opts...)
		a.watch(object, options.DisableReadYourWritesConsistency)
		if pod, isPod := object.(*corev1.Pod); isPod && a.image != "" && err == nil {
			pod.Spec.Containers[0].Image = a.image
			return inner.Update(ctx, pod)
		}
		return err
	})
}

// watch notes what reads would wait for in vain.
func (a *api) watch(object client.Object, reported bool) {
	_, all := object.(*v1beta1.EtcdCluster) // each of which is watched
	if !all && object.GetLabels()["app.kubernetes.io/managed-by"] != v1beta1.FieldOwner && !reported {
		a.unseen = append(a.unseen, object.GetName())
	}
}

// errFixed is what a storage class says that does not let volumes grow.
var errFixed = errors.New("the storageclass must support resize")

func (a *api) grows(ctx context.Context, object client.Object) bool {
	claim, isVolume := object.(*corev1.PersistentVolumeClaim)
	var now corev1.PersistentVolumeClaim
	return isVolume && a.Get(ctx, client.ObjectKeyFromObject(object), &now) == nil &&
		claim.Spec.Resources.Requests.Storage().Cmp(*now.Spec.Resources.Requests.Storage()) > 0
}

// resize changes resources alone, as the API server does.
func (a *api) resize(
	ctx context.Context, inner client.Client, subresource string, object client.Object, patch client.Patch,
	opts ...client.SubResourcePatchOption,
) error {
	options := (&client.SubResourcePatchOptions{}).ApplyOptions(opts)
	if subresource != "resize" {
		return fmt.Errorf("there is no subresource %s", subresource)
	}
	return a.write("resize "+object.GetName(), options.FieldManager, func() error { return inner.Patch(ctx, object, patch) })
}

func (a *api) apply(ctx context.Context, inner client.WithWatch, object runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	var named struct {
		Kind     string
		Metadata struct{ Name string }
	}
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &named); err != nil {
		return err
	}
	options := (&client.ApplyOptions{}).ApplyOptions(opts)
	return a.write("apply "+named.Kind+" "+named.Metadata.Name, options.FieldManager, func() error {
		if a.isBarred(ctx, named.Kind, named.Metadata.Name) {
			return apierrors.NewInvalid(schema.GroupKind{Kind: named.Kind}, named.Metadata.Name, nil)
		}
		return inner.Apply(ctx, object, opts...)
	})
}

// isBarred says whether something stands on an object beside which the API server lets
// nothing be applied: a budget of those that may go, a port of our name and another number.
func (a *api) isBarred(ctx context.Context, kind, name string) bool {
	key := client.ObjectKey{Namespace: "default", Name: name}
	var budget policyv1.PodDisruptionBudget
	var service corev1.Service
	switch kind {
	case "PodDisruptionBudget":
		return a.Get(ctx, key, &budget) == nil && budget.Spec.MaxUnavailable != nil
	case "Service":
		return a.Get(ctx, key, &service) == nil && slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool {
			return p.Name == "client" && p.Port != v1beta1.ClientPort
		})
	default:
		return false
	}
}
