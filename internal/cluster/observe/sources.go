// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
)

// sources reads the objects of others that the adoption of a running cluster names. No cache has them. When it is complete they are read
// for as long as members run: an old chart may take them back.
func (o *Observer) sources(ctx context.Context, s *facts.Snapshot) error {
	goesOn := s.Cluster.Adopts() != nil
	if s.Cluster.Spec.Bootstrap == nil || s.Cluster.Spec.Bootstrap.Adopt == nil || s.Asleep && !goesOn {
		return nil
	}
	adopt := s.Cluster.Spec.Bootstrap.Adopt
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
	if apierrors.IsForbidden(err) {
		s.WorkloadForbidden = true
		return nil
	}
	if err != nil || !goesOn || !adopt.Keeps() {
		return err
	}
	return o.sourceVolumes(ctx, s)
}

// sourceVolumes reads the Pods of the StatefulSet, and the claims whose names those of members are.
func (o *Observer) sourceVolumes(ctx context.Context, s *facts.Snapshot) error {
	names := facts.SourceVolumes(*s)
	pods, claims := make([]*corev1.Pod, len(names)), make([]*corev1.PersistentVolumeClaim, len(names))
	err := atOnce(len(names), func(i int) error {
		var err error
		key := client.ObjectKey{Namespace: s.Cluster.Namespace, Name: names[i].Source}
		if pods[i], err = read(ctx, o.Live, key, &corev1.Pod{}); err != nil {
			return err
		}
		key.Name = names[i].Member
		claims[i], err = read(ctx, o.Live, key, &corev1.PersistentVolumeClaim{})
		return err
	})
	s.SourcePods, s.SourceClaims = map[string]*corev1.Pod{}, map[string]*corev1.PersistentVolumeClaim{}
	for i, name := range names {
		s.SourcePods[name.Source], s.SourceClaims[name.Member] = pods[i], claims[i]
	}
	return err
}
