// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// example is `spec: {size: 3}` with what the API server fills in, whose first members an earlier release has chosen.
func example() *v1beta1.EtcdCluster {
	c := &v1beta1.EtcdCluster{}
	c.Name, c.Namespace, c.UID = "example", "databases", types.UID("11111111-2222-3333-4444-555555555555")
	c.Spec = v1beta1.EtcdClusterSpec{
		Size: ptr.To[int32](3), Version: "3.6.16", DeletionPolicy: v1beta1.Retain, TLS: v1beta1.TLS{Mode: v1beta1.TLSEnabled},
		Etcd: v1beta1.EtcdSettings{
			AutoCompaction: v1beta1.AutoCompaction{Mode: v1beta1.CompactPeriodic, Retention: "1h"},
			SnapshotCount:  10000, LogLevel: "info",
		},
	}
	c.Spec.Etcd.HeartbeatInterval.Duration = 100 * time.Millisecond
	c.Spec.Etcd.ElectionTimeout.Duration = time.Second
	c.Status.Bootstrap = &v1beta1.Bootstrap{Token: "t1", Members: []string{"example-0", "example-1", "example-2"}}
	return c
}

// with is the example, changed.
func with(change func(*v1beta1.EtcdClusterSpec)) *v1beta1.EtcdCluster {
	c := example()
	change(&c.Spec)
	return c
}

func ephemeral(s *v1beta1.EtcdClusterSpec) {
	s.Storage.Ephemeral = &v1beta1.Ephemeral{SizeLimit: resource.MustParse("2Gi")}
}

func outside(s *v1beta1.EtcdClusterSpec) {
	s.ClientService = &v1beta1.ClientService{
		Type: v1beta1.ClientServiceLoadBalancer, LoadBalancerClass: "example.com/internal", ExternalTrafficPolicy: "Local", NodePort: 32379,
		Annotations:              map[string]string{"example.com/subnet": "a"},
		Labels:                   map[string]v1beta1.LabelValue{"pool": "a", specs.ManagedByLabel: "stays the operator's"},
		LoadBalancerSourceRanges: []v1beta1.CIDR{"10.0.0.0/8", "192.0.2.0/24"},
	}
}

// dual is a cluster whose Services have both families of addresses.
func dual(s *v1beta1.EtcdClusterSpec) {
	s.Network = &v1beta1.Network{IPFamilyPolicy: v1beta1.RequireDualStack, IPFamilies: []v1beta1.IPFamily{v1beta1.IPv6, v1beta1.IPv4}}
}

// routed has a Service for each member, and a TLSRoute.
func routed() *v1beta1.ClientService {
	return &v1beta1.ClientService{
		PerMember: &v1beta1.MemberService{
			Type: v1beta1.ClientServiceLoadBalancer, LoadBalancerClass: "example.com/internal", ExternalTrafficPolicy: "Local",
			Annotations: map[string]string{"external-dns.alpha.kubernetes.io/hostname": "$(MEMBER).etcd.example.com"},
			Labels:      map[string]v1beta1.LabelValue{"pool": "a", v1beta1.LabelMember: "stays the operator's"},
		},
		TLSRoute: &v1beta1.TLSRoute{
			ParentRefs: []v1beta1.RouteParent{{Name: "edge", Namespace: "gateways", SectionName: "etcd", Port: 2379}, {Name: "inner"}},
			Hostnames:  []v1beta1.Hostname{"etcd.example.com", "*.etcd.example.com"},
		},
	}
}

// besides adds to members' Pods what a template can.
func besides(s *v1beta1.EtcdClusterSpec) {
	s.PodTemplate = &v1beta1.PodTemplate{
		Containers: []v1beta1.PodContainer{
			{
				Name: "logs", Image: "registry.example/logs:v1", Args: []string{"--follow"},
				Ports:           []v1beta1.PodPort{{Name: "http", ContainerPort: 8080}},
				VolumeMounts:    []v1beta1.PodMount{{Name: "settings", MountPath: "/etc/logs", ReadOnly: true}},
				SecurityContext: &v1beta1.PodContainerSecurity{RunAsUser: ptr.To[int64](1000)},
			},
			{
				Name: "etcd", Env: []v1beta1.PodEnv{{Name: "GOGC", Value: "50"}},
				VolumeMounts: []v1beta1.PodMount{{Name: "settings", MountPath: "/etc/settings", ReadOnly: true}},
			},
		},
		InitContainers: []v1beta1.PodContainer{{
			Name: "beside", Image: "registry.example/beside:v1", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways),
		}},
		Volumes: []v1beta1.PodVolume{{Name: "settings", ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "settings"},
		}}},
		HostAliases:      []v1beta1.HostAlias{{IP: "192.0.2.7", Hostnames: []string{"ntp.example.com"}}},
		DNSConfig:        &v1beta1.PodDNS{Options: []v1beta1.PodDNSOption{{Name: "ndots", Value: "3"}}},
		RuntimeClassName: "gvisor", SchedulerName: "other",
	}
}

func insecure(s *v1beta1.EtcdClusterSpec) { s.TLS.Mode = v1beta1.TLSDisabled }

// full is the sample that spells every field out.
func full(t *testing.T) *v1beta1.EtcdCluster {
	t.Helper()
	text, err := os.ReadFile("../../../config/samples/etcdcluster_full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c := &v1beta1.EtcdCluster{}
	if err := yaml.UnmarshalStrict(text, c); err != nil {
		t.Fatal(err)
	}
	c.Namespace, c.UID = "databases", example().UID
	return c
}

func plan() *v1beta1.Bootstrap {
	return &v1beta1.Bootstrap{Token: string(example().UID), Members: []string{"example-0", "example-1", "example-2"}}
}

func forming() specs.Joining {
	return specs.Joining{New: true, Token: plan().Token, Members: plan().Members}
}

func joining() specs.Joining {
	return specs.Joining{Token: plan().Token, Members: []string{"example-0", "example-2", "example-3"}, Compares: true}
}
