// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stored rewrites objects of the operator's kinds that the API server has stored in an earlier version, so that a later release may
// stop serving it, and says when their definitions are older than the operator.
//
// It must never change an object: each is written back as it was read.
package stored

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// +kubebuilder:rbac:roleName=manager-cluster-role,groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=etcdclusters.etcd-operator.dev;etcdbackups.etcd-operator.dev;etcdbackupstores.etcd-operator.dev;etcdrestores.etcd-operator.dev;etcdusers.etcd-operator.dev;etcdroles.etcd-operator.dev;etcddrills.etcd-operator.dev,verbs=get
// +kubebuilder:rbac:roleName=manager-cluster-role,groups=apiextensions.k8s.io,resources=customresourcedefinitions/status,resourceNames=etcdclusters.etcd-operator.dev;etcdbackups.etcd-operator.dev;etcdbackupstores.etcd-operator.dev;etcdrestores.etcd-operator.dev;etcdusers.etcd-operator.dev;etcdroles.etcd-operator.dev;etcddrills.etcd-operator.dev,verbs=update

// Kinds are those that are stored, with the plural names by which their CustomResourceDefinitions are called.
func Kinds() map[string]string {
	return map[string]string{
		"etcdclusters": "EtcdCluster", "etcdbackups": "EtcdBackup", "etcdbackupstores": "EtcdBackupStore", "etcdrestores": "EtcdRestore",
		"etcdusers": "EtcdUser", "etcdroles": "EtcdRole", "etcddrills": "EtcdDrill",
	}
}

var definitions = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

const (
	// Settle is how long after it was first seen a CustomResourceDefinition counts as known to every replica of the API server. A
	// replica that does not know it yet would store in the earlier version again.
	Settle = 15 * time.Second
	// page is how many objects are read at once.
	page = 100
	// attempts bound how often a kind is tried, with pauses that double from retry on.
	attempts, retry = 8, 2 * time.Second
)

// A Migration runs once, when the operator begins to lead.
type Migration struct {
	Client client.Client // asks the API server, past every cache
	Log    logr.Logger
	Settle time.Duration
}

// NeedLeaderElection has one replica do it.
func (*Migration) NeedLeaderElection() bool { return true }

// Start migrates each kind. What cannot be migrated is logged, and stops nothing: the API server serves every object in each version.
func (m *Migration) Start(ctx context.Context) error {
	for _, plural := range slices.Sorted(maps.Keys(Kinds())) {
		backoff := wait.Backoff{Duration: retry, Factor: 2, Steps: attempts}
		var last error
		err := wait.ExponentialBackoffWithContext(ctx, backoff, func(ctx context.Context) (bool, error) {
			last = m.migrate(ctx, plural)
			return last == nil || apierrors.IsForbidden(last) || apierrors.IsNotFound(last), nil
		})
		select {
		case <-ctx.Done():
			return nil
		default:
		}
		switch {
		case apierrors.IsForbidden(last):
			m.Log.Info("objects keep the version in which they are stored, since the operator may not migrate them; an administrator may",
				"kind", plural)
		case err != nil || last != nil:
			m.Log.Error(last, "objects keep the version in which they are stored until the operator starts again", "kind", plural)
		}
	}
	return nil
}

// migrate writes each object of a kind back, and then has the CustomResourceDefinition say that no other version is stored.
func (m *Migration) migrate(ctx context.Context, plural string) error {
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(definitions)
	name := client.ObjectKey{Name: plural + "." + v1beta1.GroupVersion.Group}
	if err := m.Client.Get(ctx, name, crd); err != nil {
		return fmt.Errorf("read %s: %w", name.Name, err)
	}
	storage := storageVersion(crd)
	before, _, err := unstructured.NestedStringSlice(crd.Object, "status", "storedVersions")
	if err != nil || slices.Equal(before, []string{storage}) {
		return err //nolint:wrapcheck // it names the field
	}
	if err := pause(ctx, m.Settle); err != nil {
		return err
	}
	count, err := m.writeBack(ctx, Kinds()[plural])
	if err != nil {
		return err
	}
	if err := unstructured.SetNestedStringSlice(crd.Object, []string{storage}, "status", "storedVersions"); err != nil {
		return err //nolint:wrapcheck // it names the field
	}
	// The API server refuses it if the definition has changed since it was read.
	if err := m.Client.Status().Update(ctx, crd, client.FieldOwner(v1beta1.FieldOwner)); err != nil {
		return fmt.Errorf("write which versions of %s are stored: %w", plural, err)
	}
	m.Log.Info("all objects are stored in one version", "kind", plural, "version", storage,
		"before", strings.Join(before, ","), "objects", count)
	return nil
}

// writeBack writes each object's status as it was read, by which the API server stores the whole object again. An object that has changed
// meanwhile was stored again by that.
func (m *Migration) writeBack(ctx context.Context, kind string) (int, error) {
	count, next := 0, ""
	for {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(v1beta1.GroupVersion.WithKind(kind + "List"))
		if err := m.Client.List(ctx, list, client.Limit(page), client.Continue(next)); err != nil {
			return count, fmt.Errorf("list every %s: %w", kind, err)
		}
		for i := range list.Items {
			err := m.Client.Status().Update(ctx, &list.Items[i], client.FieldOwner(v1beta1.FieldOwner))
			if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				return count, fmt.Errorf("store %s %s/%s again: %w", kind, list.Items[i].GetNamespace(), list.Items[i].GetName(), err)
			}
			count++
		}
		if next = list.GetContinue(); next == "" {
			return count, nil
		}
	}
}

// storageVersion is the one in which objects are stored from now on.
func storageVersion(crd *unstructured.Unstructured) string {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, version := range versions {
		if of, _ := version.(map[string]any); of["storage"] == true {
			name, _ := of["name"].(string)
			return name
		}
	}
	return ""
}

func pause(ctx context.Context, lasts time.Duration) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("wait until the API server knows the version: %w", ctx.Err())
	case <-time.After(lasts):
		return nil
	}
}
