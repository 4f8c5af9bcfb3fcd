// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"io"
	"time"

	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers/cache"
	"github.com/etcd-operator/etcd-operator/controllers/clock"
	"github.com/etcd-operator/etcd-operator/controllers/jobclient"
	"github.com/etcd-operator/etcd-operator/controllers/members"
	"github.com/etcd-operator/etcd-operator/controllers/metrics"
	"github.com/etcd-operator/etcd-operator/internal/cluster/act"
	"github.com/etcd-operator/etcd-operator/internal/cluster/limits"
	"github.com/etcd-operator/etcd-operator/internal/cluster/observe"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/connect"
)

// Shared is what all reconcilers share.
type Shared struct {
	Client  cache.SecretClient // the manager's client within it remembers no Secrets
	Live    client.Reader      // asks the API server, past every cache
	Dialer  *connect.Dialer
	Jobs    *jobclient.Client
	Image   *jobclient.OwnImage  // what Jobs run
	Clock   *clock.Server        // by how much the clock of this machine is wrong
	Figures *metrics.Clusters    // what Prometheus is shown of clusters
	Resizes func() specs.Resizes // what of running Pods this Kubernetes changes
	NoNodes bool                 // the operator may not watch nodes

	Leads        func(context.Context) error // an error unless this operator holds the lease now; nil: there is no lease to hold
	Installation string                      // its Lease, with its namespace; empty without one
	Namespace    string                      // in which the operator runs; empty outside of Kubernetes
	Version      string                      // of the operator
	Domain       string                      // of the Kubernetes cluster; empty if none is known

	Images specs.Images  // for versions of etcd where the user chooses none
	Limits limits.Limits // of what EtcdClusters may request
	Now    func() time.Time
	Random io.Reader
}

// AddTo adds all reconcilers to a manager. That of OperatorConditions is added by AddOperatorCondition, where these are kept.
func (s Shared) AddTo(manager ctrl.Manager) error {
	recorder := manager.GetEventRecorder("etcd-operator.dev/operator")
	if err := s.clusters(recorder).SetupWithManager(manager); err != nil {
		return fmt.Errorf("set up the controller: %w", err)
	}
	if err := s.addContent(manager, recorder); err != nil {
		return err
	}
	return s.addBackups(manager, recorder)
}

// aboutOrBeside finds what may wait for an object: for an EtcdCluster what is about that, for another one all in its namespace.
func aboutOrBeside(object client.Object) []client.ListOption {
	found := []client.ListOption{client.InNamespace(object.GetNamespace())}
	if c, is := object.(*v1beta1.EtcdCluster); is {
		found = append(found, client.MatchingFields{v1beta1.FieldCluster: c.Name})
	}
	return found
}

func (s Shared) clusters(recorder events.EventRecorder) *EtcdClusterReconciler {
	return &EtcdClusterReconciler{
		Client: s.Client,
		Observer: &observe.Observer{
			Cache: s.Client, Live: s.Live, Dialer: s.Dialer,
			Remains: etcd.ReadRemains, Timings: etcd.ReadTimings, Resizes: s.Resizes, NoNodes: s.NoNodes, Now: s.Now, Ahead: s.Clock.Ahead,
			Behind:   s.Clock.Behind,
			Operator: s.Namespace, Domain: s.Domain, Limits: s.Limits,
		},
		Actor: &act.Actor{
			Client: s.Client, Live: s.Live, Dialer: s.Dialer, Images: s.Images,
			Operator: s.Namespace, Domain: s.Domain, Now: s.Now, Later: s.Clock.Later, Random: s.Random, Leads: s.Leads,
		},
		Dialer: s.Dialer,
		Events: recorder,

		Installation: s.Installation,
		secrets:      s.Client.Memory,
		figures:      s.Figures,
	}
}

// addContent adds the reconcilers of what is in etcd: users and roles, and what a cluster begins with or is copied from.
func (s Shared) addContent(manager ctrl.Manager, recorder events.EventRecorder) error {
	users := &UsersReconciler{
		client: s.Client, remembered: s.Client.Memory, live: s.Live, dialer: s.Dialer, events: recorder, leads: s.Leads,
		installation: s.Installation, now: s.Clock.Later, random: s.Random,
	}
	if err := users.SetupWithManager(manager); err != nil {
		return err
	}
	begins := &InitialDataReconciler{
		client: s.Client, live: cache.NameValidatingReader{Reader: s.Live}, asked: members.Finder{Client: s.Client, Dialer: s.Dialer},
		events: recorder, leads: s.Leads, installation: s.Installation, now: s.Now,
	}
	if err := begins.SetupWithManager(manager); err != nil {
		return err
	}
	copies := &CopyReconciler{
		client: s.Client, live: s.Live, asked: members.Finder{Client: s.Client, Dialer: s.Dialer}, source: s.Dialer,
		actor: s.clusters(recorder).Actor, events: recorder, leads: s.Leads, installation: s.Installation, now: s.Now,
	}
	return copies.SetupWithManager(manager)
}

// addBackups adds the reconcilers of stores, backups, restores, drills and schedules, which share how Jobs are made and read.
func (s Shared) addBackups(manager ctrl.Manager, recorder events.EventRecorder) error {
	targets := targetFinder{tasks: s.Jobs, image: s.Image, version: s.Version}
	for _, reconciler := range []interface{ SetupWithManager(ctrl.Manager) error }{
		&EtcdBackupStoreReconciler{
			client: s.Client.Client, tasks: s.Jobs, image: s.Image, events: recorder, version: s.Version, now: s.Now,
		},
		&EtcdBackupReconciler{
			client: s.Client.Client, tasks: s.Jobs, image: s.Image, asked: members.Finder{Client: s.Client, Dialer: s.Dialer},
			images: s.Images, limits: s.Limits, events: recorder, version: s.Version, now: s.Now,
		},
		&VolumeRestoreReconciler{
			client: s.Client.Client, tasks: s.Jobs, asked: members.Finder{Client: s.Client, Dialer: s.Dialer}, image: s.Image, events: recorder,
			version: s.Version, now: s.Now, installation: s.Installation, images: s.Images, limits: s.Limits, targets: targets,
		},
		&EtcdRestoreReconciler{
			client: s.Client.Client, tasks: s.Jobs, asked: members.Finder{Client: s.Client, Dialer: s.Dialer}, events: recorder,
			now: s.Now, installation: s.Installation, limits: s.Limits, targets: targets,
		},
		&EtcdDrillReconciler{
			client: s.Client.Client, tasks: s.Jobs, image: s.Image, asked: members.Finder{Client: s.Client, Dialer: s.Dialer}, events: recorder,
			version: s.Version, now: s.Now, installation: s.Installation,
		},
		&ScheduleReconciler{
			client: s.Client.Client, live: s.Live, events: recorder, leads: s.Leads,
			installation: s.Installation, now: s.Now, off: s.Clock.Off,
		},
		&ContinuousReconciler{
			client: s.Client.Client, tasks: s.Jobs, image: s.Image, events: recorder, version: s.Version, now: s.Now, off: s.Clock.Off,
			installation: s.Installation,
		},
	} {
		if err := reconciler.SetupWithManager(manager); err != nil {
			return fmt.Errorf("set up a controller of backups: %w", err)
		}
	}
	return nil
}

const (
	// workers is how many clusters are reconciled at once: one that is slow to
	// answer must not hold up the others.
	workers = 16
	// patience bounds one reconcile.
	patience = time.Minute
	// firstRetry and lastRetry bound the pauses after errors.
	firstRetry, lastRetry = 10 * time.Millisecond, 30 * time.Second
)

func options() controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: workers,
		ReconciliationTimeout:   patience,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
		UsePriorityQueue:        ptr.To(true),
	}
}
