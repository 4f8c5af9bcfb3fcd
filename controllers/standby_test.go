// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers/manager"
)

// TestStandbyIsWarm: a replica that stands by watches what there is, changes nothing, and
// need not read it all when it comes to lead.
func TestStandbyIsWarm(t *testing.T) {
	aloneWithOLM(t)
	u, asked := newUpdated(t, "warm"), &counter{}
	u.config.Wrap(func(inner http.RoundTripper) http.RoundTripper {
		return roundTrip(func(request *http.Request) (*http.Response, error) {
			if !strings.Contains(request.URL.RawQuery, "cluster%3Dwarm") { // one cluster's are read where it begins
				asked.note(request)
			}
			return inner.RoundTrip(request)
		})
	})
	end := u.another()
	started, err := manager.New(t.Context(), u.config, manager.Options{
		MetricsAddress: "0", ProbeAddress: "0", LeaderElect: true, LeaseNamespace: "warm", Namespaces: []string{"warm"},
		Now: time.Now, Random: rand.Reader,
	})
	if err != nil {
		t.Fatal(err)
	}
	u.run(started)
	const pods = "GET /api/v1/namespaces/warm/pods"
	eventually(t, "a watch of pods", func() error {
		if !slices.Contains(asked.take(), pods) {
			return fmt.Errorf("there is none")
		}
		return nil
	})
	c := create(t, "warm", "warm")
	time.Sleep(quiet)
	isUntouched(t, c)
	asked.take()
	end()
	whole(t, c)
	if slices.Contains(asked.take(), pods) {
		t.Error("it reads all pods again when it leads")
	}
}

// TestMetricOfClusters: when each was created, by name and by kind, for as long as it is
// there.
func TestMetricOfClusters(t *testing.T) {
	c := create(t, watched, "measured")
	eventually(t, "the metric", func() error {
		if at := createdAt(t, c.Name); at != float64(c.CreationTimestamp.Unix()) {
			return fmt.Errorf("it says %f", at)
		}
		return nil
	})
	if err := server.Delete(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its end", func() error {
		if at := createdAt(t, c.Name); at != 0 {
			return fmt.Errorf("it says %f", at)
		}
		return nil
	})
}

// createdAt is what the metric says of an EtcdCluster; 0 if it says nothing.
func createdAt(t *testing.T, name string) float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "resource_created_at_seconds" {
			continue
		}
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			of := schema.GroupVersionKind{Group: labels["group"], Version: labels["version"], Kind: labels["kind"]}
			if of == v1beta1.GroupVersion.WithKind("EtcdCluster") && labels["name"] == name {
				return metric.GetGauge().GetValue()
			}
		}
	}
	return 0
}
