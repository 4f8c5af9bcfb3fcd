// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package screen says what kubectl etcd shows of clusters and backups: first the facts, then their text.
//
// It must never do I/O: what it says follows from objects and from the time that it is given.
package screen

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Objects are what is known of one cluster.
type Objects struct {
	Cluster  v1beta1.EtcdCluster
	Pods     []corev1.Pod
	Volumes  []corev1.PersistentVolumeClaim
	Backups  []v1beta1.EtcdBackup
	Restores []v1beta1.EtcdRestore
	Unread   []string // what could not be read, and why
}

// Status is what kubectl etcd status shows of one cluster. Its JSON is what scripts read.
type Status struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Healthy is true while the cluster is Available and nothing is Degraded.
	Healthy       bool        `json:"healthy"`
	State         string      `json:"state"`
	Size          int         `json:"size"`
	ReadyMembers  int         `json:"readyMembers"`
	Version       string      `json:"version,omitempty"`
	TargetVersion string      `json:"targetVersion,omitempty"`
	Endpoint      string      `json:"endpoint,omitempty"`
	Profile       *Profile    `json:"profile,omitempty"`
	Revision      int64       `json:"revision,omitempty"`
	RevisionTime  *time.Time  `json:"revisionTime,omitempty"`
	Conditions    []Condition `json:"conditions"`
	Members       []Member    `json:"members"`
	SetAside      []Volume    `json:"setAside,omitempty"`
	Backups       []Backup    `json:"backups"`
	NextBackup    *time.Time  `json:"nextBackup,omitempty"`
	Next          []string    `json:"next"`
	Unread        []string    `json:"unread,omitempty"`
}

// Profile is what spec.profile sets, and what of the spec wins over it.
type Profile struct {
	Name       string   `json:"name"`
	Settings   []string `json:"settings,omitempty"`
	Overridden []string `json:"overridden,omitempty"`
}

// Condition is one of the cluster.
type Condition struct {
	Type    string    `json:"type"`
	Status  string    `json:"status"`
	Reason  string    `json:"reason"`
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since"`
}

// Member is one of the cluster, with its Pod and its volume, which have its name.
type Member struct {
	Name     string  `json:"name"`
	Role     string  `json:"role,omitempty"`
	Version  string  `json:"version,omitempty"`
	Healthy  bool    `json:"healthy"`
	Database string  `json:"database,omitempty"`
	Pod      string  `json:"pod,omitempty"`
	Restarts int32   `json:"restarts,omitempty"`
	Node     string  `json:"node,omitempty"`
	Volume   *Volume `json:"volume,omitempty"`
	Message  string  `json:"message,omitempty"`
}

// Volume is a PersistentVolumeClaim.
type Volume struct {
	Name       string     `json:"name"`
	Phase      string     `json:"phase,omitempty"`
	Capacity   string     `json:"capacity,omitempty"`
	SetAsideAt *time.Time `json:"setAsideAt,omitempty"`
}

// Of are the facts about a cluster.
func Of(o Objects) Status {
	c := &o.Cluster
	s := Status{
		Namespace: c.Namespace, Name: c.Name, Healthy: IsHealthy(c), State: stateOf(c), Size: c.Size(),
		ReadyMembers: int(c.Status.ReadyMembers), Version: c.Status.Version, TargetVersion: c.Status.TargetVersion,
		Endpoint: c.Status.Endpoint, Revision: c.Status.Revision, RevisionTime: timeOf(c.Status.RevisionTime),
		Conditions: []Condition{}, Members: members(o), SetAside: setAside(o.Volumes), Backups: []Backup{}, Unread: o.Unread,
	}
	for _, each := range conditionsOf(c) {
		s.Conditions = append(s.Conditions, Condition{
			Type: each.Type, Status: string(each.Status), Reason: each.Reason, Message: each.Message, Since: each.LastTransitionTime.UTC(),
		})
	}
	if p := c.Status.Profile; p != nil {
		s.Profile = &Profile{Name: string(p.Name), Settings: p.Settings, Overridden: p.Overridden}
	}
	for _, b := range Best(o.Backups) {
		s.Backups = append(s.Backups, BackupOf(&b))
	}
	if b := c.Status.Backup; b != nil {
		s.NextBackup = timeOf(b.Next)
	}
	s.Next = next(o)
	return s
}

// stateOf is one word for whether clients are served.
func stateOf(c *v1beta1.EtcdCluster) string {
	if available := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionAvailable); available != nil {
		return available.Reason
	}
	return "Unknown"
}

// conditionsOf are those of the cluster, and of its backups.
func conditionsOf(c *v1beta1.EtcdCluster) []metav1.Condition {
	if c.Status.Backup == nil {
		return c.Status.Conditions
	}
	return slices.Concat(c.Status.Conditions, c.Status.Backup.Conditions)
}

// IsHealthy says whether clients are served and nothing is wrong.
func IsHealthy(c *v1beta1.EtcdCluster) bool {
	return meta.IsStatusConditionTrue(c.Status.Conditions, v1beta1.ConditionAvailable) &&
		!meta.IsStatusConditionTrue(c.Status.Conditions, v1beta1.ConditionDegraded)
}

func members(o Objects) []Member {
	all := []Member{}
	for _, m := range o.Cluster.Status.Members {
		one := Member{Name: m.Name, Role: m.Role, Version: m.Version, Healthy: m.Healthy, Message: m.Message}
		if m.DBSize != nil {
			one.Database = m.DBSize.String()
		}
		for _, pod := range o.Pods {
			if pod.Name == m.Name {
				one.Pod, one.Restarts, one.Node = podState(pod), restarts(pod), pod.Spec.NodeName
			}
		}
		for _, volume := range o.Volumes {
			if volume.Labels[v1beta1.LabelMember] == m.Name && !isSetAside(volume) {
				one.Volume = ptr.To(volumeOf(volume))
			}
		}
		all = append(all, one)
	}
	return all
}

// podState is what kubectl get pods would say, in one word.
func podState(pod corev1.Pod) string {
	if pod.DeletionTimestamp != nil {
		return "Terminating"
	}
	for _, container := range pod.Status.ContainerStatuses {
		if waiting := container.State.Waiting; waiting != nil && waiting.Reason != "" {
			return waiting.Reason
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady && condition.Status != corev1.ConditionTrue && pod.Status.Phase == corev1.PodRunning {
			return "NotReady"
		}
	}
	return string(pod.Status.Phase)
}

func restarts(pod corev1.Pod) int32 {
	sum := int32(0)
	for _, container := range pod.Status.ContainerStatuses {
		sum += container.RestartCount
	}
	return sum
}

func isSetAside(volume corev1.PersistentVolumeClaim) bool {
	_, is := volume.Labels[v1beta1.LabelQuarantined]
	return is
}

func setAside(volumes []corev1.PersistentVolumeClaim) []Volume {
	var all []Volume
	for _, volume := range volumes {
		if isSetAside(volume) {
			all = append(all, volumeOf(volume))
		}
	}
	slices.SortFunc(all, func(a, b Volume) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func volumeOf(claim corev1.PersistentVolumeClaim) Volume {
	v := Volume{Name: claim.Name, Phase: string(claim.Status.Phase)}
	if capacity, has := claim.Status.Capacity[corev1.ResourceStorage]; has {
		v.Capacity = capacity.String()
	}
	if at, err := time.Parse(time.RFC3339, claim.Annotations[v1beta1.AnnotationQuarantinedAt]); err == nil {
		v.SetAsideAt = &at
	}
	return v
}

func timeOf(t *metav1.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return ptr.To(t.UTC())
}
