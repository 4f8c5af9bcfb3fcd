// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package diagnosis ranks what conditions and events say of a cluster, the worst first, and adds what to do and a command to run.
//
// It judges nothing by itself: what the operator concludes is in its conditions, and what is measured over time is for alerts.
// It must never do I/O: what it says follows from objects and from the time that it is given. What could not be read proves nothing.
package diagnosis

import (
	"cmp"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/plugin/screen"
)

// A Part is a kind of objects that is looked at, in the words of the text.
type Part string

// The parts.
const (
	Backups  Part = "EtcdBackups"
	Stores   Part = "EtcdBackupStores"
	Restores Part = "EtcdRestores"
	Events   Part = "Events"
	Lease    Part = "the Lease of the operator"
)

// Recent is how old an event may be to be of interest.
const Recent = time.Hour

// Facts are what was read about one cluster, at a time.
type Facts struct {
	Now     time.Time
	Cluster v1beta1.EtcdCluster
	// Backups, Stores, Restores and Events are all of its namespace.
	Backups  []v1beta1.EtcdBackup
	Stores   []v1beta1.EtcdBackupStore
	Restores []v1beta1.EtcdRestore
	Events   []corev1.Event
	// Lease is of the installation of the operator that status.operator names; nil if there is none.
	Lease *coordinationv1.Lease
	// Read are the parts that were read, in the order of reading, and Unread why the others were not.
	Read   []Part
	Unread []string
}

// knows says whether the part was read: only then what is not there is missing.
func (f Facts) knows(p Part) bool { return slices.Contains(f.Read, p) }

// backups are those of the cluster, the newest first.
func (f Facts) backups() []v1beta1.EtcdBackup {
	var all []v1beta1.EtcdBackup
	for _, b := range screen.Newest(f.Backups) {
		if screen.ClusterOf(&b) == f.Cluster.Name {
			all = append(all, b)
		}
	}
	return all
}

// warnings are the recent warnings about the cluster, its members, its volumes and its backups, the newest first, one for each object and
// reason.
func (f Facts) warnings() []corev1.Event {
	var all []corev1.Event
	for _, e := range f.Events {
		if e.Type == corev1.EventTypeWarning && f.Now.Sub(lastSeen(e)) <= Recent && f.isAbout(e.InvolvedObject) {
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b corev1.Event) int {
		return cmp.Or(lastSeen(b).Compare(lastSeen(a)), cmp.Compare(a.InvolvedObject.Name, b.InvolvedObject.Name))
	})
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(e corev1.Event) bool {
		key := e.InvolvedObject.Kind + "/" + e.InvolvedObject.Name + "/" + e.Reason
		was := seen[key]
		seen[key] = true
		return was
	})
}

func (f Facts) isAbout(o corev1.ObjectReference) bool {
	switch o.Kind {
	case "EtcdBackup":
		return slices.ContainsFunc(f.backups(), func(b v1beta1.EtcdBackup) bool { return b.Name == o.Name })
	case "EtcdRestore":
		return slices.ContainsFunc(f.Restores, func(r v1beta1.EtcdRestore) bool {
			return r.Name == o.Name && r.Spec.Cluster == f.Cluster.Name
		})
	case "EtcdCluster", "PodDisruptionBudget":
		return o.Name == f.Cluster.Name
	case "Pod", "PersistentVolumeClaim":
		return slices.ContainsFunc(f.Cluster.Status.Members, func(m v1beta1.MemberStatus) bool { return m.Name == o.Name })
	}
	return false
}

// lastSeen is when the event happened last: each of the two APIs for events has a time of its own.
func lastSeen(e corev1.Event) time.Time {
	last := e.LastTimestamp.Time
	if e.Series != nil && e.Series.LastObservedTime.After(last) {
		last = e.Series.LastObservedTime.Time
	}
	if e.EventTime.After(last) {
		last = e.EventTime.Time
	}
	return last
}

// Operator is the namespace and the name of the Lease of the installation that manages the cluster; empty if none says so.
func (f Facts) Operator() (namespace, lease string) {
	namespace, lease, _ = strings.Cut(f.Cluster.Status.Operator, "/")
	return namespace, lease
}
