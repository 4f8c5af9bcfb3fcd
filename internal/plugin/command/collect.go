// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/plugin/screen"
	"github.com/etcd-operator/etcd-operator/internal/plugin/support"
)

// operatorName is the label app.kubernetes.io/name of the operator's Pods.
const operatorName = "etcd-operator"

// collector reads what a report is made of. What cannot be read is a line of the report.
type collector struct {
	*Kubernetes
	report  func(what string)
	objects []unstructured.Unstructured
	events  []unstructured.Unstructured
	logs    []support.Log
	unread  []string
}

func (c *collector) miss(what string, err error) {
	c.unread = append(c.unread, what+": "+err.Error())
}

func (c *collector) collect(ctx context.Context, cluster *v1beta1.EtcdCluster) {
	belongs := c.ofBackups(ctx, cluster)
	kinds := []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Pod"), corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"),
		corev1.SchemeGroupVersion.WithKind("Service"), networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"),
		batchv1.SchemeGroupVersion.WithKind("Job"),
	}
	for _, kind := range kinds {
		c.objects = append(c.objects, c.list(ctx, cluster.Namespace, kind, belongs.Has)...)
	}
	if namespace, _, has := strings.Cut(cluster.Status.Operator, "/"); has {
		c.ofOperator(ctx, namespace)
	} else {
		c.unread = append(c.unread, "the operator: status.operator of the EtcdCluster does not say where it runs")
	}
	namespaces := map[string]bool{}
	for _, o := range c.objects {
		namespaces[o.GetNamespace()] = true
	}
	for _, namespace := range slices.Sorted(maps.Keys(namespaces)) {
		about := func(e *unstructured.Unstructured) bool { return support.About(e, c.objects) }
		c.events = append(c.events, c.list(ctx, namespace, corev1.SchemeGroupVersion.WithKind("Event"), about)...)
	}
	for _, o := range c.objects {
		if o.GetKind() == "Pod" {
			c.logsOf(ctx, o)
		}
	}
}

// ofBackups reads the cluster with its backups, stores and restores, and returns what else belongs to it.
func (c *collector) ofBackups(ctx context.Context, cluster *v1beta1.EtcdCluster) support.Related {
	belongs := support.Related{Cluster: cluster.Name}
	if cluster.Spec.Backup != nil {
		belongs.Stores = append(belongs.Stores, cluster.Spec.Backup.Store)
	}
	if r := cluster.Status.Restore; r != nil {
		belongs.Stores, belongs.Backups = append(belongs.Stores, r.Store), append(belongs.Backups, r.Backup)
	}
	kind := func(name string, keep func(*unstructured.Unstructured) bool) {
		c.objects = append(c.objects, c.list(ctx, cluster.Namespace, v1beta1.GroupVersion.WithKind(name), keep)...)
	}
	kind("EtcdCluster", func(o *unstructured.Unstructured) bool { return o.GetName() == cluster.Name })
	kind("EtcdBackup", func(o *unstructured.Unstructured) bool {
		var b v1beta1.EtcdBackup
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &b); err != nil {
			return true // it is not what it should be, which is worth knowing
		}
		if screen.ClusterOf(&b) != cluster.Name && !slices.Contains(belongs.Backups, b.Name) {
			return false
		}
		belongs.Backups = append(belongs.Backups, b.Name)
		belongs.Stores = append(belongs.Stores, screen.BackupOf(&b).Store)
		return true
	})
	var authorities []string
	kind("EtcdBackupStore", func(o *unstructured.Unstructured) bool {
		if !slices.Contains(belongs.Stores, o.GetName()) {
			return false
		}
		for _, provider := range []string{"s3", "gcs", "azure"} {
			if name, _, _ := unstructured.NestedString(o.Object, "spec", provider, "ca", "configMap"); name != "" {
				authorities = append(authorities, name)
			}
		}
		return true
	})
	for _, name := range []string{"EtcdRestore", "EtcdUser", "EtcdRole", "EtcdDrill"} {
		kind(name, func(o *unstructured.Unstructured) bool {
			of, _, _ := unstructured.NestedString(o.Object, "spec", "cluster")
			return of == cluster.Name
		})
	}
	c.configMaps(ctx, cluster.Namespace, authorities)
	return belongs
}

// configMaps reads those with the authorities of stores; of their content the bundle has only the size.
func (c *collector) configMaps(ctx context.Context, namespace string, names []string) {
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		o := unstructured.Unstructured{}
		o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &o); err != nil {
			c.miss("ConfigMap "+name, err)
			continue
		}
		c.objects = append(c.objects, o)
	}
}

// ofOperator reads the operator's Deployment and Pods.
func (c *collector) ofOperator(ctx context.Context, namespace string) {
	isOperator := func(fields ...string) func(*unstructured.Unstructured) bool {
		return func(o *unstructured.Unstructured) bool {
			labels, _, _ := unstructured.NestedStringMap(o.Object, fields...)
			return labels["app.kubernetes.io/name"] == operatorName
		}
	}
	deployments := isOperator("spec", "template", "metadata", "labels")
	c.objects = append(c.objects, c.list(ctx, namespace, appsv1.SchemeGroupVersion.WithKind("Deployment"), deployments)...)
	c.objects = append(c.objects, c.list(ctx, namespace, corev1.SchemeGroupVersion.WithKind("Pod"), isOperator("metadata", "labels"))...)
}

// pageSize is how many objects are read at once.
const pageSize = 500

// list reads the objects of a kind that are to be kept.
func (c *collector) list(ctx context.Context, namespace string, kind schema.GroupVersionKind, keep func(*unstructured.Unstructured) bool,
) (kept []unstructured.Unstructured) {
	c.report(fmt.Sprintf("%ss in namespace %s", kind.Kind, namespace))
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	for {
		err := c.List(ctx, list, client.InNamespace(namespace), client.Limit(pageSize), client.Continue(list.GetContinue()))
		if err != nil {
			if !meta.IsNoMatchError(err) {
				c.miss(fmt.Sprintf("%ss in namespace %s", kind.Kind, namespace), err)
			}
			return kept
		}
		for _, o := range list.Items {
			if keep(&o) {
				kept = append(kept, o)
			}
		}
		if list.GetContinue() == "" {
			return kept
		}
	}
}

func (c *collector) logsOf(ctx context.Context, o unstructured.Unstructured) {
	var pod corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &pod); err != nil {
		c.miss("the logs of Pod "+o.GetName(), err)
		return
	}
	c.readLogs(ctx, pod)
}
