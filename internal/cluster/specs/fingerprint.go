// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// edition is the first part of a fingerprint. Pods that v0.1 made have a bare hash
// of everything instead, and are read as such: they need not restart because the
// operator was updated.
const edition = "2"

// parts is how many parts a fingerprint has.
const parts = 4

// Fingerprint says what a member's Pod was built from, in parts: its image, its
// compute resources, and everything else that is worth a restart, which arguments of
// joining, the pause before it ends and its host aliases are not. It compares what was
// asked for, never what the API server made of it: defaults and admission webhooks may have
// changed that; nor the image that the operator is configured with for a version, see Images.
func Fingerprint(c *v1beta1.EtcdCluster, member string) string {
	pod := template(c, member)
	etcd := Etcd(pod)
	image, resources := hash(etcd.Image), hash(etcd.Resources)
	etcd.Image, etcd.Resources = "", corev1.ResourceRequirements{}
	return strings.Join([]string{edition, hash(pod), image, resources}, "-")
}

// Change says what it takes to make the Pod as the cluster wants it. Pull secrets of a Pod can never be changed: one that lacks
// some is built again where its image is exchanged, or cannot be pulled.
func Change(c *v1beta1.EtcdCluster, pod *corev1.Pod) cluster.Change {
	change := changeOf(c, pod)
	if lacksPullSecrets(c, pod) && (change == cluster.Swap || isUnpulled(pod)) {
		return cluster.Rebuild
	}
	return change
}

func lacksPullSecrets(c *v1beta1.EtcdCluster, pod *corev1.Pod) bool {
	return slices.ContainsFunc(c.PullSecrets(), func(secret corev1.LocalObjectReference) bool {
		return !slices.Contains(pod.Spec.ImagePullSecrets, secret)
	})
}

// isUnpulled says whether the kubelet waits for an image that it could not pull. The reasons are those of its package images/types.go.
func isUnpulled(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.State.Waiting != nil && (s.State.Waiting.Reason == "ErrImagePull" || s.State.Waiting.Reason == "ImagePullBackOff")
	})
}

func changeOf(c *v1beta1.EtcdCluster, pod *corev1.Pod) cluster.Change {
	if pod.Annotations[v1beta1.AnnotationForced] != "" {
		return cluster.Rebuild
	}
	want := strings.Split(Fingerprint(c, pod.Name), "-")
	have := strings.Split(pod.Annotations[v1beta1.AnnotationTemplate], "-")
	switch {
	case len(have) != parts:
		return changeSinceFirst(c, pod)
	case have[0] != want[0] || have[1] != want[1]:
		return cluster.Rebuild
	case !hasImage(c, pod, have[2], want[2]):
		return cluster.Swap
	case have[3] != want[3]:
		return cluster.Resize
	case isInfeasible(pod) && !c.IsScaled(): // what members are given beyond the spec moves none of them
		return cluster.Rebuild // another node may have the room that its node never has
	default:
		return cluster.Same
	}
}

// Trust writes on a Pod with which authorities it is made: the fingerprint that the Secret has which it mounts; nothing if
// that is empty, because no authority was ever rotated. It is no part of the Pod's own fingerprint.
func Trust(pod *corev1.Pod, fingerprint string) *corev1.Pod {
	if fingerprint != "" {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1beta1.AnnotationTrust, fingerprint)
	}
	return pod
}

// Revoking has a Pod's member refuse the certificates on the list in the Secret that it mounts, and writes on the Pod when one
// was revoked last; nothing if that is empty, because none ever was. etcd refuses every client while it cannot read the list, and
// so the volume names what it takes: the kubelet starts no container before all of it is there. It is no part of the Pod's own
// fingerprint.
func Revoking(pod *corev1.Pod, at string) *corev1.Pod {
	if at == "" {
		return pod
	}
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1beta1.AnnotationRevokedAt, at)
	etcd := Etcd(pod)
	etcd.Args = append(etcd.Args, "--client-crl-file="+tlsMount+"/"+RevokedKey)
	for i := range pod.Spec.Volumes {
		if secret := pod.Spec.Volumes[i].Secret; secret != nil && pod.Spec.Volumes[i].Name == tlsVolume {
			secret.Items = nil
			for _, key := range []string{ClientCAKey, ServerCertKey, ServerKeyKey, RevokedKey, PeerCAKey, PeerCertKey, PeerKeyKey} {
				secret.Items = append(secret.Items, corev1.KeyToPath{Key: key, Path: key})
			}
		}
	}
	return pod
}

// Swapped is the fingerprint of a Pod that gets the image of another: its resources
// are still those that it was built with. One of the first edition was built with
// those that are wanted, or its image alone could not be exchanged.
func Swapped(pod, wanted *corev1.Pod) string {
	have := strings.Split(pod.Annotations[v1beta1.AnnotationTemplate], "-")
	want := strings.Split(wanted.Annotations[v1beta1.AnnotationTemplate], "-")
	if len(have) == parts {
		want[3] = have[3]
	}
	return strings.Join(want, "-")
}

// changeSinceFirst is Change for a Pod with the first edition's fingerprint: the hash of a
// whole Pod.
func changeSinceFirst(c *v1beta1.EtcdCluster, pod *corev1.Pod) cluster.Change {
	have := pod.Annotations[v1beta1.AnnotationTemplate]
	if have == hash(template(c, pod.Name)) {
		return cluster.Same
	}
	asRun := c.DeepCopy()
	asRun.Spec.Image = Etcd(pod).Image
	if have == hash(template(asRun, pod.Name)) {
		return cluster.Swap
	}
	return cluster.Rebuild
}

// hash is the same for equal values. An adopting cluster has another UID and the
// same Pods, so owners do not count.
func hash(value any) string {
	if pod, is := value.(*corev1.Pod); is {
		pod.OwnerReferences = nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "unhashable"
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// isInfeasible says whether the Pod's node can never give it the compute resources
// that it asks for.
func isInfeasible(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodResizePending && c.Status == corev1.ConditionTrue && c.Reason == corev1.PodReasonInfeasible
	})
}
