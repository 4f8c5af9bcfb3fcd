// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rights asks what the operator may read, and what this Kubernetes can.
//
// It must never fail: without an answer the operator does what it can without.
package rights

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Permissions is what an operator may read that is in no namespace. One that is installed for
// some namespaces may have been given nothing there, and works without.
type Permissions struct{ Nodes, Volumes bool }

// Probe asks once. If the API server does not answer, everything counts as allowed:
// a watch that is then refused ends the process, and the next one asks again.
func Probe(ctx context.Context, live client.Reader) Permissions {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return Permissions{
		Nodes:   !apierrors.IsForbidden(live.List(ctx, &corev1.NodeList{}, client.Limit(1))),
		Volumes: !apierrors.IsForbidden(live.Get(ctx, client.ObjectKey{Name: "none"}, &corev1.PersistentVolume{})),
	}
}

// Missing says what is not seen, and what is therefore not done.
func (a Permissions) Missing() []string {
	var all []string
	if !a.Nodes {
		all = append(all, "may not list nodes: members on a node that is silent for too long are not replaced, "+
			"and leadership does not leave a node that is cordoned before its Pods are terminated")
	}
	if !a.Volumes {
		all = append(all, "may not get persistentvolumes: a member is not replaced because its volume is on a node that is silent or gone")
	}
	return all
}
