// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lease says, by Leases of Kubernetes, which replica of an installation leads, and whether another installation still lives.
//
// It must never write another Lease than that of its own installation.
package lease

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Name is the name of the Lease that replicas of one installation share.
const Name = "etcd-operator.dev"

// The lease is renewed every renewPeriod, and lost when that fails for Duration. A
// standby reads it when a watch reports that it was renewed or given up, and every rereadPeriod
// if the watch reports nothing. Both try every TryPeriod, which sends no request unless one of these
// is so: see fastTakeoverLock. Together that is about one request in two seconds.
const (
	Duration      = 15 * time.Second
	RenewDeadline = 10 * time.Second
	TryPeriod     = 200 * time.Millisecond

	renewPeriod   = 4 * time.Second
	rereadPeriod  = 5 * time.Second
	rewatchPeriod = 10 * time.Second
)

// ErrNotLeading means that another replica has taken over: stop at once, and leave
// what is to be done to it.
var ErrNotLeading = errors.New("another replica of the operator holds the lease")

// NewStandby is the lease as this replica competes for it, under a name of its own. Without a namespace it is in that of the Pod.
func NewStandby(config *rest.Config, namespace string, now func() time.Time) (*Standby, error) {
	if namespace == "" {
		text, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
		if err != nil {
			return nil, fmt.Errorf("find the namespace of the lease; give --leader-election-namespace: %w", err)
		}
		namespace = strings.TrimSpace(string(text))
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name this replica: %w", err)
	}
	identity := resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())}
	lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, namespace, Name, identity, config, RenewDeadline)
	if err != nil {
		return nil, fmt.Errorf("make the lease: %w", err)
	}
	clients, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the watch of the lease: %w", err)
	}
	return &Standby{lock: &fastTakeoverLock{Interface: lock, now: now}, leases: clients.Leases(namespace), lookAgain: rewatchPeriod}, nil
}

// Leads asks the API server itself whether this replica holds the lease now: it may
// have been cut off or stopped for longer than the lease lasts, and not know it.
func Leads(live client.Reader, lock resourcelock.Interface, now func() time.Time) func(context.Context) error {
	namespace, name, _ := strings.Cut(lock.Describe(), "/")
	return func(ctx context.Context) error {
		var lease coordinationv1.Lease
		if err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &lease); err != nil {
			return fmt.Errorf("read the lease: %w", err)
		}
		holder, renewed := lease.Spec.HolderIdentity, lease.Spec.RenewTime
		if holder == nil || *holder != lock.Identity() || renewed == nil || now().Sub(renewed.Time) > Duration {
			return ErrNotLeading
		}
		return nil
	}
}
