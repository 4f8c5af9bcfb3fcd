// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// claims are the cluster's volumes, by name.
func claims(c *v1beta1.EtcdCluster) []corev1.PersistentVolumeClaim {
	GinkgoHelper()
	return claimsOf(Default, c)
}

func claimsOf(g Gomega, c *v1beta1.EtcdCluster) []corev1.PersistentVolumeClaim {
	var list corev1.PersistentVolumeClaimList
	g.Expect(api.List(ctx, &list, client.InNamespace(c.Namespace), ours(c))).To(Succeed())
	slices.SortFunc(list.Items, func(a, b corev1.PersistentVolumeClaim) int { return cmp.Compare(a.Name, b.Name) })
	return list.Items
}

// putAside are the volumes that were put aside, by name, with their UIDs.
func putAside(c *v1beta1.EtcdCluster) map[string]string {
	GinkgoHelper()
	aside := map[string]string{}
	for _, claim := range claims(c) {
		if claim.Labels[v1beta1.LabelQuarantined] != "" {
			aside[claim.Name] = string(claim.UID)
		}
	}
	return aside
}

// quarantined are the names of the volumes that were set aside.
func quarantined(g Gomega, c *v1beta1.EtcdCluster) []string {
	var names []string
	for _, claim := range claimsOf(g, c) {
		if claim.Labels[v1beta1.LabelQuarantined] != "" {
			g.Expect(claim.Annotations).To(HaveKey(v1beta1.AnnotationQuarantinedAt))
			names = append(names, claim.Name)
		}
	}
	return names
}

// asideSince is since when the last of the cluster's volumes is aside, by what is
// written on them.
func asideSince(c *v1beta1.EtcdCluster) time.Time {
	GinkgoHelper()
	var last time.Time
	for _, claim := range claims(c) {
		if claim.Labels[v1beta1.LabelQuarantined] == "" {
			continue
		}
		since, err := time.Parse(time.RFC3339, claim.Annotations[v1beta1.AnnotationQuarantinedAt])
		Expect(err).NotTo(HaveOccurred())
		if since.After(last) {
			last = since
		}
	}
	return last
}

// inUse are the volumes that were not put aside.
func inUse(g Gomega, c *v1beta1.EtcdCluster) []string {
	var names []string
	for _, claim := range claimsOf(g, c) {
		if claim.Labels[v1beta1.LabelQuarantined] == "" {
			names = append(names, claim.Name)
		}
	}
	slices.Sort(names)
	return names
}

// notListed are the names of volumes in use by members that etcd does not list.
func notListed(g Gomega, c *v1beta1.EtcdCluster) []string {
	listed := membersOf(g, c)
	var names []string
	for _, claim := range claimsOf(g, c) {
		if listed[claim.Name] == "" && claim.Labels[v1beta1.LabelQuarantined] == "" {
			names = append(names, claim.Name)
		}
	}
	return names
}

// newClaimSpec is a small claim.
func newClaimSpec() corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("64Mi")},
		},
	}
}

// rebind gives a volume to a claim of the same name, labels and annotations in another namespace.
func rebind(from, to, name string, without ...string) *corev1.PersistentVolumeClaim {
	GinkgoHelper()
	var old corev1.PersistentVolumeClaim
	Expect(api.Get(ctx, types.NamespacedName{Namespace: from, Name: name}, &old)).To(Succeed())
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: old.Spec.VolumeName}}
	change := func(patch string) {
		GinkgoHelper()
		Expect(api.Patch(ctx, volume, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
	}
	change(`{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}`)
	Expect(api.Delete(ctx, &old)).To(Succeed())
	Eventually(func() error { return api.Get(ctx, client.ObjectKeyFromObject(&old), &corev1.PersistentVolumeClaim{}) }).ShouldNot(Succeed())
	// It is never free for just any claim.
	change(fmt.Sprintf(`{"spec":{"claimRef":{"namespace":%q,"name":%q,"uid":null,"resourceVersion":null}}}`, to, name))

	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: to, Name: name, Labels: old.Labels, Annotations: map[string]string{}},
		Spec:       old.Spec,
	}
	for key, value := range old.Annotations {
		if key != "pv.kubernetes.io/bind-completed" && key != "pv.kubernetes.io/bound-by-controller" {
			claim.Annotations[key] = value
		}
	}
	for _, key := range without {
		delete(claim.Annotations, key)
	}
	Expect(api.Create(ctx, claim)).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(api.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		g.Expect(claim.Status.Phase).To(Equal(corev1.ClaimBound))
	}).Should(Succeed())
	change(`{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}`)
	return claim
}
