package observe

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
)

// sources reads the objects of others that the adoption of a running cluster names. No cache has them.
func (o *Observer) sources(ctx context.Context, s *facts.Snapshot) error {
	adopt := s.Cluster.Adopts()
	if adopt == nil {
		return nil
	}
	s.SourceServices = map[string]*corev1.Service{}
	for _, name := range adopt.Services {
		found, err := read(ctx, o.Live, client.ObjectKey{Namespace: s.Cluster.Namespace, Name: name}, &corev1.Service{})
		if err != nil {
			return err
		}
		s.SourceServices[name] = found
	}
	if adopt.StatefulSet == "" {
		return nil
	}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: s.Cluster.Namespace, Name: adopt.StatefulSet}}
	scale := &autoscalingv1.Scale{}
	switch err := o.Scales.Get(ctx, set, scale); {
	case apierrors.IsNotFound(err):
		s.Workload = &facts.Workload{Missing: true}
	case err != nil:
		return fmt.Errorf("get the scale of StatefulSet %s: %w", adopt.StatefulSet, err)
	default:
		s.Workload = &facts.Workload{Replicas: int(scale.Spec.Replicas)}
	}
	return nil
}
