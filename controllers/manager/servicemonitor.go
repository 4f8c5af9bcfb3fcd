package manager

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
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
	namespace string
	labels    map[string]string
	log       logr.Logger
}

// Start applies them until the context ends. What cannot be applied is logged, and stops nothing.
func (s *selfMonitor) Start(ctx context.Context) error {
	said := ""
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		now := ""
		for _, object := range selfMonitors(s.namespace, s.labels) {
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

// selfMonitors are the objects. Labels of clusters in the metrics are kept (honorLabels): namespace is theirs. The certificate of the
// endpoint is self-signed unless one was brought.
func selfMonitors(namespace string, extra map[string]string) []*unstructured.Unstructured {
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
	return []*unstructured.Unstructured{
		made("ServiceMonitor", map[string]any{
			"selector": map[string]any{"matchLabels": selected},
			"endpoints": []any{map[string]any{
				"port": "https", "scheme": "https", "path": "/metrics", "honorLabels": true,
				"bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
				"tlsConfig":       map[string]any{"insecureSkipVerify": true},
			}},
		}),
		made(specs.PrometheusRuleKind.Kind, monitoring.Rules(namespace)),
	}
}
