// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// nonroot is the user of distroless images; etcd's own image names none.
const nonroot = 65532

// Pod is the Pod of one member. What is added to the template here is not in the
// fingerprint of its annotation.
func Pod(c *v1beta1.EtcdCluster, member string, j Joining) *corev1.Pod {
	pod := template(c, member)
	pod.Annotations[v1beta1.AnnotationTemplate] = Fingerprint(c, member)
	delete(pod.Annotations, v1beta1.AnnotationImage) // only Images may say that
	bindPeers(c, pod)
	checkCorruption(c, pod)
	join(c, pod, j)
	Etcd(pod).Lifecycle = lingering()
	pod.Spec.TerminationGracePeriodSeconds = ptr.To[int64](grace)
	pod.Spec.HostAliases = append(itself(c, member), pod.Spec.HostAliases...)
	pod.Spec.ImagePullSecrets = c.PullSecrets() // for new Pods: no fingerprint counts them
	return pod
}

// bindPeers has a member accept as peers only members of its own cluster, whose certificates all have its names: the authority is
// external, and signs for clients and for other clusters, too. Pods of earlier releases need not restart for it, so no fingerprint
// counts it.
func bindPeers(c *v1beta1.EtcdCluster, pod *corev1.Pod) {
	if c.MountsCertificates() && c.CertificateSecrets() != nil {
		etcd := Etcd(pod)
		etcd.Args = append(etcd.Args, "--peer-cert-allowed-hostname="+Host(c, "peer"))
	}
}

// itself lets a member find itself by its own name. Before it joins, etcd looks up the name
// of each member, its own among them, and waits for a second if one is not known; the
// record of its own comes when its Pod runs, so about then. It need not be its address: what
// etcd finds it compares with what it finds for the same name. No fingerprint counts it either.
func itself(c *v1beta1.EtcdCluster, member string) []corev1.HostAlias {
	return []corev1.HostAlias{{IP: "127.0.0.1", Hostnames: []string{Host(c, member)}}}
}

// lingering lets a member serve for a moment after its Pod was deleted or evicted, by any client:
// the Service sends no more clients to it, and leadership can be moved. Pods of earlier
// releases do not linger and need not restart for it, so no fingerprint counts it.
func lingering() *corev1.Lifecycle {
	return &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 1}}}
}

// grace is how many seconds a member has to end: one in which it lingers, and the two that
// the kubelet gives a container at least before it is killed. An etcd that no stream is open
// to needs less than one. One that clients watch would wait for them for seven (ReqTimeout in
// its config.go), although they could watch elsewhere; to kill it is to its data what a crash
// is. No fingerprint counts it, as the pause (docs/adr/0025).
const grace = 3

// Lingers says whether a Pod's container serves on for a moment when it is to end.
func Lingers(pod *corev1.Pod) bool {
	lifecycle := Etcd(pod).Lifecycle
	return lifecycle != nil && lifecycle.PreStop != nil
}

// ForcedPod is the Pod of a member that starts with --force-new-cluster: it goes on from its own data
// as the only voter. Its container never restarts by itself: with the flag it would remove
// members that have joined meanwhile. It is outdated from the start.
func ForcedPod(c *v1beta1.EtcdCluster, member string) *corev1.Pod {
	pod := Pod(c, member, Joining{Members: []string{member}})
	pod.Annotations[v1beta1.AnnotationForced] = "true"
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	etcd := Etcd(pod)
	etcd.Args = append(etcd.Args, "--force-new-cluster=true")
	return pod
}

// Targeted is the cluster as its members are to be run now: on the way to another
// minor version that is not what the spec says.
func Targeted(c *v1beta1.EtcdCluster, target cluster.Target) *v1beta1.EtcdCluster {
	targeted := c.DeepCopy()
	targeted.Spec.Version, targeted.Spec.Image = target.Version, target.Image
	if target.DropLegacyEntries {
		targeted.Spec.Etcd.SnapshotCount = cleansing
	}
	return targeted
}

// cleansing is a snapshot count that no user may set: after every other entry a member
// writes a snapshot, and so never reads an older entry of its log again.
const cleansing = 1

// IsCleansing says whether the Pod's member drops old entries of its log.
func IsCleansing(pod *corev1.Pod) bool {
	return slices.Contains(Etcd(pod).Args, fmt.Sprintf("--snapshot-count=%d", cleansing))
}

func template(c *v1beta1.EtcdCluster, member string) *corev1.Pod {
	meta := owned(c, member)
	meta.Labels = merged(MemberLabels(c, member), c.Spec.PodMetadata.Labels)
	meta.Annotations = merged(map[string]string{"kubectl.kubernetes.io/default-container": etcdContainer}, c.Spec.PodMetadata.Annotations)
	scheduling := Scheduling(c, MemberSelector(c))
	return patched(c, &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: meta,
		Spec: corev1.PodSpec{
			Hostname:                      member,
			Subdomain:                     c.HeadlessService(),
			Containers:                    []corev1.Container{container(c, member)},
			Volumes:                       volumes(c, member),
			AutomountServiceAccountToken:  ptr.To(false),
			EnableServiceLinks:            ptr.To(false), // its variables would look like etcd's own
			TerminationGracePeriodSeconds: ptr.To[int64](30),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot:        ptr.To(true),
				RunAsUser:           ptr.To[int64](nonroot),
				RunAsGroup:          ptr.To[int64](nonroot),
				FSGroup:             ptr.To[int64](nonroot),
				FSGroupChangePolicy: ptr.To(corev1.FSGroupChangeOnRootMismatch),
				SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			NodeSelector:              scheduling.NodeSelector,
			Affinity:                  scheduling.Affinity,
			Tolerations:               scheduling.Tolerations,
			PriorityClassName:         scheduling.PriorityClassName,
			TopologySpreadConstraints: scheduling.TopologySpreadConstraints,
		},
	})
}

// MemberPorts are the ports of a member.
func MemberPorts() []corev1.ContainerPort {
	return []corev1.ContainerPort{
		{Name: "client", ContainerPort: v1beta1.ClientPort, Protocol: corev1.ProtocolTCP},
		{Name: "peer", ContainerPort: v1beta1.PeerPort, Protocol: corev1.ProtocolTCP},
		{Name: "metrics", ContainerPort: v1beta1.MetricsPort, Protocol: corev1.ProtocolTCP},
	}
}

func container(c *v1beta1.EtcdCluster, member string) corev1.Container {
	resources := c.MemberResources()
	etcd := corev1.Container{
		Name:                     etcdContainer,
		Image:                    c.Spec.MemberImage(),
		Command:                  []string{"/usr/local/bin/etcd"},
		Args:                     arguments(c, member),
		Env:                      etcdctlEnvironment(c),
		Ports:                    MemberPorts(),
		Resources:                corev1.ResourceRequirements{Requests: resources.Requests, Limits: resources.Limits},
		VolumeMounts:             []corev1.VolumeMount{{Name: "data", MountPath: dataMount}},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		// A large database takes minutes to load: startup may take an hour.
		StartupProbe:   probe("/livez", 1, 3600),
		ReadinessProbe: probe("/readyz", 2, 3),
		LivenessProbe:  probe("/livez", 10, 6),
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false),
			ReadOnlyRootFilesystem:   ptr.To(true),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
	if c.MountsCertificates() {
		etcd.VolumeMounts = append(etcd.VolumeMounts, corev1.VolumeMount{Name: tlsVolume, MountPath: tlsMount, ReadOnly: true})
	}
	return etcd
}

// probe asks etcd's own health checks (https://etcd.io/docs/v3.6/op-guide/monitoring/).
// Its timeout is long, because /readyz answers the moment a leader is elected.
func probe(path string, period, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: path, Port: intstr.FromString("metrics"), Scheme: corev1.URISchemeHTTP,
		}},
		PeriodSeconds: period, TimeoutSeconds: 5, FailureThreshold: failures, SuccessThreshold: 1,
	}
}

// etcdctlEnvironment makes `kubectl exec POD -- etcdctl …` work as it is.
func etcdctlEnvironment(c *v1beta1.EtcdCluster) []corev1.EnvVar {
	if !c.MountsCertificates() {
		return []corev1.EnvVar{{Name: "ETCDCTL_ENDPOINTS", Value: "http://127.0.0.1:2379"}}
	}
	return append([]corev1.EnvVar{{Name: "ETCDCTL_ENDPOINTS", Value: "https://127.0.0.1:2379"}},
		corev1.EnvVar{Name: "ETCDCTL_CACERT", Value: tlsMount + "/" + ClientCAKey},
		corev1.EnvVar{Name: "ETCDCTL_CERT", Value: tlsMount + "/" + ServerCertKey},
		corev1.EnvVar{Name: "ETCDCTL_KEY", Value: tlsMount + "/" + ServerKeyKey},
	)
}

func volumes(c *v1beta1.EtcdCluster, member string) []corev1.Volume {
	data := corev1.Volume{Name: "data"}
	if ephemeral := c.Spec.Storage.Ephemeral; ephemeral != nil {
		data.EmptyDir = &corev1.EmptyDirVolumeSource{SizeLimit: ptr.To(ephemeral.SizeLimit)}
	} else {
		data.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: member}
	}
	if !c.MountsCertificates() {
		return []corev1.Volume{data}
	}
	return []corev1.Volume{data, {
		Name: tlsVolume,
		VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: MemberSecret(c), DefaultMode: ptr.To[int32](0o440),
		}},
	}}
}

// Scheduling is where Pods may run that are alike by these labels: what the spec says, spread over nodes.
func Scheduling(c *v1beta1.EtcdCluster, alike map[string]string) v1beta1.Scheduling {
	scheduling := c.Spec.Scheduling
	scheduling.TopologySpreadConstraints = spread(c, &metav1.LabelSelector{MatchLabels: alike})
	return scheduling
}

// spread keeps Pods on different hosts where possible, unless the user says how.
func spread(c *v1beta1.EtcdCluster, selector *metav1.LabelSelector) []corev1.TopologySpreadConstraint {
	wanted := c.Spec.Scheduling.TopologySpreadConstraints
	if len(wanted) == 0 {
		return []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: selector,
		}}
	}
	constraints := make([]corev1.TopologySpreadConstraint, 0, len(wanted))
	for _, constraint := range wanted {
		if constraint.LabelSelector == nil {
			constraint.LabelSelector = selector
		}
		constraints = append(constraints, constraint)
	}
	return constraints
}
