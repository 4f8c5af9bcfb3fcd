package observe

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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
	var err error
	s.Workload, err = read(ctx, o.Live, client.ObjectKey{Namespace: s.Cluster.Namespace, Name: adopt.StatefulSet}, &appsv1.StatefulSet{})
	return err
}
