package act

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

func (a *Actor) applyCertificate(ctx context.Context, c *v1alpha1.EtcdCluster, wanted *unstructured.Unstructured) error {
	return ApplyCertificate(ctx, a.Live, a.Client, wanted, func(existing client.Object) bool { return isOurs(c, existing) })
}

// ApplyCertificate applies a Certificate of cert-manager, past the cache: a read or a write that is to be consistent with that would
// start a watch of the kind, which the operator has no right to, and wait for it. The error is ErrTaken if there is one of the name that
// is not ours.
func ApplyCertificate(
	ctx context.Context, live client.Reader, to client.Client, wanted *unstructured.Unstructured, isOurs func(client.Object) bool,
) error {
	existing := &unstructured.Unstructured{}
	existing.SetGroupVersionKind(wanted.GroupVersionKind())
	err := live.Get(ctx, client.ObjectKeyFromObject(wanted), existing)
	switch {
	case err == nil && !isOurs(existing):
		return fmt.Errorf("apply Certificate %s: one of that name %w", wanted.GetName(), ErrTaken)
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("get Certificate %s: %w", wanted.GetName(), err)
	}
	err = to.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), client.FieldOwner(v1alpha1.FieldOwner),
		client.ForceOwnership, client.DisableReadYourWritesConsistency)
	if err != nil {
		return fmt.Errorf("apply Certificate %s: %w", wanted.GetName(), err)
	}
	return nil
}
