// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"path"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// pod is the Pod of a Job while it is built: what is mounted is mounted into each container of the operator's.
type pod struct {
	spec   corev1.PodSpec
	mounts []corev1.VolumeMount
	image  Image
}

// newPod has everything that a store needs.
func newPod(store v1beta1.EtcdBackupStoreSpec, image Image) *pod {
	account := store.ServiceAccountName
	if account == "" {
		account = v1beta1.BackupServiceAccount
	}
	p := &pod{image: image, spec: corev1.PodSpec{
		RestartPolicy:                corev1.RestartPolicyNever,
		ServiceAccountName:           account,
		AutomountServiceAccountToken: ptr.To(false), // workload identity mounts a token of its own
		EnableServiceLinks:           ptr.To(false),
		ImagePullSecrets:             image.PullSecrets,
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot:        ptr.To(true),
			RunAsUser:           ptr.To[int64](nonroot),
			RunAsGroup:          ptr.To[int64](nonroot),
			FSGroup:             ptr.To[int64](nonroot),
			FSGroupChangePolicy: ptr.To(corev1.FSGroupChangeOnRootMismatch),
			SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}}
	credentials, ca := store.CredentialsAndCA()
	if credentials != nil {
		p.secret("keys", jobspec.KeysFolder, credentials.Secret)
	}
	if ca != nil {
		p.mount("ca", jobspec.CAFolder, authorities(*ca))
	}
	if store.Volume != nil {
		p.mount("backups", jobspec.VolumeFolder, corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: store.Volume.Claim},
		})
	}
	return p
}

func authorities(ca v1beta1.CASource) corev1.VolumeSource {
	items := []corev1.KeyToPath{{Key: ca.KeyName(), Path: ca.KeyName()}}
	if ca.Secret != "" {
		return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: ca.Secret, Items: items}}
	}
	return corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: ca.ConfigMap}, Items: items,
	}}
}

func (p *pod) mount(name, folder string, source corev1.VolumeSource) {
	readOnly := source.Secret != nil || source.ConfigMap != nil
	p.spec.Volumes = append(p.spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	p.mounts = append(p.mounts, corev1.VolumeMount{Name: name, MountPath: folder, ReadOnly: readOnly})
}

func (p *pod) secret(name, folder, secret string) {
	p.mount(name, folder, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret, DefaultMode: ptr.To[int32](0o440)}})
}

// client is who the members know. With authentication etcd sends snapshots to root only.
func (p *pod) client(cluster *v1beta1.EtcdCluster) {
	switch {
	case cluster.HasRootSecret():
		p.secret("client", jobspec.ClientFolder, cluster.RootSecret())
	case cluster.IsSecure():
		p.secret("client", jobspec.ClientFolder, cluster.ClientSecret())
	}
}

func (p *pod) identities(wanted bool, secret *v1beta1.SecretReference) {
	if wanted && secret != nil {
		p.secret("identities", jobspec.IdentitiesFolder, secret.Secret)
	}
}

// smallScratch is up to what size a trial uses a folder of the node; a larger one has a volume for as long as it lasts.
var smallScratch = resource.MustParse("1Gi")

func (p *pod) scratch(size resource.Quantity) {
	if size.Cmp(smallScratch) <= 0 {
		p.mount("scratch", jobspec.ScratchFolder, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &size}})
		return
	}
	p.mount("scratch", jobspec.ScratchFolder, corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
		VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
		}},
	}})
}

// run makes a container of the operator's the one by which the Job ends.
func (p *pod) run(name string, order jobspec.Order) {
	p.spec.Containers = []corev1.Container{p.container(name, order)}
}

// least is what a container requests. Members have priority for processor time: the kernel weighs containers by what
// they request (https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/), and no weight is lower.
func least() corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m"), corev1.ResourceMemory: resource.MustParse("64Mi")}
}

// most is what a container may have. A namespace whose quota counts limits takes no Pod with a container that has none. What they do
// together keeps two processors busy.
func most(memory resource.Quantity) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: memory}
}

// container is one of the operator's.
func (p *pod) container(name string, order jobspec.Order) corev1.Container {
	order.Allowed = p.image.Endpoints
	return corev1.Container{
		Name:            name,
		Image:           p.image.Operator,
		ImagePullPolicy: p.image.PullPolicy,
		Args:            []string{"task", order.Encode()},
		Env:             p.image.Proxy,
		VolumeMounts:    p.mounts,
		Resources: corev1.ResourceRequirements{
			Requests: least(),
			Limits:   most(streaming),
		},
		SecurityContext:          restricted(),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

// streaming is the limit of memory of what passes a database on.
var streaming = resource.MustParse("192Mi")

// logging is the limit of memory of what keeps a log. Beside the program it has three segments at most, one of them being compressed, and
// what a member has sent.
func logging(segment int) resource.Quantity {
	const usual, larger = 96 << 20, 4
	return *resource.NewQuantity(usual+larger*max(int64(segment)-(8<<20), 0), resource.BinarySI)
}

// searching is the limit of memory of what looks for a target: it has the names of all segments, and the headers of those since a full
// backup. Of the 86,400 that a busy log has in a day these were 137 MiB at most, which is too much for streaming.
var searching = resource.MustParse("1Gi")

// mapping raises the limit of a trial, which reads all of a database in the order of its keys. The kernel counts the pages of the
// file that it keeps as the container's. Below the size of the database it would read them from the disk again and again: 51 s
// instead of 2.4 s for 1 GiB (test/bench/notes.md). What is not the file's takes as much memory as ever.
func mapping(c *corev1.Container, database resource.Quantity) {
	limit := resource.MustParse("512Mi")
	limit.Add(database)
	c.Resources.Limits = most(limit)
}

// mostKept is the highest limit of memory of a restore, whatever the size of the database, unless members may have more.
var mostKept = resource.MustParse("1Gi")

// mostOf is the highest limit of memory of a restore of that cluster: a namespace that takes its members takes a Job with their limit, in
// their place. In place they run on beside it, and a quota may have no room for both. What replays a log gets more on top.
func mostOf(ec *v1beta1.EtcdCluster, replays bool) resource.Quantity {
	limit := ec.MemberResources().Limits[corev1.ResourceMemory]
	if replays || ec.IsRestoring() || limit.Cmp(mostKept) < 0 {
		return mostKept.DeepCopy()
	}
	return limit.DeepCopy()
}

// keeping raises the limit of a restore, which itself needs no more than a backup. The kernel counts the pages of the file that it keeps
// as the container's: etcd reads all of them when it starts, a moment later, and each that is not kept from the disk. Of 1 GiB it serves
// after 2.4 to 3.1 s so, and after 5.0 to 7.8 s otherwise (test/bench/notes.md).
func keeping(c *corev1.Container, database, highest resource.Quantity) {
	limit := streaming.DeepCopy()
	limit.Add(database)
	if limit.Cmp(highest) > 0 {
		limit = highest
	}
	c.Resources.Limits = most(limit)
}

// replaying raises the limit of a restore that replays a log: a segment of it and what is written of that at once, and the keys whose hash
// is computed.
func replaying(c *corev1.Container) {
	limit := c.Resources.Limits.Memory().DeepCopy()
	limit.Add(resource.MustParse("320Mi"))
	c.Resources.Limits = most(limit)
}

// trial is the etcd of a trial. It ends with the container that asks it, and nothing else can reach it. What it writes is thrown
// away: it need not be synced.
func trial(image string, database resource.Quantity) corev1.Container {
	memory := resource.MustParse("1Gi") // of etcd itself, which keeps an index of all keys; the pages of the file come besides
	memory.Add(database)
	return corev1.Container{
		Name:          "etcd",
		Image:         image,
		RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways),
		Command:       []string{"/usr/local/bin/etcd"},
		Args: []string{
			"--name=" + jobspec.TrialMember, "--data-dir=" + path.Join(jobspec.ScratchFolder, jobspec.ScratchData),
			"--listen-client-urls=" + jobspec.TrialEndpoint, "--advertise-client-urls=" + jobspec.TrialEndpoint,
			"--listen-peer-urls=" + jobspec.TrialPeerURL, "--initial-advertise-peer-urls=" + jobspec.TrialPeerURL,
			"--initial-cluster=" + jobspec.TrialMember + "=" + jobspec.TrialPeerURL,
			"--quota-backend-bytes=17179869184", "--unsafe-no-fsync=true", "--log-level=warn",
		},
		VolumeMounts:    []corev1.VolumeMount{{Name: "scratch", MountPath: jobspec.ScratchFolder}},
		SecurityContext: restricted(),
		Resources: corev1.ResourceRequirements{
			Requests: least(),
			Limits:   most(memory),
		},
	}
}

func restricted() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false),
		ReadOnlyRootFilesystem:   ptr.To(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// job ends with its first Pod: whether there is another attempt is decided elsewhere.
func (p *pod) job(namespace, name string, owner metav1.OwnerReference, labels map[string]string) *batchv1.Job {
	return &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels, OwnerReferences: []metav1.OwnerReference{owner}},
		Spec: batchv1.JobSpec{
			BackoffLimit:          ptr.To[int32](0),
			ActiveDeadlineSeconds: ptr.To(int64(longest.Seconds())),
			PodReplacementPolicy:  ptr.To(batchv1.Failed),
			Template:              corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: p.spec},
		},
	}
}
