// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package support

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// labelRestores holds, on the Job and Pod of a restore, the name of the EtcdCluster.
const labelRestores = "etcd-operator.dev/restores"

// Related is what belongs to a cluster: its name, its backups, and the stores that it uses.
type Related struct {
	Cluster string
	Backups []string
	Stores  []string
}

// Has says whether an object of the cluster's namespace belongs to the cluster, by its labels: Pods, Jobs, volumes, Services.
func (r Related) Has(o *unstructured.Unstructured) bool {
	labels := o.GetLabels()
	isOfStore := labels[v1beta1.LabelBackup] == "" && slices.Contains(r.Stores, labels[v1beta1.LabelStore])
	return labels[v1beta1.LabelCluster] == r.Cluster || labels[labelRestores] == r.Cluster ||
		slices.Contains(r.Backups, labels[v1beta1.LabelBackup]) || isOfStore
}

// About says whether an event is about one of the objects, or about the deleted Pod of a Job among them.
func About(event *unstructured.Unstructured, objects []unstructured.Unstructured) bool {
	name, _, _ := unstructured.NestedString(event.Object, "involvedObject", "name")
	return slices.ContainsFunc(objects, func(o unstructured.Unstructured) bool {
		return o.GetNamespace() == event.GetNamespace() && (name == o.GetName() || strings.HasPrefix(name, o.GetName()+"-"))
	})
}
