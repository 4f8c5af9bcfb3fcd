// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

const (
	// blink is the pause between two looks at what watches have brought, and
	// between two questions to a member.
	blink = 10 * time.Millisecond
	// patience is how long anything may take before the run is given up.
	patience = 5 * time.Minute
	// rest lets what a repetition left behind end before the next one. It is up to twice
	// as long, by chance: the kubelet looks once a second, and repetitions that follow
	// each other at its pace would all meet it at the same moment.
	rest = time.Second
)

// A bench is the cluster that is measured. Seen is fed by watches; the client
// asks the API server.
type bench struct {
	options
	client     client.WithWatch
	seen       cache.Cache
	members    *etcd.Pool
	identities sync.Map // *tls.Config by the UID of its Secret
	log        auditLog
	machine    []string
	stop       func()
}

func start(ctx context.Context, o options) (*bench, error) {
	ctrl.SetLogger(zap.New(zap.WriteTo(io.Discard)))
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w", err)
	}
	config.QPS = -1
	config.UserAgent = "bench"
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1beta1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("build the scheme: %w", err)
	}
	b := &bench{options: o, members: etcd.NewPool(), log: auditLog(o.audit)}
	if b.client, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	b.seen, err = cache.New(config, cache.Options{Scheme: scheme, DefaultNamespaces: map[string]cache.Config{o.namespace: {}}})
	if err != nil {
		return nil, fmt.Errorf("make a cache: %w", err)
	}
	watching, cancel := context.WithCancel(ctx)
	b.stop = func() {
		b.removeNamespace()
		cancel()
	}
	if err := b.prepare(watching); err != nil {
		cancel()
		return nil, err
	}
	return b, nil
}

// prepare makes the namespace, and the watches before anything is timed.
func (b *bench) prepare(ctx context.Context) error {
	if _, err := b.log.end(); err != nil {
		return err
	}
	if err := b.makeNamespace(ctx); err != nil {
		return err
	}
	go b.seen.Start(ctx) //nolint:errcheck // it fails only when started twice
	for _, object := range []client.Object{&corev1.Pod{}, &corev1.PersistentVolumeClaim{}, &v1beta1.EtcdCluster{}} {
		if _, err := b.seen.GetInformer(ctx, object); err != nil {
			return fmt.Errorf("watch %T: %w", object, err)
		}
	}
	var clusters v1beta1.EtcdClusterList
	if err := b.client.List(ctx, &clusters); err != nil {
		return fmt.Errorf("list EtcdClusters: %w", err)
	}
	if len(clusters.Items) > 0 {
		fmt.Printf("warning: %d other EtcdClusters exist; their requests count as well\n", len(clusters.Items))
	}
	machine, err := describe(ctx, b.client)
	b.machine = machine
	return err
}

// makeNamespace makes an empty one: what an earlier run left behind would be in the way.
func (b *bench) makeNamespace(ctx context.Context) error {
	if !strings.HasPrefix(b.namespace, "bench-") {
		return fmt.Errorf("namespace %q does not begin with bench-; it would be deleted", b.namespace)
	}
	return poll(ctx, "an empty namespace "+b.namespace, rest, patience, func() (bool, error) {
		err := b.client.Create(ctx, b.namespaceObject())
		if !apierrors.IsAlreadyExists(err) {
			return err == nil, err
		}
		return false, client.IgnoreNotFound(b.client.Delete(ctx, b.namespaceObject()))
	})
}

func (b *bench) namespaceObject() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.namespace}}
}

// removeNamespace also runs after an interrupt, so it has a context of its own.
func (b *bench) removeNamespace() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := b.client.Delete(ctx, b.namespaceObject()); client.IgnoreNotFound(err) != nil {
		fmt.Fprintln(os.Stderr, "bench: delete namespace:", err)
	}
}

// progress prints a line for each repetition.
func (b *bench) progress(format string, args ...any) {
	fmt.Printf("    %s "+format+"\n", append([]any{time.Now().Format("15:04:05")}, args...)...)
}

// poll asks until the answer is yes.
func poll(ctx context.Context, what string, pause, longest time.Duration, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	for {
		ok, err := done()
		if err != nil {
			return fmt.Errorf("wait for %s: %w", what, err)
		}
		if ok {
			return nil
		}
		if err := sleep(ctx, pause); err != nil {
			return fmt.Errorf("wait for %s: %w", what, err)
		}
	}
}

// resting pauses for one to two rests.
func resting(ctx context.Context) error {
	return sleep(ctx, rest+rand.N(rest)) //nolint:gosec // nothing secret is drawn
}

func sleep(ctx context.Context, pause time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
		return nil
	}
}

// inCheckout finds a path from anywhere in the checkout.
func inCheckout(path string) string {
	folder, err := os.Getwd()
	if err != nil {
		return path
	}
	for ; folder != "/"; folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "hack", "devcluster")); err == nil {
			return filepath.Join(folder, path)
		}
	}
	return path
}
