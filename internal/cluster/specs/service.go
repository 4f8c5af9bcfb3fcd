package specs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

// HeadlessService gives every member a host name, ready or not: members must find
// each other before they can be ready.
func HeadlessService(c *v1alpha1.EtcdCluster) *corev1.Service {
	service := service(c, c.HeadlessService(),
		port("client", v1alpha1.ClientPort), port("peer", v1alpha1.PeerPort), port("metrics", v1alpha1.MetricsPort))
	service.Spec.ClusterIP = corev1.ClusterIPNone
	service.Spec.PublishNotReadyAddresses = true
	return service
}

// ClientService spreads clients over the members that are ready and not about to be
// disturbed. Its type and settings are those of spec.clientService.
func ClientService(c *v1alpha1.EtcdCluster) *corev1.Service {
	clients := service(c, c.ClientService(), port("client", v1alpha1.ClientPort))
	clients.Spec.Selector[ComponentLabel] = Serving
	asked := c.Spec.ClientService
	if asked == nil {
		return clients
	}
	clients.Labels, clients.Annotations = merged(clients.Labels, labelTexts(asked.Labels)), maps.Clone(asked.Annotations)
	metav1.SetMetaDataAnnotation(&clients.ObjectMeta, v1alpha1.AnnotationSettings, fingerprintOf(*asked))
	clients.Spec.Type = corev1.ServiceType(c.ClientServiceType())
	clients.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicy(asked.ExternalTrafficPolicy)
	clients.Spec.Ports[0].NodePort = asked.NodePort
	if asked.LoadBalancerClass != "" {
		clients.Spec.LoadBalancerClass = ptr.To(asked.LoadBalancerClass)
	}
	clients.Spec.LoadBalancerSourceRanges = texts(asked.LoadBalancerSourceRanges)
	return clients
}

// Selects says whether a Service of another owner selects the members that serve clients.
func Selects(c *v1alpha1.EtcdCluster, service *corev1.Service) bool {
	return maps.Equal(service.Spec.Selector, ClientService(c).Spec.Selector)
}

// fingerprintOf is a fingerprint of what is asked for: the first half of a SHA-256 in hexadecimal.
func fingerprintOf(asked v1alpha1.ClientService) string {
	fields, err := json.Marshal(asked)
	if err != nil {
		return "" // texts and numbers have JSON
	}
	sum := sha256.Sum256(fields)
	return hex.EncodeToString(sum[:len(sum)/2])
}

func service(c *v1alpha1.EtcdCluster, name string, ports ...corev1.ServicePort) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: owned(c, name),
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, Selector: MemberSelector(c), Ports: ports,
		},
	}
}

func port(name string, number int32) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Port: number, TargetPort: intstr.FromString(name), Protocol: corev1.ProtocolTCP}
}
