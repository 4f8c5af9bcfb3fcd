// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// createPods makes all volumes of a new cluster before its first Pod: a volume that is
// missing beside a Pod is then known to be lost. Once the cluster has formed, what
// refuses one member's volume holds back no other member.
func (a *Actor) createPods(ctx context.Context, c *v1beta1.EtcdCluster, v cluster.View, s plan.CreatePods) error {
	if s.Forced {
		return a.force(ctx, c, v, s)
	}
	if s.Beside {
		return atOnce(s.Names, func(name string) error {
			pod := a.pod(c, v.OfBeside(), name)
			pod.Labels[specs.ComponentLabel] = specs.Leaving // of two histories, clients see one
			return a.create(ctx, c, pod, &corev1.Pod{})
		})
	}
	claim := func(name string) error { return a.startVolume(ctx, c, v, name) }
	pod := func(name string) error { return a.provide(ctx, c, a.pod(c, v, name), &corev1.Pod{}) }
	if v.Formed() {
		return atOnce(s.Names, func(name string) error {
			if err := claim(name); err != nil {
				return err
			}
			return pod(name)
		})
	}
	if err := atOnce(s.Names, claim); err != nil {
		return err
	}
	if err := atOnce(s.Names, func(name string) error { return a.use(ctx, c, name) }); err != nil {
		return err
	}
	return atOnce(s.Names, pod)
}

// use removes from a volume the mark that it holds nothing, before a Pod can write to it.
func (a *Actor) use(ctx context.Context, c *v1beta1.EtcdCluster, name string) error {
	if c.Spec.Storage.Ephemeral != nil {
		return nil
	}
	return a.changeVolume(ctx, c, name, func(claim *corev1.PersistentVolumeClaim) {
		delete(claim.Annotations, v1beta1.AnnotationUnused)
	})
}

func (a *Actor) startVolume(ctx context.Context, c *v1beta1.EtcdCluster, v cluster.View, name string) error {
	m, _ := v.Member(name)
	claim := volume(c, v, m)
	if m.Volume != cluster.NoVolume || claim == nil {
		return nil
	}
	return a.provide(ctx, c, claim, &corev1.PersistentVolumeClaim{})
}

// volume is the volume for a member that has none; nil if it needs none. It has the version
// of its member if no other can be expected: first members form with one version, and
// others run what a later one joins with.
func volume(c *v1beta1.EtcdCluster, v cluster.View, m cluster.Member) *corev1.PersistentVolumeClaim {
	var first *v1beta1.Bootstrap // written on the volumes of first members
	if !v.Formed() {
		first = c.Status.Bootstrap
	}
	target := v.Target.For(m)
	claim := specs.Volume(c, m.Name, first)
	if claim != nil && (first != nil || v.Runs(target.Version)) {
		writeVersion(c, claim, target.Version, target.Image)
	}
	return claim
}

// writeVersion writes on a volume what its member runs, by an image that the user has chosen
// or, if that is empty, by the usual one.
func writeVersion(c *v1beta1.EtcdCluster, claim *corev1.PersistentVolumeClaim, version, image string) {
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, v1beta1.AnnotationVersion, version)
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, v1beta1.AnnotationNamespace, claim.Namespace)
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, v1beta1.AnnotationTLSMode, c.TLSMode())
	delete(claim.Annotations, v1beta1.AnnotationChosenImage)
	if image != "" {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, v1beta1.AnnotationChosenImage, image)
	}
}

// pod is what a member is started with now.
func (a *Actor) pod(c *v1beta1.EtcdCluster, v cluster.View, name string) *corev1.Pod {
	m, _ := v.Member(name)
	targeted := specs.Holding(specs.Targeted(c, v.Target.For(m)), plan.HeldQuota(v, name))
	pod := secured(a.Images.Put(targeted, specs.Pod(targeted, name, joining(v, name))), v.Target)
	pod = specs.OnAdopted(pod, m.DataDirectory)
	if v.Record.Defragmenting.Member == name {
		return specs.Defragmenting(targeted, pod)
	}
	return pod
}

// secured is the Pod as it depends on the Secret that it mounts.
func secured(pod *corev1.Pod, target cluster.Target) *corev1.Pod {
	return specs.Revoking(specs.Trust(pod, target.Trust), target.RevokedAt)
}

// force starts a member with --force-new-cluster: it goes on from its own data as the only member.
func (a *Actor) force(ctx context.Context, c *v1beta1.EtcdCluster, v cluster.View, s plan.CreatePods) error {
	if err := a.fence(ctx, c); err != nil {
		return err
	}
	name := s.Names[0]
	var now v1beta1.EtcdCluster
	if err := a.Live.Get(ctx, client.ObjectKeyFromObject(c), &now); err != nil {
		return fmt.Errorf("read the EtcdCluster again: %w", err)
	}
	if now.Status.Recovering != name {
		return ErrChanged // recovered meanwhile: others may have joined, and would be removed
	}
	return a.inTime(ctx, c, s, func(ctx context.Context) error {
		targeted := specs.Targeted(c, v.Target)
		m, _ := v.Member(name)
		pod := specs.OnAdopted(specs.ForcedPod(targeted, name), m.DataDirectory)
		return a.create(ctx, c, secured(a.Images.Put(targeted, pod), v.Target), &corev1.Pod{})
	})
}

// markPods sets labels and annotations of Pods as the step says, and only of those that were observed.
func (a *Actor) markPods(ctx context.Context, c *v1beta1.EtcdCluster, v cluster.View, s plan.MarkPods) error {
	mark := func(ctx context.Context, ref plan.PodRef) error {
		return a.change(ctx, c, ref.Name, ref.UID, "", func(pod *corev1.Pod) {
			switch s.As {
			case plan.Detach:
				a.detach(pod)
			case plan.Attach:
				attach(c, pod)
			case plan.Existing: // its container reads it when it starts again
				specs.SetJoining(c, pod, entering(v, ref.Name))
				specs.CompareAtStart(c, pod)
			case plan.Comparing: // likewise
				specs.CompareAtStart(c, pod)
			case plan.Plain: // likewise
				specs.StartPlainly(pod)
			}
		})
	}
	return a.inTime(ctx, c, s, func(ctx context.Context) error {
		return atOnce(s.Pods, func(ref plan.PodRef) error { return mark(ctx, ref) })
	})
}

// detach detaches a Pod from the client Service, and writes down since when.
func (a *Actor) detach(pod *corev1.Pod) {
	if pod.Labels[specs.ComponentLabel] != specs.Serving {
		return
	}
	metav1.SetMetaDataLabel(&pod.ObjectMeta, specs.ComponentLabel, specs.Leaving)
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1beta1.AnnotationDetachedAt, a.Now().UTC().Format(time.RFC3339Nano))
}

// attach attaches a Pod to the client Service, with all labels that it was created with.
func attach(c *v1beta1.EtcdCluster, pod *corev1.Pod) {
	for label, value := range specs.MemberLabels(c, pod.Name) {
		metav1.SetMetaDataLabel(&pod.ObjectMeta, label, value)
	}
	delete(pod.Annotations, v1beta1.AnnotationDetachedAt)
	delete(pod.Annotations, v1beta1.AnnotationWithdrawnAt)
	specs.Own(c, pod)
}

// joining says how a member enters the cluster. Once the cluster has formed that is
// never by forming a new one. It compares its data if it starts beside a quorum that
// serves. Those that start together do not, because each would wait for hashes of others that wait.
func joining(v cluster.View, name string) specs.Joining {
	if v.Formed() {
		j := entering(v, name)
		j.Compares = v.ServesWithout(name)
		return j
	}
	return specs.Joining{New: true, Token: v.Record.Token, Members: v.Record.First}
}

// entering says how a member enters a cluster that exists. A member that has data does not
// join at all: with no other member in its initial cluster, etcd exits if its directory was
// emptied, instead of voting again with an empty log.
func entering(v cluster.View, name string) specs.Joining {
	j := specs.Joining{Token: v.Record.Token, Members: v.Record.First}
	if m, _ := v.Member(name); cluster.HasData(m) {
		j.Members = []string{name}
	} else if listed := v.Select(cluster.IsListed); len(listed) > 0 {
		j.Members = cluster.Names(listed)
		for _, m := range v.Sources() {
			for url := range strings.SplitSeq(m.PeerURL, ",") {
				j.Others = append(j.Others, m.Name+"="+url)
			}
		}
	}
	return j
}

func call(do func() error) error { return do() }

// atOnce does the same for each thing at the same time, and returns every error.
func atOnce[T any](things []T, do func(T) error) error {
	errs := make([]error, len(things))
	var all sync.WaitGroup
	for i, thing := range things {
		all.Go(func() { errs[i] = do(thing) })
	}
	all.Wait()
	return errors.Join(errs...)
}
