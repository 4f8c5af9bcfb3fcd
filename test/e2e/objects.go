// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// describe names an object by its kind and name.
func describe(object client.Object) string {
	return strings.TrimPrefix(fmt.Sprintf("%T ", object), "*v1.") + object.GetName()
}

// kinds are all that may belong to a cluster.
func kinds() map[string]client.ObjectList {
	return map[string]client.ObjectList{
		"Pod": &corev1.PodList{}, "PersistentVolumeClaim": &corev1.PersistentVolumeClaimList{}, "Service": &corev1.ServiceList{},
		"Secret": &corev1.SecretList{}, "ConfigMap": &corev1.ConfigMapList{}, "PodDisruptionBudget": &policyv1.PodDisruptionBudgetList{},
		"EndpointSlice": &discoveryv1.EndpointSliceList{}, "NetworkPolicy": &networkingv1.NetworkPolicyList{},
	}
}

// belongings names every object of the cluster, with the cluster's own name cut
// off, so that two clusters can be compared.
func belongings(g Gomega, c *v1beta1.EtcdCluster) []string {
	var names []string
	for kind, list := range kinds() {
		g.Expect(api.List(ctx, list, client.InNamespace(c.Namespace), ours(c))).To(Succeed())
		items, err := meta.ExtractList(list)
		g.Expect(err).NotTo(HaveOccurred())
		for _, item := range items {
			object := item.(client.Object) //nolint:forcetypeassert // every kind above is one
			if kind != "EndpointSlice" {   // their names are random
				names = append(names, kind+" "+strings.TrimPrefix(object.GetName(), c.Name))
			} else {
				names = append(names, kind)
			}
		}
	}
	slices.Sort(names)
	return names
}

// left are the belongings without kept volumes.
func left(g Gomega, c *v1beta1.EtcdCluster) []string {
	return slices.DeleteFunc(belongings(g, c), func(name string) bool {
		return strings.HasPrefix(name, "PersistentVolumeClaim") && c.Spec.DeletionPolicy == v1beta1.Retain
	})
}

// ofThree are the belongings of a cluster of three. Endpoints come a moment after the
// Services.
var ofThree = append(ofDeployed(), []any{
	"Pod -0", "Pod -1", "Pod -2", "PersistentVolumeClaim -0", "PersistentVolumeClaim -1", "PersistentVolumeClaim -2",
	"Service ", "Service -client", "EndpointSlice", "EndpointSlice", "PodDisruptionBudget ",
	"Secret -client", "Secret -client-ca", "Secret -peer-ca", "Secret -member-tls",
}...)

// ofDeployed is what only an operator makes that runs in Kubernetes.
func ofDeployed() []any {
	if !useDeployed {
		return nil
	}
	return []any{"NetworkPolicy -members"}
}

// calmsDown waits until nothing has been written for two seconds, because the kubelet
// may have a last word to say, and returns the versions.
func calmsDown(c *v1beta1.EtcdCluster) map[string]string {
	GinkgoHelper()
	var all map[string]string
	Eventually(func() bool {
		last := all
		all = versions(c)
		return maps.Equal(all, last)
	}).WithPolling(2 * time.Second).Should(BeTrue())
	return all
}

// readySince is since when each Pod is as ready as it is, by the kubelet.
func readySince(c *v1beta1.EtcdCluster) map[string]string {
	GinkgoHelper()
	all := map[string]string{}
	for _, p := range pods(c) {
		for _, condition := range p.Status.Conditions {
			if condition.Type == corev1.PodReady {
				all[p.Name] = fmt.Sprint(condition.Status, " since ", condition.LastTransitionTime)
			}
		}
	}
	return all
}

// versions are the resource versions of everything that the operator may write.
func versions(c *v1beta1.EtcdCluster) map[string]string {
	GinkgoHelper()
	all := map[string]string{"EtcdCluster": now(c).ResourceVersion}
	for _, p := range pods(c) {
		all["Pod "+p.Name] = p.ResourceVersion
	}
	var secrets corev1.SecretList
	Expect(api.List(ctx, &secrets, client.InNamespace(c.Namespace), ours(c))).To(Succeed())
	for _, secret := range secrets.Items {
		all["Secret "+secret.Name] = secret.ResourceVersion
	}
	return all
}

// exported are the objects of a cluster that the operator owns.
func exported(g Gomega, c *v1beta1.EtcdCluster) []client.Object {
	var all []client.Object
	for _, list := range []client.ObjectList{
		&corev1.SecretList{}, &corev1.ServiceList{}, &corev1.ConfigMapList{}, &policyv1.PodDisruptionBudgetList{}, &corev1.PodList{},
		&networkingv1.NetworkPolicyList{},
	} {
		g.Expect(api.List(ctx, list, client.InNamespace(c.Namespace), ours(c))).To(Succeed())
		g.Expect(meta.EachListItem(list, func(object runtime.Object) error {
			all = append(all, object.(client.Object)) //nolint:forcetypeassert // every kind above is one
			return nil
		})).To(Succeed())
	}
	g.Expect(all).NotTo(BeEmpty())
	return all
}

// stripped is an object as a backup tool puts it back.
func stripped(object client.Object) client.Object {
	object.SetUID("")
	object.SetResourceVersion("")
	object.SetOwnerReferences(nil)
	object.SetManagedFields(nil)
	switch o := object.(type) {
	case *corev1.Service:
		o.Status = corev1.ServiceStatus{}
		if o.Spec.ClusterIP != corev1.ClusterIPNone {
			o.Spec.ClusterIP, o.Spec.ClusterIPs = "", nil
		}
	case *policyv1.PodDisruptionBudget:
		o.Status = policyv1.PodDisruptionBudgetStatus{}
	case *corev1.Pod:
		o.Status, o.Spec.NodeName = corev1.PodStatus{}, ""
	}
	return object
}

// privateLines are the lines of every private key, and its encoding in a Secret.
func privateLines(c *v1beta1.EtcdCluster) []string {
	GinkgoHelper()
	var secrets corev1.SecretList
	Expect(api.List(ctx, &secrets, client.InNamespace(c.Namespace), ours(c))).To(Succeed())
	var lines []string
	for _, secret := range secrets.Items {
		for key, text := range secret.Data {
			if !strings.HasSuffix(key, ".key") {
				continue
			}
			Expect(string(text)).To(ContainSubstring("PRIVATE KEY"))
			lines = append(lines, base64.StdEncoding.EncodeToString(text)[:120])
			for line := range strings.Lines(string(text)) {
				if !strings.HasPrefix(line, "-----") {
					lines = append(lines, strings.TrimSpace(line))
				}
			}
		}
	}
	return lines
}

func asText(object any) string {
	GinkgoHelper()
	text, err := json.Marshal(object)
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}
