package specs_test

import (
	"os"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// example is `spec: {size: 3}` with what the API server fills in.
func example() *v1alpha1.EtcdCluster {
	c := &v1alpha1.EtcdCluster{}
	c.Name, c.Namespace, c.UID = "example", "databases", types.UID("11111111-2222-3333-4444-555555555555")
	c.Spec = v1alpha1.EtcdClusterSpec{
		Size: ptr.To[int32](3), Version: "3.6.16", DeletionPolicy: v1alpha1.Retain, TLS: v1alpha1.TLS{Mode: v1alpha1.TLSEnabled},
		Etcd: v1alpha1.EtcdSettings{
			AutoCompaction: v1alpha1.AutoCompaction{Mode: v1alpha1.CompactPeriodic, Retention: "1h"},
			SnapshotCount:  10000, LogLevel: "info",
		},
	}
	c.Spec.Etcd.HeartbeatInterval.Duration = 100 * time.Millisecond
	c.Spec.Etcd.ElectionTimeout.Duration = time.Second
	return c
}

// with is the example, changed.
func with(change func(*v1alpha1.EtcdClusterSpec)) *v1alpha1.EtcdCluster {
	c := example()
	change(&c.Spec)
	return c
}

func ephemeral(s *v1alpha1.EtcdClusterSpec) {
	s.Storage.Ephemeral = &v1alpha1.Ephemeral{SizeLimit: resource.MustParse("2Gi")}
}

func outside(s *v1alpha1.EtcdClusterSpec) {
	s.ClientService = &v1alpha1.ClientService{
		Type: v1alpha1.ClientServiceLoadBalancer, LoadBalancerClass: "example.com/internal", ExternalTrafficPolicy: "Local", NodePort: 32379,
		Annotations:              map[string]string{"example.com/subnet": "a"},
		Labels:                   map[string]v1alpha1.LabelValue{"pool": "a", specs.ManagedByLabel: "stays the operator's"},
		LoadBalancerSourceRanges: []v1alpha1.CIDR{"10.0.0.0/8", "192.0.2.0/24"},
	}
}

func insecure(s *v1alpha1.EtcdClusterSpec) { s.TLS.Mode = v1alpha1.TLSDisabled }

// full is the sample that spells every field out.
func full(t *testing.T) *v1alpha1.EtcdCluster {
	t.Helper()
	text, err := os.ReadFile("../../../config/samples/etcdcluster_full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c := &v1alpha1.EtcdCluster{}
	if err := yaml.UnmarshalStrict(text, c); err != nil {
		t.Fatal(err)
	}
	c.Namespace, c.UID = "databases", example().UID
	return c
}

func plan() *v1alpha1.Bootstrap {
	return &v1alpha1.Bootstrap{Token: string(example().UID), Members: []string{"example-0", "example-1", "example-2"}}
}

func forming() specs.Joining {
	return specs.Joining{New: true, Token: plan().Token, Members: plan().Members}
}

func joining() specs.Joining {
	return specs.Joining{Token: plan().Token, Members: []string{"example-0", "example-2", "example-3"}}
}
