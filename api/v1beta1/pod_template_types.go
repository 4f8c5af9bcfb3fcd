// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
)

// PodTemplate is merged into the members' Pods, as a strategic merge patch of their spec: lists are merged by name, what is not named
// stays. It has only what neither breaks membership nor gives a Pod rights that the profile restricted of the Pod Security Standards
// refuses: names, hosts, restarts, accounts, security contexts and what etcd itself is started with are the operator's.
//
// +kubebuilder:validation:XValidation:rule="!has(self.containers) || self.containers.all(c, c.name == 'etcd' || has(c.image))",fieldPath=".containers",message="podTemplate.containers must have an image, except etcd, whose image is spec.image"
// +kubebuilder:validation:XValidation:rule="!has(self.containers) || self.containers.all(c, c.name != 'etcd' || !has(c.image) && !has(c.imagePullPolicy) && !has(c.command) && !has(c.args) && !has(c.workingDir) && !has(c.ports) && !has(c.envFrom) && !has(c.resources) && !has(c.startupProbe) && !has(c.readinessProbe) && !has(c.livenessProbe) && !has(c.restartPolicy) && !has(c.securityContext))",fieldPath=".containers",message="podTemplate.containers may give the container etcd only env and volumeMounts: its image, command, arguments, ports, probes and security context are the operator's, its resources are spec.resources, and its flags spec.etcd"
// +kubebuilder:validation:XValidation:rule="!has(self.containers) || self.containers.all(c, c.name != 'etcd' || !has(c.env) || c.env.all(e, !e.name.startsWith('ETCD') && e.name != 'INITIAL_CLUSTER'))",fieldPath=".containers",message="podTemplate.containers must not give the container etcd variables named ETCD* or INITIAL_CLUSTER: etcd takes its flags from them, and the operator sets those; use spec.etcd.extraArgs"
// +kubebuilder:validation:XValidation:rule="!has(self.containers) || self.containers.all(c, c.name != 'etcd' || !has(c.volumeMounts) || c.volumeMounts.all(m, !(m.mountPath in ['/', '/etc', '/usr', '/usr/local', '/usr/local/bin', '/var', '/var/lib']) && !m.mountPath.startsWith('/var/lib/etcd') && !m.mountPath.startsWith('/etc/etcd-tls') && !m.mountPath.startsWith('/usr/local/bin/') && !m.mountPath.endsWith('/') && !m.mountPath.contains('..') && !m.mountPath.contains('//')))",fieldPath=".containers",message="podTemplate.containers must not mount anything in the container etcd over its data (/var/lib/etcd), its certificates (/etc/etcd-tls) or its program (/usr/local/bin), or above them; paths have no .., no // and no / at their end"
// +kubebuilder:validation:XValidation:rule="!has(self.containers) || self.containers.all(c, !has(c.restartPolicy))",fieldPath=".containers",message="podTemplate.containers must not set restartPolicy: the containers of a member are always restarted; podTemplate.initContainers may set Always"
// +kubebuilder:validation:XValidation:rule="!has(self.initContainers) || self.initContainers.all(c, c.name != 'etcd' && has(c.image))",fieldPath=".initContainers",message="podTemplate.initContainers must have an image, and another name than etcd"
// +kubebuilder:validation:XValidation:rule="!has(self.initContainers) || self.initContainers.all(c, has(c.restartPolicy) || !has(c.startupProbe) && !has(c.readinessProbe) && !has(c.livenessProbe))",fieldPath=".initContainers",message="podTemplate.initContainers may have probes only with restartPolicy Always"
// +kubebuilder:validation:XValidation:rule="!has(self.initContainers) || !has(self.containers) || self.initContainers.all(i, self.containers.all(c, c.name != i.name))",fieldPath=".initContainers",message="podTemplate.initContainers and podTemplate.containers must have different names"
// +kubebuilder:validation:XValidation:rule="!has(self.containers) || self.containers.all(c, !has(c.volumeMounts) || c.volumeMounts.all(m, has(self.volumes) && self.volumes.exists(v, v.name == m.name)))",fieldPath=".containers",message="podTemplate.containers mount only volumes of podTemplate.volumes: a member's data and keys are mounted by etcd alone"
// +kubebuilder:validation:XValidation:rule="!has(self.initContainers) || self.initContainers.all(c, !has(c.volumeMounts) || c.volumeMounts.all(m, has(self.volumes) && self.volumes.exists(v, v.name == m.name)))",fieldPath=".initContainers",message="podTemplate.initContainers mount only volumes of podTemplate.volumes: a member's data and keys are mounted by etcd alone"
type PodTemplate struct {
	// containers run beside etcd in each member's Pod. The entry etcd is etcd's own container: it takes env and volumeMounts. A member
	// counts as ready, and is sent clients, only while every container is ready.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Containers",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=171
	Containers []PodContainer `json:"containers,omitempty"`

	// initContainers run before etcd starts, at each start of a Pod, or beside it with restartPolicy Always.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Init Containers",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=172
	InitContainers []PodContainer `json:"initContainers,omitempty"`

	// volumes for these containers.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Volumes",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=173
	Volumes []PodVolume `json:"volumes,omitempty"`

	// hostAliases are names that the members' Pods find without DNS.
	// +optional
	// +listType=map
	// +listMapKey=ip
	// +kubebuilder:validation:MaxItems=16
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Host Aliases",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=174
	HostAliases []HostAlias `json:"hostAliases,omitempty"`

	// dnsConfig adds search domains and options to how the members' Pods look names up. Name servers are those of the Kubernetes cluster:
	// members find each other by them.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="DNS",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=175
	DNSConfig *PodDNS `json:"dnsConfig,omitempty"`

	// runtimeClassName is the RuntimeClass of the members' Pods.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="podTemplate.runtimeClassName must be the name of a RuntimeClass: lower case letters, digits, '-' and '.'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Runtime Class",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=176
	RuntimeClassName string `json:"runtimeClassName,omitempty"`

	// schedulerName is the scheduler of the members' Pods. Default: that of Kubernetes.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="podTemplate.schedulerName must be the name of a scheduler: lower case letters, digits, '-' and '.'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Scheduler",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=177
	SchedulerName string `json:"schedulerName,omitempty"`
}

// PodContainer is a container of a member's Pod, as in a Pod. It runs with no privileges and no capabilities, not as root, and does not
// gain any.
type PodContainer struct {
	// name of the container; etcd is etcd's own.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="a container of podTemplate must be named by a DNS label: lower case letters, digits and '-'"
	Name string `json:"name"`

	// image of the container.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9][-a-zA-Z0-9._:/@]*$')",message="an image of podTemplate must be an image reference, such as registry.example/exporter:v1"
	Image string `json:"image,omitempty"`

	// imagePullPolicy is Always, IfNotPresent or Never. Default: as in a Pod.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// command in place of the image's own.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Command []string `json:"command,omitempty"`

	// args of the command.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Args []string `json:"args,omitempty"`

	// workingDir of the command.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	WorkingDir string `json:"workingDir,omitempty"`

	// ports that the container listens on. Members' own are 2379 to 2381.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Ports []PodPort `json:"ports,omitempty"`

	// env are variables.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Env []PodEnv `json:"env,omitempty"`

	// envFrom are ConfigMaps and Secrets whose keys become variables.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`

	// resources of the container.
	// +optional
	Resources PodResources `json:"resources,omitzero"`

	// volumeMounts are volumes of podTemplate.volumes.
	// +optional
	// +listType=map
	// +listMapKey=mountPath
	// +kubebuilder:validation:MaxItems=16
	VolumeMounts []PodMount `json:"volumeMounts,omitempty"`

	// startupProbe, as in a Pod.
	// +optional
	StartupProbe *corev1.Probe `json:"startupProbe,omitempty"`

	// readinessProbe, as in a Pod. While it fails, the member is not ready and clients are sent to others.
	// +optional
	ReadinessProbe *corev1.Probe `json:"readinessProbe,omitempty"`

	// livenessProbe, as in a Pod.
	// +optional
	LivenessProbe *corev1.Probe `json:"livenessProbe,omitempty"`

	// restartPolicy is Always for an init container that runs beside etcd.
	// +optional
	// +kubebuilder:validation:Enum=Always
	RestartPolicy *corev1.ContainerRestartPolicy `json:"restartPolicy,omitempty"`

	// securityContext says as whom the container runs.
	// +optional
	SecurityContext *PodContainerSecurity `json:"securityContext,omitempty"`
}

// PodResources are the compute resources of a container beside etcd. Kubernetes says whether they are good before a member restarts.
type PodResources struct {
	// requests is what the scheduler reserves.
	// +optional
	// +kubebuilder:validation:MaxProperties=6
	Requests corev1.ResourceList `json:"requests,omitempty"`

	// limits is the most that may be used.
	// +optional
	// +kubebuilder:validation:MaxProperties=6
	Limits corev1.ResourceList `json:"limits,omitempty"`
}

// PodContainerSecurity is what may be chosen of a container's security context.
type PodContainerSecurity struct {
	// runAsUser is the user of the container, and not root. Default 65532, as etcd.
	// +optional
	// +kubebuilder:validation:Minimum=1
	RunAsUser *int64 `json:"runAsUser,omitempty"`

	// runAsGroup is the group of the container. Default 65532, as etcd.
	// +optional
	// +kubebuilder:validation:Minimum=1
	RunAsGroup *int64 `json:"runAsGroup,omitempty"`

	// readOnlyRootFilesystem says that the container writes nothing outside of its volumes. Default false.
	// +optional
	ReadOnlyRootFilesystem *bool `json:"readOnlyRootFilesystem,omitempty"`
}

// PodPort is a port of a container.
type PodPort struct {
	// name by which a Service or a PodMonitor finds the port.
	// +optional
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$') && !(self in ['client', 'peer', 'metrics'])",message="a port of podTemplate must not be named client, peer or metrics: the Services of the cluster find etcd by those; a name has lower case letters, digits and '-'"
	Name string `json:"name,omitempty"`

	// containerPort is the number of the port.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:validation:XValidation:rule="!(self in [2379, 2380, 2381])",message="a port of podTemplate must not be 2379, 2380 or 2381: etcd listens there"
	ContainerPort int32 `json:"containerPort"`

	// protocol is TCP, UDP or SCTP. Default TCP.
	// +optional
	// +kubebuilder:validation:Enum=TCP;UDP;SCTP
	Protocol corev1.Protocol `json:"protocol,omitempty"`
}

// PodEnv is a variable of a container, as in a Pod.
type PodEnv struct {
	// name of the variable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z][-._a-zA-Z0-9]*$')",message="a variable of podTemplate must have a name of letters, digits, '_', '-' and '.', which begins with no digit"
	Name string `json:"name"`

	// value of the variable.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Value string `json:"value,omitempty"`

	// valueFrom has the value come from elsewhere.
	// +optional
	ValueFrom *corev1.EnvVarSource `json:"valueFrom,omitempty"`
}

// PodMount is a volume in a container.
type PodMount struct {
	// name of the volume.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// mountPath is where it is mounted.
	// +required
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/') && !self.contains(':')",message="a mountPath of podTemplate must begin with / and have no colon"
	MountPath string `json:"mountPath"`

	// subPath is what of the volume is mounted. Default: all.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	SubPath string `json:"subPath,omitempty"`

	// readOnly mounts it so. Default false.
	// +optional
	ReadOnly bool `json:"readOnly,omitempty"`
}

// PodVolume is a volume for containers of a member's Pod, as in a Pod: exactly one source.
//
// +kubebuilder:validation:XValidation:rule="!(self.name in ['data', 'tls'])",fieldPath=".name",message="a volume of podTemplate must not be named data or tls: those hold a member's data and its keys"
// +kubebuilder:validation:XValidation:rule="[has(self.configMap), has(self.secret), has(self.emptyDir), has(self.persistentVolumeClaim), has(self.downwardAPI), has(self.csi)].filter(is, is).size() == 1",message="a volume of podTemplate must have one source: configMap, secret, emptyDir, persistentVolumeClaim, downwardAPI or csi"
type PodVolume struct {
	// name of the volume.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="a volume of podTemplate must be named by a DNS label: lower case letters, digits and '-'"
	Name string `json:"name"`

	// configMap has files of a ConfigMap.
	// +optional
	ConfigMap *corev1.ConfigMapVolumeSource `json:"configMap,omitempty"`

	// secret has files of a Secret.
	// +optional
	Secret *corev1.SecretVolumeSource `json:"secret,omitempty"`

	// emptyDir is empty when the Pod begins, and goes with it.
	// +optional
	EmptyDir *corev1.EmptyDirVolumeSource `json:"emptyDir,omitempty"`

	// persistentVolumeClaim is one claim for the Pods of all members: a volume that several nodes may mount.
	// +optional
	PersistentVolumeClaim *corev1.PersistentVolumeClaimVolumeSource `json:"persistentVolumeClaim,omitempty"`

	// downwardAPI has files about the Pod.
	// +optional
	DownwardAPI *corev1.DownwardAPIVolumeSource `json:"downwardAPI,omitempty"`

	// csi has files by a driver, such as one for secrets that are kept elsewhere.
	// +optional
	CSI *corev1.CSIVolumeSource `json:"csi,omitempty"`
}

// HostAlias has names that a Pod finds at an address.
type HostAlias struct {
	// ip is the address.
	// +required
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=45
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,3}[.]){3}[0-9]{1,3}$|^[0-9a-fA-F]{0,4}(:[0-9a-fA-F]{0,4}){2,7}$') && !self.startsWith('127.') && self != '::1'",message="podTemplate.hostAliases must have an IP address, and not that of the Pod itself"
	IP string `json:"ip"`

	// hostnames are the names.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.all(name, name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$') && name != 'localhost' && !name.endsWith('.svc') && !name.contains('.svc.'))",message="podTemplate.hostAliases must have DNS names in lower case, and not localhost or names of Services (.svc): members find each other by those"
	Hostnames []string `json:"hostnames"`
}

// PodDNS is how a Pod looks names up, beyond what Kubernetes gives it.
type PodDNS struct {
	// searches are further search domains.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=253
	Searches []string `json:"searches,omitempty"`

	// options of the resolver, such as ndots.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Options []PodDNSOption `json:"options,omitempty"`
}

// PodDNSOption is an option of the resolver.
type PodDNSOption struct {
	// name of the option.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// value of the option, if it has one.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Value string `json:"value,omitempty"`
}
