// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/monitoring"
)

// The flag by which the operator has itself scraped, and the variable for Operator Lifecycle Manager, which gives no flags.
const (
	ServiceMonitorFlag     = "service-monitor-labels"
	ServiceMonitorVariable = "SERVICE_MONITOR_LABELS"
)

// ParseMonitorLabels reads labels such as release=prometheus,team=db.
func ParseMonitorLabels(text string) (map[string]string, error) {
	set, err := labels.ConvertSelectorToLabelsMap(text)
	if err != nil {
		return nil, fmt.Errorf("read the labels %q, which are to be such as release=prometheus: %w", text, err)
	}
	return set, nil
}

// selfMonitor applies a ServiceMonitor and a PrometheusRule for the operator itself and all clusters, while it leads: again every ten
// minutes, since they are not watched, and the Prometheus Operator may come later.
type selfMonitor struct {
	client    client.Client
	live      client.Reader
	namespace string
	labels    map[string]string
	log       logr.Logger
}

// Start applies them until the context ends. What cannot be applied is logged, and stops nothing.
func (s *selfMonitor) Start(ctx context.Context) error {
	said := ""
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		now := ""
		for _, object := range selfMonitors(s.namespace, s.labels, s.hasToken(ctx)) {
			err := s.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(v1beta1.FieldOwner),
				client.ForceOwnership, client.DisableReadYourWritesConsistency)
			if err != nil {
				now += fmt.Sprintf("apply %s %s: %v; ", object.GetKind(), object.GetName(), err)
			}
		}
		if now != "" && now != said {
			s.log.Info("the ServiceMonitor of the operator cannot be applied: install the Prometheus Operator, or drop --"+ServiceMonitorFlag,
				"because", now)
		}
		said = now
	}, 10*time.Minute)
	return nil
}

// reader names a Secret, in the operator's namespace, with the token of an account that may read metrics, if a person has made one.
const reader = "etcd-operator-metrics-reader"

// hasToken says whether the Secret is there. If that cannot be read it is not counted on.
func (s *selfMonitor) hasToken(ctx context.Context) bool {
	var secret corev1.Secret
	err := s.live.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: reader}, &secret)
	return err == nil && len(secret.Data[corev1.ServiceAccountTokenKey]) > 0
}

// selfMonitors are the objects. Labels of clusters in the metrics are kept (honorLabels): namespace is theirs. The certificate of the
// endpoint is self-signed unless one was brought. The job has the name of the label's value, controller-manager, and not that of the
// Service: what is called etcd is counted as members of etcd by the rules of kube-prometheus (job=~".*etcd.*"). The token is Prometheus'
// own, or that of a Secret: monitors of user projects in OpenShift may name no file.
func selfMonitors(namespace string, extra map[string]string, hasToken bool) []*unstructured.Unstructured {
	made := func(kind string, spec map[string]any) *unstructured.Unstructured {
		object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		object.SetGroupVersionKind(specs.PodMonitorKind.GroupVersion().WithKind(kind))
		object.SetNamespace(namespace)
		object.SetName(v1beta1.FieldOwner)
		object.SetLabels(labels.Merge(extra, map[string]string{
			"app.kubernetes.io/name": v1beta1.FieldOwner, specs.ManagedByLabel: v1beta1.FieldOwner,
		}))
		return object
	}
	selected := map[string]any{"app.kubernetes.io/name": v1beta1.FieldOwner, "control-plane": "controller-manager"}
	endpoint := map[string]any{
		"port": "https", "scheme": "https", "path": "/metrics", "honorLabels": true, "tlsConfig": map[string]any{"insecureSkipVerify": true},
	}
	if hasToken {
		endpoint["authorization"] = map[string]any{"credentials": map[string]any{"name": reader, "key": corev1.ServiceAccountTokenKey}}
	} else {
		endpoint["bearerTokenFile"] = "/var/run/secrets/kubernetes.io/serviceaccount/token"
	}
	return []*unstructured.Unstructured{
		made("ServiceMonitor", map[string]any{
			"selector": map[string]any{"matchLabels": selected}, "jobLabel": "control-plane", "endpoints": []any{endpoint},
		}),
		made(specs.PrometheusRuleKind.Kind, monitoring.Rules(namespace)),
	}
}
