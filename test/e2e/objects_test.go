package e2e

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

// keyOf is where an object is.
func keyOf(object client.Object) client.ObjectKey { return client.ObjectKeyFromObject(object) }

// describe names an object by its kind and name.
func describe(object client.Object) string {
	return strings.TrimPrefix(fmt.Sprintf("%T ", object), "*v1.") + object.GetName()
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

// asWritten creates the cluster with exactly this spec, as kubectl would: Go leaves
// out fields that are zero.
func asWritten(c *v1alpha1.EtcdCluster, spec string) error {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal([]byte("spec: "+spec), &object.Object); err != nil {
		return err
	}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("EtcdCluster"))
	object.SetNamespace(c.Namespace)
	object.SetName(c.Name)
	return api.Create(ctx, object)
}

// kinds are all that may belong to a cluster.
func kinds() map[string]client.ObjectList {
	return map[string]client.ObjectList{
		"Pod": &corev1.PodList{}, "PersistentVolumeClaim": &corev1.PersistentVolumeClaimList{}, "Service": &corev1.ServiceList{},
		"Secret": &corev1.SecretList{}, "ConfigMap": &corev1.ConfigMapList{}, "PodDisruptionBudget": &policyv1.PodDisruptionBudgetList{},
		"EndpointSlice": &discoveryv1.EndpointSliceList{},
	}
}

// belongings names every object of the cluster, with the cluster's own name cut
// off, so that two clusters can be compared.
func belongings(g Gomega, c *v1alpha1.EtcdCluster) []string {
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
func left(g Gomega, c *v1alpha1.EtcdCluster) []string {
	return slices.DeleteFunc(belongings(g, c), func(name string) bool {
		return strings.HasPrefix(name, "PersistentVolumeClaim") && c.Spec.DeletionPolicy == v1alpha1.Retain
	})
}
