// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package facts says what a snapshot of a cluster means: it turns what Kubernetes and etcd said,
// and what the process remembers, into a view that the plan can decide on.
//
// It is pure. It must never read anything by itself, and never choose a step. Every duration, rule
// of versions and advice that an observation rests on is here; observe only asks.
package facts

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/limits"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// Snapshot is what Kubernetes and etcd said of one cluster at one moment, as they said it. What was
// not asked for is nil. Objects are read only: some are the cache's own.
type Snapshot struct {
	Cluster *v1beta1.EtcdCluster
	Now     time.Time
	Ahead   time.Duration // by which the clock of this machine is ahead of the API server's
	Behind  time.Duration // by which it is behind
	Resizes specs.Resizes // what of the resources of running Pods this Kubernetes changes

	Operator string        // namespace of the operator's own Pods; empty if it runs outside of Kubernetes
	Domain   string        // of the Kubernetes cluster; empty if none is known
	Limits   limits.Limits // of what the cluster may ask for

	Pods    []corev1.Pod                   // with the cluster's label, as a list has them
	Volumes []corev1.PersistentVolumeClaim // as Pods; before the first members are decided on, all of the namespace
	Named   map[string]Named               // what the API server itself says of members that are in doubt, by name

	Awaited *v1beta1.EtcdBackup // that the status says something waits for; nil: there is none

	Backups   []v1beta1.EtcdBackup // of the namespace, while quorum may be lost for good
	BackingUp string               // EtcdBackup of the cluster that is being written, if a member may be defragmented
	Accepted  *v1beta1.EtcdRestore // that is made if the loss was accepted by the name of a backup; nil: there is none

	AskedAt   time.Time      // when members were asked, by this machine's clock
	Answers   []*Answer      // of the members that were asked
	LocalList []etcd.Member  // the list of one member, not read with quorum
	List      []etcd.Member  // the list of a member that had just answered a linearizable read
	Hashes    []cluster.Hash // that earlier looks have read for a comparison that goes on

	SourceURLs     []string                   // at which members of a cluster that is adopted were asked
	SourceServices map[string]*corev1.Service // that an adoption names, by name
	Workload       *appsv1.StatefulSet        // the StatefulSet that an adoption names; nil: none

	WorkloadForbidden bool // the operator may not read that StatefulSet

	// Of an adoption that keeps volumes: the Pods of that StatefulSet, and the claims with the names that members of ours have, by name.
	SourcePods   map[string]*corev1.Pod
	SourceClaims map[string]*corev1.PersistentVolumeClaim

	Nodes map[string]*corev1.Node             // of the Pods that have one, by name
	Disks map[string]*corev1.PersistentVolume // of members whose Pods have waited too long for a node, by member
	Hosts map[string][]corev1.Node            // that have the hostnames which those disks are bound to, by hostname

	Asleep          bool                       // Nodes and what is below were not read, because the cluster hibernates
	Secrets         map[string]*corev1.Secret  // by name
	ExternalSecrets map[string]*corev1.Secret  // that external certificates are taken from, by name
	Services        map[string]*corev1.Service // by name
	Probes          []certs.TLSProbe           // of members that run, while an authority is rotated or a certificate revoked
	Users           []*corev1.Secret           // of EtcdUsers of the cluster, if the next pass of either waits for nothing else
	Budget          *policyv1.PodDisruptionBudget
	Policy          *networkingv1.NetworkPolicy

	Certificates  map[string]*unstructured.Unstructured // of cert-manager, if they are asked for, by name
	NoCertManager string                                // why none can be read; empty if they can

	Monitors   map[string]*unstructured.Unstructured // of the Prometheus Operator, if the cluster may have some, by kind
	NoMonitors string                                // why they cannot be read; empty if they can

	Route   *unstructured.Unstructured // the TLSRoute, if the cluster may have one; nil: there is none
	NoRoute string                     // why it cannot be read; empty if it can
}

// Named is what the API server said of the Pod and the volume of one member.
type Named struct {
	AskedPod bool
	Pod      *corev1.Pod                   // nil if there is none
	Volume   *corev1.PersistentVolumeClaim // nil if there is none, or it was not asked for
}

// An Answer is what one member said.
type Answer struct {
	Member  string // of a source its URL
	Source  bool   // it is of the cluster that is adopted, or ours by a Service
	Status  etcd.Status
	Err     error        // of the status; nil if it answered
	Remains etcd.Remains // what it reports on its port for metrics, if it serves no client

	WasRead  bool         // it was asked for a linearizable read
	Read     error        // of that; nil when it succeeded
	Revision int64        // as of that read; 0 if etcd does not report it
	Again    *etcd.Status // after that read, of a member that followed another leader than the others; nil if it was not asked

	Timings *etcd.Timings // nil if they were not asked for, or not reported

	Hash *cluster.Hash // up to the revision that all have; nil if it was not asked

	GoesDown    bool  // a downgrade goes on, as reported by a member of etcd 3.5 that was asked
	GoesDownErr error // why that one did not say whether it does
}
