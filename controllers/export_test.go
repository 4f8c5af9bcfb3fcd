// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"time"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/controllers/cache"
	"github.com/etcd-operator/etcd-operator/controllers/jobclient"
	"github.com/etcd-operator/etcd-operator/controllers/members"
	"github.com/etcd-operator/etcd-operator/controllers/metrics"
	"github.com/etcd-operator/etcd-operator/internal/cluster/act"
	"github.com/etcd-operator/etcd-operator/internal/cluster/observe"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/connect"
)

// NewReconciler is one installation's, which is called by hand and reads nothing from
// a cache.
func NewReconciler(live client.Client, installed string, recorder events.EventRecorder, now func() time.Time) *EtcdClusterReconciler {
	dialer := &connect.Dialer{Pool: etcd.NewPool(), Reader: live, Now: now, Random: rand.Reader}
	noRemains := func(context.Context, string) (etcd.Remains, error) {
		return etcd.Remains{}, errors.New("no member runs")
	}
	noTimings := func(context.Context, string) (etcd.Timings, error) {
		return etcd.Timings{}, errors.New("no member runs")
	}
	return &EtcdClusterReconciler{
		Client: unindexed{live},
		Observer: &observe.Observer{
			Cache: unindexed{live}, Live: live, Dialer: dialer, Remains: noRemains, Timings: noTimings,
			Resizes: func() specs.Resizes { return specs.ResizesNothing }, Now: now,
			Ahead: func() time.Duration { return 0 }, Behind: func() time.Duration { return 0 },
		},
		Actor:  &act.Actor{Client: live, Live: live, Dialer: dialer, Now: now, Later: now, Random: rand.Reader},
		Dialer: dialer, Events: recorder,
		Installation: installed,
		secrets:      &cache.Secrets{Now: now},
		figures:      &metrics.Clusters{Now: now},
	}
}

// unindexed is a client without the indexes of a cache: it lists all that is in the namespace.
type unindexed struct{ client.Client }

func (c unindexed) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	var all client.ListOptions
	all.ApplyOptions(options)
	all.FieldSelector = nil
	return c.Client.List(ctx, list, &all)
}

// NewRestoreReconcilers are those of EtcdRestores and of the volumes of clusters, which are called by hand, read nothing from a cache,
// and hear from Jobs what the function says of a container.
func NewRestoreReconcilers(
	live client.Client, recorder events.EventRecorder, now func() time.Time, said func(container string) string,
) (*EtcdRestoreReconciler, *VolumeRestoreReconciler) {
	read := func(_ context.Context, _, _, container string, _ *int64) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(said(container))), nil
	}
	shared := &jobclient.Client{Client: live, Live: live, Logs: read}
	image := &jobclient.OwnImage{Given: "registry.example/etcd-operator:test"}
	targets := targetFinder{tasks: shared, image: image, version: "0.0.0"}
	inPlace := &EtcdRestoreReconciler{
		client: live, tasks: shared, asked: members.Finder{Client: live}, events: recorder, now: now, targets: targets,
	}
	return inPlace, &VolumeRestoreReconciler{
		client: live, tasks: shared, asked: members.Finder{Client: live}, image: image, events: recorder, version: "0.0.0", now: now,
		targets: targets,
	}
}

// Asks has a reconciler of EtcdRestores ask the members that the dialer finds.
func (r *EtcdRestoreReconciler) Asks(dialer observe.Members) { r.asked.Dialer = dialer }

// NewBackupReconciler is one that is called by hand, reads nothing from a cache, and hears from Jobs what the function says of a
// container.
func NewBackupReconciler(
	live client.Client, recorder events.EventRecorder, now func() time.Time, said func(container string) string,
) *EtcdBackupReconciler {
	read := func(_ context.Context, _, _, container string, _ *int64) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(said(container))), nil
	}
	return &EtcdBackupReconciler{
		client: live, tasks: &jobclient.Client{Client: live, Live: live, Logs: read},
		image: &jobclient.OwnImage{Given: "registry.example/etcd-operator:test"}, events: recorder, version: "0.0.0", now: now,
	}
}

// NewScheduleReconciler is one that is called by hand, and reads nothing from a cache.
func NewScheduleReconciler(live client.Client, recorder events.EventRecorder, now func() time.Time) *ScheduleReconciler {
	return &ScheduleReconciler{client: unindexed{live}, live: live, events: recorder, now: now, off: func() time.Duration { return 0 }}
}

// NewContinuousReconciler is one that is called by hand, reads nothing from a cache, and hears from Jobs what the function says of a
// container.
func NewContinuousReconciler(
	live client.Client, recorder events.EventRecorder, now func() time.Time, said func(container string) string,
) *ContinuousReconciler {
	read := func(_ context.Context, _, _, container string, _ *int64) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(said(container))), nil
	}
	return &ContinuousReconciler{
		client: live, tasks: &jobclient.Client{Client: live, Live: live, Logs: read}, events: recorder, version: "0.0.0", now: now,
		image: &jobclient.OwnImage{Given: "registry.example/etcd-operator:test"}, off: func() time.Duration { return 0 },
	}
}

// NewUsersReconciler is one that is called by hand, reads nothing from a cache, and asks members through that dialer.
func NewUsersReconciler(live client.Client, dialer observe.Members, recorder events.EventRecorder, now func() time.Time) *UsersReconciler {
	return &UsersReconciler{
		client: live, remembered: &cache.Secrets{Now: now}, live: live, dialer: dialer, events: recorder, now: now, random: rand.Reader,
	}
}

// NewRememberingUsersReconciler is one that remembers Secrets, as that of the manager does.
func NewRememberingUsersReconciler(
	live client.Client, dialer observe.Members, recorder events.EventRecorder, now func() time.Time,
) *UsersReconciler {
	r := NewUsersReconciler(live, dialer, recorder, now)
	r.client = cache.SecretClient{Client: live, Memory: r.remembered}
	return r
}

// NewImportsReconciler is one that is called by hand, reads nothing from a cache, and asks members through that dialer.
func NewImportsReconciler(
	live client.Client, dialer observe.Members, recorder events.EventRecorder, now func() time.Time,
) *InitialDataReconciler {
	return &InitialDataReconciler{
		client: live, live: cache.NameValidatingReader{Reader: live}, asked: members.Finder{Client: live, Dialer: dialer}, events: recorder,
		now: now,
	}
}

// NewDrillReconciler is one that is called by hand, reads nothing from a cache, asks members through that dialer, and reads that line in
// the log of each Job.
func NewDrillReconciler(
	live client.Client, dialer observe.Members, recorder events.EventRecorder, now func() time.Time, line string,
) *EtcdDrillReconciler {
	read := func(context.Context, string, string, string, *int64) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(line)), nil
	}
	return &EtcdDrillReconciler{
		client: live, tasks: &jobclient.Client{Client: live, Live: live, Logs: read},
		image: &jobclient.OwnImage{Given: "registry.example/etcd-operator:test"}, asked: members.Finder{Client: live, Dialer: dialer},
		events: recorder, version: "0.0.0", now: now,
	}
}
