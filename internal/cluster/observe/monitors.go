// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// monitors reads the objects of the Prometheus Operator, if there may be some.
func (o *Observer) monitors(ctx context.Context, s *facts.Snapshot) error {
	s.Monitors = map[string]*unstructured.Unstructured{}
	if !facts.HasMonitors(s.Cluster) {
		return nil
	}
	for _, monitor := range specs.Monitors(s.Cluster) {
		kind := monitor.GroupVersionKind()
		have, missing, err := unwatched(ctx, o.Live, kind, client.ObjectKeyFromObject(monitor))
		switch {
		case err != nil:
			return err
		case missing != "" && monitor.Wanted && s.NoMonitors == "":
			s.NoMonitors = missing
		case have != nil:
			s.Monitors[kind.Kind] = have
		}
	}
	return nil
}

// unwatched reads an object of a kind that others bring with them; nil if there is none. It is not watched: a watch of a kind that is not
// there would keep the operator from starting. Why there can be none, because the kind is not there, is a fact.
func unwatched(
	ctx context.Context, live client.Reader, kind schema.GroupVersionKind, key client.ObjectKey,
) (have *unstructured.Unstructured, missing string, err error) {
	have = &unstructured.Unstructured{}
	have.SetGroupVersionKind(kind)
	switch err := live.Get(ctx, key, have); {
	case err == nil:
		return have, "", nil
	case isUnknownKind(err):
		return nil, fmt.Sprintf("Kubernetes knows no %ss of %s", kind.Kind, bringer[kind.Group]), nil
	case apierrors.IsForbidden(err):
		return nil, fmt.Sprintf("the operator may not read %ss of %s", kind.Kind, bringer[kind.Group]), nil
	case apierrors.IsNotFound(err):
		return nil, "", nil
	default:
		return nil, "", fmt.Errorf("get %s %s: %w", kind.Kind, key.Name, err)
	}
}

// bringer names who brings the kinds of a group.
var bringer = map[string]string{
	specs.CertificateKind.Group: "cert-manager",
	specs.PodMonitorKind.Group:  "the Prometheus Operator",
	specs.TLSRouteKind.Group:    "the Gateway API",
}
