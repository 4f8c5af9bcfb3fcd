// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command scorecard-tests are the tests of this operator that the scorecard of the
// Operator SDK runs in Pods:
//
//	scorecard-tests NAME
//
// Each needs the operator to be at work in the namespace that SCORECARD_NAMESPACE
// names, and prints its result as the scorecard reads it. The rights that the Pod
// needs are in config/scorecard/rbac.yaml.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusters "github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// limit is how long one test may take. The scorecard's own is set by its flag
// --wait-time, and must be longer.
const limit = 4 * time.Minute

// A test returns what is wrong, or nil.
type test func(context.Context, *world) error

var tests = map[string]test{
	"cluster-becomes-available": becomesAvailable,
	"scale":                     scales,
	"member-kill-heals":         heals,
	"examples-apply":            examplesApply,
	"backup-and-restore":        backsUpAndRestores,
	"users-and-roles":           letsUsersIn,
}

func main() {
	if len(os.Args) != 2 || tests[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: scorecard-tests", strings.Join(names(), "|"))
		os.Exit(2)
	}
	name := os.Args[1]
	limited, stop := context.WithTimeout(ctrl.SetupSignalHandler(), limit)
	result := run(limited, name)
	stop()
	text, err := json.MarshalIndent(v1alpha3.TestStatus{Results: []v1alpha3.TestResult{result}}, "", "  ")
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text)) // nothing else may go there
}

func names() []string {
	var all []string
	for name := range tests {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// run is a test's result. What keeps it from being run is an error, and what it finds
// is a failure.
func run(ctx context.Context, name string) v1alpha3.TestResult {
	result := v1alpha3.TestResult{Name: name, State: v1alpha3.PassState}
	w, err := connect("etcd-operator-" + name)
	if err != nil {
		result.State, result.Errors = v1alpha3.ErrorState, []string{err.Error()}
		return result
	}
	err = tests[name](ctx, w)
	w.cleanUp()
	if err != nil {
		result.State, result.Errors = v1alpha3.FailState, []string{err.Error()}
	}
	result.Log = strings.Join(w.log, "\n")
	return result
}

// connect finds the cluster that the Pod runs in.
func connect(name string) (*world, error) {
	namespace := os.Getenv("SCORECARD_NAMESPACE")
	if namespace == "" {
		return nil, fmt.Errorf("SCORECARD_NAMESPACE is empty: run me with operator-sdk scorecard")
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w", err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusters.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("build the scheme: %w", err)
		}
	}
	api, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return &world{api: api, namespace: namespace, name: name, bundle: "/bundle", now: time.Now, pause: time.Second}, nil
}
