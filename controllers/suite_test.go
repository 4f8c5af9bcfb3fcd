// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	apiv2 "github.com/operator-framework/api/pkg/operators/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers/manager"
)

const (
	watched   = "watched"   // the namespace that the manager is to watch
	elsewhere = "elsewhere" // one that it is not
)

var (
	server client.Client // an administrator's client
	writes = &counter{}  // of the operator
	logged = &journal{}  // by it
	rights *rest.Config  // of the operator; requests with them are not counted

	// live is a client with these rights, for reconcilers that are called by hand.
	live client.WithWatch

	environment = &envtest.Environment{CRDDirectoryPaths: []string{"../config/crd/bases"}, ErrorIfCRDPathMissing: true}
)

// TestMain starts one API server and one manager for all tests. There is no
// kubelet and no garbage collector: Pods never run, and what has lost its owner stays.
func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctrl.SetLogger(zap.New(zap.UseDevMode(true), zap.WriteTo(io.MultiWriter(logFile(), logged))))
	ctx, cancel := context.WithCancel(context.Background())
	stopped, err := start(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		cancel()
		_ = environment.Stop()
		return 1
	}
	code := m.Run()
	cancel()
	if err := <-stopped; err != nil {
		fmt.Fprintln(os.Stderr, "the manager:", err)
		code = 1
	}
	if err := environment.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop the API server:", err)
	}
	return code
}

// logFile is where the manager logs: nowhere, unless a test is run with -v.
func logFile() *os.File {
	for _, arg := range os.Args {
		if arg == "-test.v=true" {
			return os.Stderr
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	return null
}

func start(ctx context.Context) (<-chan error, error) {
	admin, err := environment.Start()
	if err != nil {
		return nil, fmt.Errorf("start an API server with the CRD: %w", err)
	}
	admin.QPS = -1
	// Before anything uses it, because it has no lock.
	if err := errors.Join(v1beta1.AddToScheme(clientgoscheme.Scheme), apiv2.AddToScheme(clientgoscheme.Scheme)); err != nil {
		return nil, err
	}
	if server, err = client.New(admin, client.Options{Scheme: clientgoscheme.Scheme}); err != nil {
		return nil, err
	}
	for _, name := range []string{watched, elsewhere} {
		if err := server.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return nil, err
		}
	}
	config, err := operator(ctx)
	if err != nil {
		return nil, err
	}
	started, err := manager.New(ctx, config, manager.Options{
		MetricsAddress: "0", ProbeAddress: "0", Namespaces: []string{watched}, Now: time.Now, Random: rand.Reader,
		TaskImage: "registry.example/etcd-operator:test", Version: "0.0.0",
	})
	if err != nil {
		return nil, err
	}
	stopped := make(chan error, 1)
	go func() { stopped <- started.Start(ctx) }()
	return stopped, nil
}

// operator is a user who may do what the generated roles allow, and nothing else.
func operator(ctx context.Context) (*rest.Config, error) {
	roles, err := generatedRoles()
	if err != nil {
		return nil, err
	}
	user, err := environment.AddUser(envtest.User{Name: "operator"}, &rest.Config{QPS: -1})
	if err != nil {
		return nil, err
	}
	for _, role := range roles {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.Name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "operator"}},
		}
		if err := errors.Join(server.Create(ctx, role), server.Create(ctx, binding)); err != nil {
			return nil, err
		}
	}
	rights = user.Config()
	if live, err = client.NewWithWatch(rights, client.Options{Scheme: clientgoscheme.Scheme}); err != nil {
		return nil, err
	}
	config := rest.CopyConfig(rights)
	config.Wrap(writes.wrap)
	return config, nil
}

// generatedRoles are, by name, all that the operator may do where it is installed for all namespaces.
func generatedRoles() (map[string]*rbacv1.ClusterRole, error) {
	text, err := os.ReadFile("../config/rbac/role.yaml")
	if err != nil {
		return nil, err
	}
	roles := map[string]*rbacv1.ClusterRole{}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		role := &rbacv1.ClusterRole{}
		if err := yaml.UnmarshalStrict([]byte(document), role); err != nil {
			return nil, err
		}
		roles[role.Name] = role
	}
	return roles, nil
}

// A counter notes every request that writes.
type counter struct {
	mutex    sync.Mutex
	requests []string
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func (c *counter) wrap(inner http.RoundTripper) http.RoundTripper {
	return roundTrip(func(request *http.Request) (*http.Response, error) {
		if request.Method != http.MethodGet {
			c.note(request)
		}
		return inner.RoundTrip(request)
	})
}

func (c *counter) note(request *http.Request) { c.add(request.Method + " " + request.URL.Path) }

func (c *counter) add(request string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.requests = append(c.requests, request)
}

// take returns the requests that were made since the last time.
func (c *counter) take() []string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	taken := c.requests
	c.requests = nil
	return taken
}
