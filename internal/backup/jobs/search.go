// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"encoding/json"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// Search looks through the log of a cluster for the user who creates it, and ends after that time at the latest; 0: after a day.
func Search(
	ec *v1beta1.EtcdCluster, store *v1beta1.EtcdBackupStore, order jobspec.Order, decryption *v1beta1.SecretReference, lasts time.Duration,
	image Image,
) *batchv1.Job {
	p := newPod(store.Spec, image.Of(ec))
	p.identities(order.Search.Identities, decryption)
	p.run(Container(jobspec.Search), order)
	p.spec.Containers[0].Resources.Limits = most(searching)
	return p.asked(ec, store, jobspec.Search, lasts)
}

// StateOf reads the keys of a cluster as they were, for the user who creates it. The scratch is as large as the database of a full backup.
func StateOf(
	ec *v1beta1.EtcdCluster, store *v1beta1.EtcdBackupStore, order jobspec.Order, decryption *v1beta1.SecretReference, lasts time.Duration,
	scratch resource.Quantity, image Image,
) *batchv1.Job {
	p := newPod(store.Spec, image.Of(ec))
	p.identities(order.State.Target.Identities, decryption)
	p.scratch(scratch)
	p.run(Container(jobspec.State), order)
	limit := searching.DeepCopy()
	limit.Add(scratch) // the pages of the file count as the container's (mapping)
	p.spec.Containers[0].Resources.Limits = most(limit)
	return p.asked(ec, store, jobspec.State, lasts)
}

// askedTTL is for how long a Job stays whose user could not delete it.
const askedTTL = 5 * time.Minute

// asked is a Job that a user creates. It goes with its cluster, and nothing waits for it: a user may not be allowed to block a deletion,
// and the operator must not take the Job for its own.
func (p *pod) asked(ec *v1beta1.EtcdCluster, store *v1beta1.EtcdBackupStore, verb jobspec.Verb, lasts time.Duration) *batchv1.Job {
	by := owner(ec, "EtcdCluster")
	by.Controller, by.BlockOwnerDeletion = nil, nil
	job := p.job(ec.Namespace, "", by, labelsOf(verb, store.Name, LabelRestores, ec.Name))
	job.GenerateName = ec.Name + "-" + string(verb) + "-"
	job.Spec.TTLSecondsAfterFinished = ptr.To(int32(askedTTL / time.Second))
	if lasts > 0 {
		job.Spec.ActiveDeadlineSeconds = ptr.To(int64(lasts / time.Second))
	}
	return job
}

// proxyVariables are those of Image.Proxy.
var proxyVariables = []string{"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"}

// ImageOf is the image of a Pod that an operator has made for a Job, and what that operator says about all Jobs; not ok if it has made
// none. What others have put into the Pod is left out.
func ImageOf(spec corev1.PodSpec) (image Image, ok bool) {
	i := slices.IndexFunc(spec.Containers, func(c corev1.Container) bool { return len(c.Args) == 2 && c.Args[0] == "task" })
	if i < 0 {
		return Image{}, false
	}
	c := spec.Containers[i]
	image = Image{Operator: c.Image, PullPolicy: c.ImagePullPolicy, PullSecrets: spec.ImagePullSecrets, Endpoints: allowed(c)}
	for _, variable := range c.Env {
		if slices.Contains(proxyVariables, variable.Name) {
			image.Proxy = append(image.Proxy, variable)
		}
	}
	return image, true
}

// allowed are the endpoints that the order of a container names, which may be one of another version.
func allowed(c corev1.Container) []string {
	var order struct {
		Allowed []string `json:"allowed"`
	}
	if err := json.Unmarshal([]byte(c.Args[1]), &order); err != nil {
		return nil
	}
	return order.Allowed
}
