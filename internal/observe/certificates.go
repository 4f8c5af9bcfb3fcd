package observe

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/internal/build"
	"github.com/etcd-operator/etcd-operator/internal/judge"
)

// certificates reads the Certificates of cert-manager, where they are asked for. They are not watched: a watch of a kind that is not
// there would keep the operator from starting. That they cannot be read is a fact.
func (o *Observer) certificates(ctx context.Context, s *judge.Snapshot) error {
	s.Certificates = map[string]*unstructured.Unstructured{}
	for _, want := range build.Certificates(s.Cluster) {
		have := &unstructured.Unstructured{}
		have.SetGroupVersionKind(build.CertificateKind)
		switch err := o.Live.Get(ctx, client.ObjectKeyFromObject(want), have); {
		case err == nil:
			s.Certificates[want.GetName()] = have
		case isUnknownKind(err):
			s.NoCertManager = "Kubernetes knows no Certificates of cert-manager"
			return nil
		case apierrors.IsForbidden(err):
			s.NoCertManager = "the operator may not read Certificates of cert-manager"
			return nil
		case !apierrors.IsNotFound(err):
			return fmt.Errorf("get Certificate %s: %w", want.GetName(), err)
		}
	}
	return nil
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
