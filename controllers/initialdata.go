// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers/members"
	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/initialdata"
)

// InitialDataReconciler writes, once, the keys of a ConfigMap or Secret that a new EtcdCluster begins with. Of the status of an
// EtcdCluster it writes import and the condition Imported and nothing else.
type InitialDataReconciler struct {
	client client.Client
	live   client.Reader
	asked  members.Finder
	events events.EventRecorder
	leads  func(context.Context) error // an error unless this operator holds the lease now; may be nil

	installation string
	now          func() time.Time
}

// sourceAgain is the pause after a ConfigMap or Secret was not there, or could not be imported: two requests in this time for
// each cluster that waits. A watch would need the right to list all of them.
const sourceAgain = 15 * time.Second

// SetupWithManager watches the EtcdClusters that are to begin with something.
func (r *InitialDataReconciler) SetupWithManager(manager ctrl.Manager) error {
	begins := func(object client.Object) bool {
		c, is := object.(*v1beta1.EtcdCluster)
		return is && !c.HasImported() &&
			(c.WantsImport() || meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionImported) != nil)
	}
	changes := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return begins(e.ObjectNew) && concernsContent(e) }}
	err := ctrl.NewControllerManagedBy(manager).
		For(&v1beta1.EtcdCluster{}, builder.WithPredicates(predicate.NewPredicateFuncs(begins), changes)).
		Named("imports").WithOptions(options()).Complete(r)
	return wrapped("set up the controller of imports", err)
}

// dataLook is what one look at the keys that a cluster begins with has seen, and what it has written.
type dataLook struct {
	initialdata.View
	written v1beta1.ImportStatus
}

// Reconcile looks at what one cluster begins with, and takes one step.
func (r *InitialDataReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return reconcileOnce[*dataLook, initialdata.Step](ctx, "imports", r, request.NamespacedName)
}

// observe reads the source only if its keys could be written, and then the EtcdCluster as it is now: a cache may not show yet that
// everything is imported, and a key that a client has deleted since would come back.
func (r *InitialDataReconciler) observe(ctx context.Context, key types.NamespacedName) (*dataLook, error) {
	c := &v1beta1.EtcdCluster{}
	if err := r.client.Get(ctx, key, c); err != nil {
		return nil, gone("get EtcdCluster", err)
	}
	if c.Status.Operator != r.installation || facts.IsLeftAlone(c) {
		return nil, errIdle
	}
	look := &dataLook{View: initialdata.View{Cluster: c, Paused: facts.Paused(c)}}
	step, _ := initialdata.Next(look.View)
	if _, reads := step.(initialdata.ReadSource); !reads {
		return look, nil
	}
	uid := c.UID
	if err := r.live.Get(ctx, key, c); err != nil || c.UID != uid || !c.WantsImport() {
		return nil, cmp.Or(gone("get EtcdCluster", err), errIdle)
	}
	look.Paused = facts.Paused(c)
	var err error
	if look.Source, err = r.source(ctx, c); err != nil {
		return nil, errors.Join(err, r.fail(ctx, c, err))
	}
	return look, nil
}

func (r *InitialDataReconciler) plan(look *dataLook) (initialdata.Step, string) {
	return initialdata.Next(look.View)
}

// again rereads a source that is not as it must be: no watch reports when it is.
func (r *InitialDataReconciler) again(_ *dataLook, step initialdata.Step) time.Duration {
	if set, is := step.(initialdata.SetCondition); is && set.Again {
		return spread(sourceAgain)
	}
	return 0
}

// act writes the keys. The status is written by report.
func (r *InitialDataReconciler) act(ctx context.Context, look *dataLook, step initialdata.Step) (err error) {
	if s, writes := step.(initialdata.WriteKeys); writes {
		look.written, err = r.write(ctx, look.Cluster, s.Keys)
	}
	return err
}

// report says what is true now.
func (r *InitialDataReconciler) report(ctx context.Context, look *dataLook, step initialdata.Step, failed error) error {
	c := look.Cluster
	if failed != nil {
		return errors.Join(failed, r.fail(ctx, c, failed))
	}
	switch s := step.(type) {
	case initialdata.WriteKeys:
		return r.finish(ctx, c, look.written)
	case initialdata.RemoveCondition:
		return r.change(ctx, c, func(s *v1beta1.EtcdClusterStatus) {
			meta.RemoveStatusCondition(&s.Conditions, v1beta1.ConditionImported)
		})
	case initialdata.SetCondition:
		return r.say(ctx, c, s.Condition)
	case initialdata.ReadSource, initialdata.Done:
	}
	return nil
}

// source reads the ConfigMap or Secret by its name.
func (r *InitialDataReconciler) source(ctx context.Context, c *v1beta1.EtcdCluster) (*initialdata.Source, error) {
	from := c.Spec.Bootstrap.Import
	var found *initialdata.Source
	var err error
	if from.SecretRef != nil {
		var secret corev1.Secret
		err = r.live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: from.SecretRef.Name}, &secret)
		found = initialdata.OfSecret(&secret)
	} else {
		var configMap corev1.ConfigMap
		err = r.live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: from.ConfigMapRef.Name}, &configMap)
		found = initialdata.OfConfigMap(&configMap)
	}
	if apierrors.IsNotFound(err) {
		return &initialdata.Source{}, nil
	}
	return found, wrapped("get "+initialdata.Name(c), err)
}

// write puts the keys into etcd that it does not have. Each transaction is whole, and one that was made before puts nothing: an
// operator that dies between two of them begins again.
func (r *InitialDataReconciler) write(ctx context.Context, c *v1beta1.EtcdCluster, keys []etcd.KeyValue) (v1beta1.ImportStatus, error) {
	var done v1beta1.ImportStatus
	if r.leads != nil {
		if err := r.leads(ctx); err != nil {
			return done, err
		}
	}
	member, _, err := members.FirstToAnswer(ctx, r.asked, c, etcd.Client.Revision)
	if err == nil && member == nil {
		err = errors.New("no member runs")
	}
	if err != nil {
		return done, err
	}
	for batch := range slices.Values(initialdata.Batches(keys)) {
		put := 0
		_, err := members.Within(ctx, func(ctx context.Context) (_ struct{}, err error) {
			put, done.Revision, err = member.PutMissing(ctx, batch)
			return struct{}{}, err
		})
		if err != nil {
			return done, err
		}
		done.Keys += int32(len(batch))       //nolint:gosec // at most initialdata.MostKeys
		done.Kept += int32(len(batch) - put) //nolint:gosec // as above
	}
	done.Time = metav1.NewTime(r.now())
	return done, nil
}

// finish writes down that everything is imported.
func (r *InitialDataReconciler) finish(ctx context.Context, c *v1beta1.EtcdCluster, done v1beta1.ImportStatus) error {
	condition := initialdata.Written(c, done.Keys, done.Kept)
	log.FromContext(ctx).Info("imported keys", "from", initialdata.Name(c), "keys", done.Keys, "kept", done.Kept, "revision", done.Revision)
	err := r.change(ctx, c, func(s *v1beta1.EtcdClusterStatus) {
		s.Import = &done
		condition.ObservedGeneration = c.Generation
		meta.SetStatusCondition(&s.Conditions, condition)
	})
	if err == nil {
		r.events.Eventf(c, nil, corev1.EventTypeNormal, v1beta1.ConditionImported, "Import", "%s", condition.Message)
	}
	return err
}

// fail says what went wrong, unless only something has changed meanwhile.
func (r *InitialDataReconciler) fail(ctx context.Context, c *v1beta1.EtcdCluster, err error) error {
	if isOutdated(err) {
		return nil
	}
	return r.say(ctx, c, initialdata.Failed(err))
}

// say writes the condition, and emits an event if its reason has changed to one that a person should know.
func (r *InitialDataReconciler) say(ctx context.Context, c *v1beta1.EtcdCluster, condition metav1.Condition) error {
	condition.Message = cut(condition.Message, 1024)
	before := ""
	if was := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionImported); was != nil {
		before = was.Reason
	}
	err := r.change(ctx, c, func(s *v1beta1.EtcdClusterStatus) {
		condition.ObservedGeneration = c.Generation
		meta.SetStatusCondition(&s.Conditions, condition)
	})
	if err == nil && before != condition.Reason && condition.Reason != v1beta1.ReasonWaitingForCluster {
		r.events.Eventf(c, nil, corev1.EventTypeWarning, condition.Reason, "Import", "%s", cut(condition.Message, 900))
	}
	return err
}

// change changes the status, and reads it again after a conflict: what was imported must not be forgotten because of one.
func (r *InitialDataReconciler) change(ctx context.Context, c *v1beta1.EtcdCluster, change func(*v1beta1.EtcdClusterStatus)) error {
	uid, key := c.UID, client.ObjectKeyFromObject(c)
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		before := c.Status.DeepCopy()
		if change(&c.Status); equality.Semantic.DeepEqual(before, &c.Status) {
			return nil
		}
		err := writeStatus(ctx, r.client, c)
		if !apierrors.IsConflict(err) {
			return err
		}
		if failed := r.live.Get(ctx, key, c); failed != nil || c.UID != uid || c.HasImported() {
			return failed
		}
		return err
	})
	return client.IgnoreNotFound(err)
}
