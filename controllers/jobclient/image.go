// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jobclient

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
)

// OwnImage is the image that Jobs run: the operator's own, as its Pod says, or the one of a flag.
type OwnImage struct {
	Live  client.Reader    // reads the Pod
	Pod   client.ObjectKey // empty outside of Kubernetes
	Given string           // by a flag; empty: that of the Pod
	Asked jobs.Image       // what the administrator says about all Jobs

	mutex sync.Mutex
	found jobs.Image
}

// PullSecrets are Secrets as Pods name them. Those of the operator's own Pod are not taken: a Pod that names any gets none of its
// ServiceAccount, and on OpenShift each Pod has some, which no other namespace has.
func PullSecrets(names []string) []corev1.LocalObjectReference {
	var all []corev1.LocalObjectReference
	for _, name := range names {
		all = append(all, corev1.LocalObjectReference{Name: name})
	}
	return all
}

// container is the name of the operator's container in its Pod.
const container = "manager"

// Get reads the Pod once: its image never changes without another Pod. Why says what to do if it is not known.
func (o *OwnImage) Get(ctx context.Context) (image jobs.Image, why string) {
	if o.Given != "" {
		image = o.Asked
		image.Operator = o.Given
		return image, ""
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.found.Operator != "" {
		return o.found, ""
	}
	if o.Pod.Name == "" {
		return jobs.Image{}, "the operator runs outside of Kubernetes and does not know its image: start it with --task-image"
	}
	var pod corev1.Pod
	if err := o.Live.Get(ctx, o.Pod, &pod); err != nil {
		return jobs.Image{}, fmt.Sprintf("the operator cannot read its own Pod for its image (%v): allow it, or start it with --task-image", err)
	}
	for _, c := range pod.Spec.Containers {
		if c.Name == container {
			o.found = o.Asked
			o.found.Operator, o.found.PullPolicy = c.Image, c.ImagePullPolicy
			return o.found, ""
		}
	}
	return jobs.Image{}, "the operator's Pod has no container " + container + ": start it with --task-image"
}
