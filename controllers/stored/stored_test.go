// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package stored_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	clientv3 "go.etcd.io/etcd/client/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers/stored"
)

var (
	server      client.Client
	environment = &envtest.Environment{CRDDirectoryPaths: []string{"../../config/crd/bases"}, ErrorIfCRDPathMissing: true}
)

func TestMain(m *testing.M) {
	code := 1
	if err := start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	_ = environment.Stop()
	os.Exit(code)
}

func start() error {
	config, err := environment.Start()
	if err != nil {
		return fmt.Errorf("start an API server: %w", err)
	}
	config.QPS, config.Burst = 500, 1000
	scheme := runtime.NewScheme()
	_ = v1beta1.AddToScheme(scheme)
	_ = apiextensionsv1.AddToScheme(scheme)
	server, err = client.New(config, client.Options{Scheme: scheme})
	return err
}

// roles are more than are read at once.
const roles = 130

// TestMigration: when another version is stored, every object is stored in it as it was, and the CustomResourceDefinition says so. It
// reads what is in etcd, past the API server.
func TestMigration(t *testing.T) {
	for i := range roles {
		role := &v1beta1.EtcdRole{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("role-%d", i)}}
		role.Spec.Cluster = "any"
		if err := server.Create(t.Context(), role); err != nil {
			t.Fatal(err)
		}
	}
	if got := storedIn(t, "v1alpha1"); got != roles {
		t.Fatalf("%d objects are stored in v1alpha1, want %d", got, roles)
	}
	before := everyRole(t)
	store(t, "v1beta1")

	migration := &stored.Migration{Client: server, Log: logr.Discard(), Settle: stored.Settle}
	if err := migration.Start(t.Context()); err != nil {
		t.Fatal(err)
	}

	if got := storedIn(t, "v1beta1"); got != roles {
		t.Errorf("%d objects are stored in v1beta1, want %d", got, roles)
	}
	if said := definition(t).Status.StoredVersions; !slices.Equal(said, []string{"v1beta1"}) {
		t.Errorf("the CustomResourceDefinition says that %v are stored", said)
	}
	after := everyRole(t)
	for name, was := range before {
		if is := after[name]; is.UID != was.UID || is.Generation != was.Generation || is.Spec.Cluster != was.Spec.Cluster {
			t.Errorf("%s was %v and is %v", name, was, is)
		}
	}
}

// TestNothingToMigrate: where one version is stored nothing is written.
func TestNothingToMigrate(t *testing.T) {
	before := definition(t).ResourceVersion
	migration := &stored.Migration{Client: server, Log: logr.Discard(), Settle: stored.Settle}
	if err := migration.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := definition(t).ResourceVersion; after != before {
		t.Errorf("the CustomResourceDefinition was written: %s, then %s", before, after)
	}
}

// TestEveryKindIsMigrated: the list is that of the API.
func TestEveryKindIsMigrated(t *testing.T) {
	scheme := runtime.NewScheme()
	_ = v1beta1.AddToScheme(scheme)
	for kind := range scheme.KnownTypes(v1beta1.GroupVersion) {
		plural := strings.ToLower(strings.TrimSuffix(kind, "List")) + "s"
		if strings.HasPrefix(kind, "Etcd") && stored.Kinds()[plural] == "" {
			t.Errorf("%s is not migrated", plural)
		}
	}
}

func definition(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := server.Get(t.Context(), client.ObjectKey{Name: "etcdroles.etcd-operator.dev"}, crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

// store has the API server store another version, as a later release does.
func store(t *testing.T, version string) {
	t.Helper()
	crd := definition(t)
	for i := range crd.Spec.Versions {
		crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == version
	}
	if err := server.Update(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
}

func everyRole(t *testing.T) map[string]v1beta1.EtcdRole {
	t.Helper()
	list := &v1beta1.EtcdRoleList{}
	if err := server.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	all := map[string]v1beta1.EtcdRole{}
	for _, role := range list.Items {
		all[role.Name] = role
	}
	return all
}

// storedIn counts the roles that etcd has in a version.
func storedIn(t *testing.T, version string) int {
	t.Helper()
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{environment.ControlPlane.Etcd.URL.String()}, Context: context.Background()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = etcd.Close() }()
	found, err := etcd.Get(t.Context(), "/registry/etcd-operator.dev/etcdroles/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, entry := range found.Kvs {
		if strings.Contains(string(entry.Value), `"apiVersion":"etcd-operator.dev/`+version+`"`) {
			count++
		}
	}
	return count
}
