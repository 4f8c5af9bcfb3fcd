// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// HeadlessService gives every member a host name, ready or not: members must find
// each other before they can be ready.
func HeadlessService(c *v1beta1.EtcdCluster) *corev1.Service {
	service := service(c, c.HeadlessService(),
		port("client", v1beta1.ClientPort), port("peer", v1beta1.PeerPort), port("metrics", v1beta1.MetricsPort))
	service.Spec.ClusterIP = corev1.ClusterIPNone
	service.Spec.PublishNotReadyAddresses = true
	return service
}

// ClientService spreads clients over the members that are ready and not about to be
// disturbed. Its type and settings are those of spec.clientService.
func ClientService(c *v1beta1.EtcdCluster) *corev1.Service {
	clients := service(c, c.ClientService(), port("client", v1beta1.ClientPort))
	clients.Spec.Selector[ComponentLabel] = Serving
	asked := c.Spec.ClientService
	if asked == nil {
		return clients
	}
	settings := *asked
	settings.PerMember, settings.TLSRoute = nil, nil // they are no settings of this Service
	configure(clients, settings)
	return clients
}

// MemberService leads clients to one member, while it is ready and not about to be disturbed, as spec.clientService.perMember says.
func MemberService(c *v1beta1.EtcdCluster, member string, asked v1beta1.MemberService) *corev1.Service {
	clients := service(c, v1beta1.MemberServiceOf(member), port("client", v1beta1.ClientPort))
	clients.Labels = MemberLabels(c, member)
	clients.Spec.Selector[ComponentLabel], clients.Spec.Selector[v1beta1.LabelMember] = Serving, member
	annotations := map[string]string{}
	for key, value := range asked.Annotations {
		annotations[key] = strings.ReplaceAll(value, "$(MEMBER)", member)
	}
	configure(clients, v1beta1.ClientService{
		Type: cmp.Or(asked.Type, v1beta1.ClientServiceClusterIP), Annotations: annotations, Labels: asked.Labels,
		LoadBalancerClass: asked.LoadBalancerClass, LoadBalancerSourceRanges: asked.LoadBalancerSourceRanges,
		ExternalTrafficPolicy: asked.ExternalTrafficPolicy,
	})
	return clients
}

// IsMemberService says whether a Service is, or was, one of a single member.
func IsMemberService(service *corev1.Service) bool {
	member := service.Labels[v1beta1.LabelMember]
	return member != "" && service.Name == v1beta1.MemberServiceOf(member)
}

// configure gives a Service what is asked of it.
func configure(clients *corev1.Service, asked v1beta1.ClientService) {
	clients.Labels, clients.Annotations = merged(clients.Labels, labelTexts(asked.Labels)), maps.Clone(asked.Annotations)
	metav1.SetMetaDataAnnotation(&clients.ObjectMeta, v1beta1.AnnotationSettings, fingerprintOf(asked))
	clients.Spec.Type = corev1.ServiceType(cmp.Or(asked.Type, v1beta1.ClientServiceClusterIP))
	clients.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicy(asked.ExternalTrafficPolicy)
	clients.Spec.Ports[0].NodePort = asked.NodePort
	if asked.LoadBalancerClass != "" {
		clients.Spec.LoadBalancerClass = ptr.To(asked.LoadBalancerClass)
	}
	clients.Spec.LoadBalancerSourceRanges = texts(asked.LoadBalancerSourceRanges)
}

// Selects says whether a Service of another owner selects the members that serve clients.
func Selects(c *v1beta1.EtcdCluster, service *corev1.Service) bool {
	return maps.Equal(service.Spec.Selector, ClientService(c).Spec.Selector)
}

// fingerprintOf is a fingerprint of what is asked for: the first half of a SHA-256 in hexadecimal.
func fingerprintOf(asked v1beta1.ClientService) string {
	fields, err := json.Marshal(asked)
	if err != nil {
		return "" // texts and numbers have JSON
	}
	sum := sha256.Sum256(fields)
	return hex.EncodeToString(sum[:len(sum)/2])
}

func service(c *v1beta1.EtcdCluster, name string, ports ...corev1.ServicePort) *corev1.Service {
	made := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: owned(c, name),
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, Selector: MemberSelector(c), Ports: ports,
		},
	}
	if network := c.Spec.Network; network != nil {
		made.Spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicy(network.IPFamilyPolicy))
		for _, family := range network.IPFamilies {
			made.Spec.IPFamilies = append(made.Spec.IPFamilies, corev1.IPFamily(family))
		}
	}
	return made
}

func port(name string, number int32) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Port: number, TargetPort: intstr.FromString(name), Protocol: corev1.ProtocolTCP}
}
