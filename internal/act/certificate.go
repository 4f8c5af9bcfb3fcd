package act

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

// applyCertificate applies a Certificate of cert-manager, past the cache: a read or a write that is to be consistent with that would
// start a watch of the kind, which the operator has no right to, and wait for it.
func (a *Actor) applyCertificate(ctx context.Context, c *v1alpha1.EtcdCluster, wanted *unstructured.Unstructured) error {
	existing := &unstructured.Unstructured{}
	existing.SetGroupVersionKind(wanted.GroupVersionKind())
	err := a.Live.Get(ctx, client.ObjectKeyFromObject(wanted), existing)
	switch {
	case err == nil && !isOurs(c, existing):
		return fmt.Errorf("apply Certificate %s: one of that name %w", wanted.GetName(), ErrTaken)
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("get Certificate %s: %w", wanted.GetName(), err)
	}
	err = a.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), client.FieldOwner(v1alpha1.FieldOwner),
		client.ForceOwnership, client.DisableReadYourWritesConsistency)
	if err != nil {
		return fmt.Errorf("apply Certificate %s: %w", wanted.GetName(), err)
	}
	return nil
}
