// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// certificates reads the Certificates of cert-manager, if they are asked for.
func (o *Observer) certificates(ctx context.Context, s *facts.Snapshot) error {
	s.Certificates = map[string]*unstructured.Unstructured{}
	for _, want := range specs.Certificates(s.Cluster, s.Domain) {
		have, missing, err := Certificate(ctx, o.Live, client.ObjectKeyFromObject(want))
		if err != nil || missing != "" {
			s.NoCertManager = missing
			return err
		}
		if have != nil {
			s.Certificates[want.GetName()] = have
		}
	}
	return nil
}

// Certificate reads a Certificate of cert-manager; nil if there is none. Why there can be none, because cert-manager is not there, is a
// fact.
func Certificate(
	ctx context.Context, live client.Reader, key client.ObjectKey,
) (have *unstructured.Unstructured, noCertManager string, err error) {
	return unwatched(ctx, live, specs.CertificateKind, key)
}

// isUnknownKind says whether Kubernetes does not have the kind: by what it lists, or by the answer of a server that had it a moment ago,
// which is one of no object.
func isUnknownKind(err error) bool {
	var status apierrors.APIStatus
	if meta.IsNoMatchError(err) {
		return true
	}
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Type == metav1.CauseTypeUnexpectedServerResponse {
			return true
		}
	}
	return false
}
