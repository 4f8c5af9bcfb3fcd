// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// OnPrefix compares or changes the keys below a prefix of a cluster that serves, for an EtcdRestore. The scratch has the database of a full
// backup.
func OnPrefix(
	by *v1beta1.EtcdRestore, ec *v1beta1.EtcdCluster, store *v1beta1.EtcdBackupStore, order jobspec.Order, scratch resource.Quantity,
	image Image,
) *batchv1.Job {
	p := newPod(store.Spec, image.Of(ec))
	p.client(ec)
	p.identities(by.Spec.Decryption != nil, by.Spec.Decryption)
	p.scratch(scratch)
	p.run(Container(order.Verb), order)
	limit := searching.DeepCopy()
	if order.Verb == jobspec.Revert {
		limit.Add(searching) // it has two states in memory, one after the other on the scratch
	}
	limit.Add(scratch) // the pages of the file count as the container's (mapping)
	p.spec.Containers[0].Resources.Limits = most(limit)
	labels := labelsOf(order.Verb, store.Name, LabelRestores, ec.Name)
	return p.job(by.Namespace, OnPrefixName(by, order.Verb), owner(by, "EtcdRestore"), labels)
}

// OnPrefixName is the name of that Job. An EtcdRestore has a name of 56 characters at most, and a Job, which is a label of its Pods, of 63.
func OnPrefixName(by metav1.Object, verb jobspec.Verb) string {
	if verb == jobspec.Compare {
		return by.GetName() + "-diff"
	}
	return by.GetName() + "-" + string(verb)
}
