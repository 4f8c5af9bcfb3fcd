package controllers

import (
	"slices"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// canResize asks once whether this Kubernetes changes the resources of running Pods,
// which it does from 1.33 on unless it was told not to. Until it has answered the
// answer is no: members are then made anew, one at a time.
func canResize(config *rest.Config) func() bool {
	var known, can atomic.Bool
	return func() bool {
		if known.Load() {
			return can.Load()
		}
		client, err := discovery.NewDiscoveryClientForConfig(config)
		if err != nil {
			return false
		}
		core, err := client.ServerResourcesForGroupVersion("v1")
		if err != nil {
			return false
		}
		can.Store(slices.ContainsFunc(core.APIResources, func(r metav1.APIResource) bool { return r.Name == "pods/resize" }))
		known.Store(true)
		return can.Load()
	}
}
