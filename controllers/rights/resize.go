// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// Resizes asks once what of the resources of running Pods this Kubernetes changes. Until
// it has answered that is nothing: members are then recreated, one at a time.
func Resizes(config *rest.Config) func() specs.Resizes {
	var mutex sync.Mutex
	var known bool
	var can specs.Resizes
	return func() specs.Resizes {
		mutex.Lock()
		defer mutex.Unlock()
		if known {
			return can
		}
		client, err := discovery.NewDiscoveryClientForConfig(config)
		if err != nil {
			return specs.ResizesNothing
		}
		core, err := client.ServerResourcesForGroupVersion("v1")
		if err != nil {
			return specs.ResizesNothing
		}
		server, err := client.ServerVersion()
		if err != nil {
			return specs.ResizesNothing
		}
		can, known = resizesOf(core.APIResources, server.GitVersion), true
		return can
	}
}

// resizesOf is what a Kubernetes changes that serves these and is of that version: it does
// so from 1.33 on, unless that is disabled, and lowers limits of memory from 1.34 on
// (https://github.com/kubernetes/kubernetes/pull/133012).
func resizesOf(served []metav1.APIResource, release string) specs.Resizes {
	if !slices.ContainsFunc(served, func(r metav1.APIResource) bool { return r.Name == "pods/resize" }) {
		return specs.ResizesNothing
	}
	if v, err := version.ParseSemantic(release); err != nil || !v.AtLeast(version.MustParseSemantic("1.34.0")) {
		return specs.ResizesMost
	}
	return specs.ResizesAll
}
