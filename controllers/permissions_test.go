// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers/manager"
	"github.com/etcd-operator/etcd-operator/internal/cluster/limits"
)

// few is a user who may do in some namespaces what the generated role for these allows, as
// Operator Lifecycle Manager grants it there; and outside of them what the other one allows,
// or nothing.
func few(t *testing.T, name string, namespaces []string, outside bool) (*rest.Config, *counter) {
	t.Helper()
	generated, err := generatedRoles()
	if err != nil {
		t.Fatal(err)
	}
	user, err := environment.AddUser(envtest.User{Name: name}, &rest.Config{QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}}
	var objects []client.Object
	for _, namespace := range namespaces {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
		objects = append(objects,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
			&rbacv1.Role{ObjectMeta: meta, Rules: generated["manager-role"].Rules},
			&rbacv1.RoleBinding{
				ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			})
	}
	if outside {
		meta := metav1.ObjectMeta{Name: name}
		objects = append(objects,
			&rbacv1.ClusterRole{ObjectMeta: meta, Rules: generated["manager-cluster-role"].Rules},
			&rbacv1.ClusterRoleBinding{
				ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			})
	}
	for _, object := range objects {
		if err := client.IgnoreAlreadyExists(server.Create(t.Context(), object)); err != nil {
			t.Fatal(err)
		}
	}
	asked := &counter{}
	config := rest.CopyConfig(user.Config())
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper {
		return roundTrip(func(request *http.Request) (*http.Response, error) {
			response, err := inner.RoundTrip(request)
			if err == nil {
				asked.add(fmt.Sprint(response.StatusCode, " ", request.Method, " ", request.URL.Path))
			}
			return response, err
		})
	})
	return config, asked
}

// runs starts a manager that ends with the test.
func runs(t *testing.T, config *rest.Config, namespaces []string, limited ...limits.Limits) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	options := manager.Options{MetricsAddress: "0", ProbeAddress: "0", Namespaces: namespaces, Now: time.Now, Random: rand.Reader}
	for _, l := range limited {
		options.Limits = l
	}
	started, err := manager.New(ctx, config, options)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- started.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the manager: %v", err)
		}
	})
}

// TestTwoNamespacesOnly: an operator that is installed for two namespaces manages the
// clusters there and asks for nothing elsewhere. What it may not read outside of all
// namespaces it does without.
func TestTwoNamespacesOnly(t *testing.T) {
	for _, outside := range []bool{true, false} {
		t.Run(fmt.Sprintf("outside=%t", outside), func(t *testing.T) {
			here := []string{fmt.Sprintf("here-%t", outside), fmt.Sprintf("there-%t", outside)}
			config, asked := few(t, "few-"+fmt.Sprint(outside), here, outside)
			stranger := create(t, elsewhere, "stranger")
			runs(t, config, here)
			for _, namespace := range here {
				c := create(t, namespace, "few")
				whole(t, c)
				heals(t, c)
			}
			isUntouched(t, stranger)
			refused := 0
			for _, request := range asked.take() {
				if isAllowed(request, here) {
					continue
				}
				refused++
				if outside || request != "403 GET /api/v1/nodes" && !strings.HasPrefix(request, "403 GET /api/v1/persistentvolumes/") {
					t.Errorf("it asks: %s", request)
				}
			}
			if !outside && refused != 2 {
				t.Errorf("%d requests were refused, want one for nodes and one for volumes", refused)
			}
		})
	}
}

// isAllowed says whether a request was for one of the namespaces, for what kinds there
// are, or was granted outside.
func isAllowed(request string, namespaces []string) bool {
	code, path, _ := strings.Cut(request, " ")
	_, path, _ = strings.Cut(path, " ")
	if code == "403" {
		return false
	}
	for _, namespace := range namespaces {
		if strings.Contains(path, "/namespaces/"+namespace+"/") {
			return true
		}
	}
	discovers := strings.Count(path, "/") <= 3 && !strings.HasPrefix(path, "/api/v1/") // such as /apis/policy/v1
	return discovers || path == "/api/v1/nodes" || strings.HasPrefix(path, "/api/v1/persistentvolumes/")
}

// heals deletes a Pod and waits for another one.
func heals(t *testing.T, c *v1beta1.EtcdCluster) {
	t.Helper()
	pod := &corev1.Pod{}
	if err := get(t, c, c.Name+"-1", pod); err != nil {
		t.Fatal(err)
	}
	old := pod.UID
	if err := server.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another pod", func() error { return isAnother(t, c, pod, old) })
}

// isUntouched checks that no operator has managed a cluster.
func isUntouched(t *testing.T, c *v1beta1.EtcdCluster) {
	t.Helper()
	if err := get(t, c, c.Name, c); err != nil || c.Status.ObservedGeneration != 0 {
		t.Errorf("%s/%s: %+v, %v", c.Namespace, c.Name, c.Status, err)
	}
	var pods corev1.PodList
	if err := server.List(t.Context(), &pods, client.InNamespace(c.Namespace), labelled(c)); err != nil || len(pods.Items) > 0 {
		t.Errorf("%d pods, %v", len(pods.Items), err)
	}
}
