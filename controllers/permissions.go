package controllers

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// permissions is what an operator may read that is in no namespace. One that is installed for
// some namespaces may have been given nothing there, and works without.
type permissions struct{ nodes, volumes bool }

// probeAccess asks once. If the API server does not answer, everything counts as allowed:
// a watch that is then refused ends the process, and the next one asks again.
func probeAccess(ctx context.Context, live client.Reader) permissions {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return permissions{
		nodes:   !apierrors.IsForbidden(live.List(ctx, &corev1.NodeList{}, client.Limit(1))),
		volumes: !apierrors.IsForbidden(live.Get(ctx, client.ObjectKey{Name: "none"}, &corev1.PersistentVolume{})),
	}
}

// missing says what is not seen, and what is therefore not done.
func (a permissions) missing() []string {
	var all []string
	if !a.nodes {
		all = append(all, "may not list nodes: members on a node that is silent for too long are not replaced, "+
			"and leadership does not leave a node that is cordoned before its Pods are terminated")
	}
	if !a.volumes {
		all = append(all, "may not get persistentvolumes: a member is not replaced because its volume is on a node that is silent or gone")
	}
	return all
}
