//go:build envtest

package controllers

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/internal/cluster/act"
	"github.com/etcd-operator/etcd-operator/internal/cluster/observe"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/connect"
)

// LeaseName is the name of the Lease of every installation.
const LeaseName = leaseName

// NewIdleManager is a manager that leads and does nothing.
func NewIdleManager(config *rest.Config, chosen Options) (ctrl.Manager, error) {
	manager, _, err := newManager(config, chosen)
	return manager, err
}

// NewTellingManager is a manager that only reports to Operator Lifecycle Manager what it sees.
func NewTellingManager(config *rest.Config, chosen Options) (ctrl.Manager, error) {
	manager, lock, err := newManager(config, chosen)
	if err != nil {
		return nil, err
	}
	return manager, addProbes(manager, config, lock, chosen)
}

// NewReconciler is one installation's, which is called by hand and reads nothing from
// a cache.
func NewReconciler(live client.Client, installed string, recorder events.EventRecorder, now func() time.Time) *EtcdClusterReconciler {
	dialer := &connect.Dialer{Pool: etcd.NewPool(), Reader: live, Now: now, Random: rand.Reader}
	noRemains := func(context.Context, string) (etcd.Remains, error) {
		return etcd.Remains{}, errors.New("no member runs")
	}
	return &EtcdClusterReconciler{
		Client: live,
		Observer: &observe.Observer{
			Cache: live, Live: live, Dialer: dialer, Remains: noRemains,
			Resizes: func() specs.Resizes { return specs.ResizesNothing }, Now: now,
			Ahead: func() time.Duration { return 0 }, Behind: func() time.Duration { return 0 },
		},
		Actor:  &act.Actor{Client: live, Live: live, Dialer: dialer, Now: now, Later: now, Random: rand.Reader},
		Dialer: dialer, Events: recorder,
		Installation: installed,
		secrets:      &secretMemory{now: now},
	}
}

// NewRestoreReconcilers are those of EtcdRestores and of the volumes of clusters, which are called by hand, read nothing from a cache,
// and hear from Jobs what the function says of a container.
func NewRestoreReconcilers(
	live client.Client, recorder events.EventRecorder, now func() time.Time, said func(container string) string,
) (*EtcdRestoreReconciler, *VolumeRestoreReconciler) {
	read := func(_ context.Context, _, _, container string, _ *int64) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(said(container))), nil
	}
	shared := &jobClient{client: live, live: live, logs: read}
	return &EtcdRestoreReconciler{client: live, tasks: shared, asked: memberFinder{client: live}, events: recorder, now: now},
		&VolumeRestoreReconciler{
			client: live, tasks: shared, image: &ownImage{given: "registry.example/etcd-operator:test"}, events: recorder,
			version: "0.0.0", now: now,
		}
}

// Asks has a reconciler of EtcdRestores ask the members that the dialer finds.
func (r *EtcdRestoreReconciler) Asks(dialer observe.Members) { r.asked.dialer = dialer }

// NewBackupReconciler is one that is called by hand, reads nothing from a cache, and hears from Jobs what the function says of a
// container.
func NewBackupReconciler(
	live client.Client, recorder events.EventRecorder, now func() time.Time, said func(container string) string,
) *EtcdBackupReconciler {
	read := func(_ context.Context, _, _, container string, _ *int64) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(said(container))), nil
	}
	return &EtcdBackupReconciler{
		client: live, tasks: &jobClient{client: live, live: live, logs: read}, image: &ownImage{given: "registry.example/etcd-operator:test"},
		events: recorder, version: "0.0.0", now: now,
	}
}

// NewScheduleReconciler is one that is called by hand, and reads nothing from a cache.
func NewScheduleReconciler(live client.Client, recorder events.EventRecorder, now func() time.Time) *ScheduleReconciler {
	return &ScheduleReconciler{client: live, live: live, events: recorder, now: now, off: func() time.Duration { return 0 }}
}

// NewUsersReconciler is one that is called by hand, reads nothing from a cache, and asks members through that dialer.
func NewUsersReconciler(live client.Client, dialer observe.Members, recorder events.EventRecorder, now func() time.Time) *UsersReconciler {
	return &UsersReconciler{
		client: live, remembered: &secretMemory{now: now}, live: live, dialer: dialer, events: recorder, now: now, random: rand.Reader,
	}
}

// NewRememberingUsersReconciler is one that remembers Secrets, as that of the manager does.
func NewRememberingUsersReconciler(
	live client.Client, dialer observe.Members, recorder events.EventRecorder, now func() time.Time,
) *UsersReconciler {
	r := NewUsersReconciler(live, dialer, recorder, now)
	r.client = secretClient{Client: live, memory: r.remembered}
	return r
}

// NewImportsReconciler is one that is called by hand, reads nothing from a cache, and asks members through that dialer.
func NewImportsReconciler(
	live client.Client, dialer observe.Members, recorder events.EventRecorder, now func() time.Time,
) *InitialDataReconciler {
	return &InitialDataReconciler{
		client: live, live: nameValidatingReader{live}, asked: memberFinder{live, dialer}, events: recorder,
		now: now,
	}
}
