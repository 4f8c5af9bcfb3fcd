// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// growsWithin is how long the storage may take to make a volume larger: drivers take seconds to minutes, and try again meanwhile.
const growsWithin = 10 * time.Minute

// growAgain is how long a volume is left alone after Kubernetes has refused to let it
// grow: its storage class or the quota that forbids it may have changed by then.
const growAgain = time.Hour

// misfits notes what of a volume is not as wanted, and what Kubernetes refuses.
func (j *builder) misfits(claim *corev1.PersistentVolumeClaim) {
	for _, part := range []cluster.Part{cluster.Owner, cluster.Labels, cluster.Mark, cluster.Size} {
		object := cluster.Object{Kind: "PersistentVolumeClaim", Name: claim.Name, Part: part, Why: volumeDrift(j.c, claim, part)}
		if part == cluster.Owner && j.v.Adoption.Keeps && metav1.GetControllerOf(claim) == nil {
			continue // a source may run on it yet: it does not go with the EtcdCluster
		}
		words := j.refusal(claim)
		switch late := j.late(claim); {
		case part == cluster.Size && object.Why == "" && late != "":
			object.Why = late
			j.v.Refused = append(j.v.Refused, object)
		case object.Why == "":
		case part == cluster.Size && words != "":
			object.Why += ", and " + words
			j.v.Refused = append(j.v.Refused, object)
		default:
			j.v.Misfits = append(j.v.Misfits, object)
		}
	}
}

// unwritten notes the volumes that do not say what their members have just said to run, or by which mode of TLS they are found. One
// whose image was just exchanged still runs the one from before.
func (j *builder) unwritten() {
	for _, volume := range j.v.Volumes {
		m := j.member(volume.Name)
		runsOther := m.Version != volume.Version || m.Choice() != volume.Image
		if m.Answers && !m.Pod.Settling && (runsOther || volume.TLSMode != "" && volume.TLSMode != j.c.TLSMode()) {
			j.v.Misfits = append(j.v.Misfits, cluster.Object{
				Kind: "PersistentVolumeClaim", Name: m.Name, Part: cluster.Version,
				Why: "its member runs " + m.Version + ", and is found by tls.mode " + j.c.TLSMode(),
			})
		}
	}
}

// volumeDrift says why a part of a volume is not as wanted; empty if it is. One that is not
// bound to a disk yet cannot grow.
func volumeDrift(c *v1beta1.EtcdCluster, claim *corev1.PersistentVolumeClaim, part cluster.Part) string {
	aside := isQuarantined(claim)
	size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	want := c.VolumeSize()
	switch {
	case part == cluster.Owner && (metav1.GetControllerOf(claim) != nil) != c.GoesWithVolumes():
		return "the deletion policy has changed"
	case part == cluster.Labels && claim.Labels[specs.InstanceLabel] == c.Name:
		return "tools that go by the label " + specs.InstanceLabel + " may delete it"
	case part == cluster.Mark && aside && claim.Annotations[v1beta1.AnnotationQuarantinedAt] == "":
		return "it does not say since when it is set aside"
	case part == cluster.Size && !aside && claim.Status.Phase != corev1.ClaimPending && size.Cmp(want) < 0:
		return fmt.Sprintf("it has %s, %s is wanted", size.String(), want.String())
	default:
		return ""
	}
}

// refusal is what Kubernetes said when the volume was to grow to the size that is
// wanted now, if that was not long ago.
func (j *builder) refusal(claim *corev1.PersistentVolumeClaim) string {
	note := strings.SplitN(claim.Annotations[v1beta1.AnnotationGrowthRefused], " ", 3)
	if len(note) < 3 {
		return ""
	}
	asked, unreadable := resource.ParseQuantity(note[0])
	since, err := time.Parse(time.RFC3339, note[1])
	if unreadable != nil || err != nil || asked.Cmp(j.c.VolumeSize()) != 0 || !j.isRecent(since, growAgain) {
		return ""
	}
	const next = "; allow it there, the operator tries once an hour"
	if class := claim.Spec.StorageClassName; class != nil {
		return fmt.Sprintf("with storage class %q Kubernetes refuses it: %s", *class, note[2]) + next
	}
	return "Kubernetes refuses it: " + note[2] + next
}

// late says what is known of a volume that has not got what it was asked to grow to, and is wanted, in time; empty if it has.
func (j *builder) late(claim *corev1.PersistentVolumeClaim) string {
	asked, has := claim.Spec.Resources.Requests[corev1.ResourceStorage], claim.Status.Capacity[corev1.ResourceStorage]
	since, _ := time.Parse(time.RFC3339, claim.Annotations[v1beta1.AnnotationGrowthAsked])
	if isQuarantined(claim) || has.IsZero() || has.Cmp(asked) >= 0 || has.Cmp(j.c.VolumeSize()) >= 0 || j.isRecent(since, growsWithin) {
		return ""
	}
	return fmt.Sprintf("it has %s, %s was asked for, and its claim says %s; see its events and what its storage driver says", has.String(),
		asked.String(), cmp.Or(resizeOf(claim), "nothing of it"))
}

// resizeOf is what a claim says of its resize; empty if it says nothing.
func resizeOf(claim *corev1.PersistentVolumeClaim) string {
	var all []string
	if state := claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage]; state != "" {
		all = append(all, string(state))
	}
	for _, c := range claim.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			all = append(all, strings.TrimSuffix(string(c.Type)+": "+c.Message, ": "))
		}
	}
	return strings.Join(all, ", ")
}
