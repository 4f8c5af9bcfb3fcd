package observe

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/build"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// confirm asks the API server itself where the cache says that something is gone
// which a decision may rest on, or that a Pod is there which does not answer or
// should long be gone: a cache may have missed an event.
func (o *Observer) confirm(ctx context.Context, c *v1alpha1.EtcdCluster, v *cluster.View, members *join) error {
	if !v.Planned() || v.IsDisplaced() {
		return nil
	}
	for _, m := range members.sorted() {
		if err := o.confirmMember(ctx, c, v, members, m); err != nil {
			return err
		}
	}
	return nil
}

func (o *Observer) confirmMember(ctx context.Context, c *v1alpha1.EtcdCluster, v *cluster.View, members *join, m cluster.Member) error {
	if isDoubtful(m.Pod, m.Answers) || v.Formed() && cluster.MayHoldData(m) && !cluster.HasPod(m) {
		if err := o.confirmPod(ctx, c, v, members, m.Name); err != nil {
			return err
		}
	}
	if v.Want.Ephemeral || m.Volume == cluster.Kept || !v.Formed() && !members.anyPod() {
		return nil
	}
	var claim corev1.PersistentVolumeClaim
	found, err := o.read(ctx, client.ObjectKey{Namespace: c.Namespace, Name: m.Name}, &claim)
	if !found || err != nil || claim.Labels[v1alpha1.LabelQuarantined] != "" {
		return err
	}
	if o.belongsToStranger(c, v, members, &claim) {
		return nil
	}
	members.member(m.Name).Volume, members.member(m.Name).Unused = volumeState(&claim), build.IsUnused(&claim)
	if lacksLabels(c, &claim) && build.Stranger(c, &claim) == "" {
		v.Misfits = append(v.Misfits, cluster.Object{
			Kind: "PersistentVolumeClaim", Name: claim.Name, Part: cluster.Labels, Why: "somebody took labels off it",
		})
	}
	return nil
}

// isDoubtful says whether the cache may show a Pod that is no more.
func isDoubtful(pod cluster.Pod, answers bool) bool {
	return pod.Overdue || pod.Ready && !pod.Terminating && !answers
}

func (o *Observer) confirmPod(ctx context.Context, c *v1alpha1.EtcdCluster, v *cluster.View, members *join, name string) error {
	var pod corev1.Pod
	found, err := o.read(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, &pod)
	switch {
	case err != nil:
		return err
	case found:
		o.pod(c, v, members, &pod)
	default:
		losePod(members.member(name), v.Want.Ephemeral)
		delete(members.pods, name)
	}
	return nil
}

// losePod corrects what the cache said of a Pod that is gone.
func losePod(m *cluster.Member, ephemeral bool) {
	m.Pod, m.Damage, m.Foreign, m.Answers, m.Healthy = cluster.Pod{}, "", "", false, false
	if ephemeral {
		m.Volume = cluster.NoVolume
	}
}

func (o *Observer) read(ctx context.Context, key client.ObjectKey, into client.Object) (bool, error) {
	err := o.Live.Get(ctx, key, into)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", key.Name, err)
	}
	return true, nil
}
