// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Continuous has every change written to the store after a full backup: a log, by which the cluster can be restored to any second. It
// needs etcd 3.5.18, or 3.6.2, or newer: the watches of earlier releases may leave something out.
type Continuous struct {
	// flush is how long a change waits at most before it is written to the store: 100ms to 1h. What waits is not in the store yet, and each
	// write is one object: a cluster that is written to all the time makes 86,400 objects a day with 1s. One that is idle makes none.
	// Default 1s.
	// +optional
	// +kubebuilder:default="1s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('100ms') && duration(self) <= duration('1h')",message="backup.continuous.flush must be from 100ms to 1h"
	Flush metav1.Duration `json:"flush,omitzero"`

	// segmentSize is how many bytes of changes are written at once, although it is not yet time to flush: 64Ki to 15Mi. Default 8Mi.
	// +optional
	// +kubebuilder:default="8Mi"
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('64Ki')) >= 0 && quantity(string(self)).compareTo(quantity('15Mi')) <= 0",message="backup.continuous.segmentSize must be from 64Ki to 15Mi"
	SegmentSize resource.Quantity `json:"segmentSize,omitzero"`
}

// LogStatus is how far the log of a cluster is, and what the cluster can be restored to.
type LogStatus struct {
	// conditions is LogCurrent: True while every change is in the store a moment after it was made.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// from is the oldest full backup that is kept and from which the log leads to until, without a gap.
	// +optional
	From *BackupPoint `json:"from,omitempty"`

	// until is up to where the log has every change. It is written when something else changes, and else every 30 seconds.
	// +optional
	Until *LogPoint `json:"until,omitempty"`

	// gaps are what no log has, the newest first: the last 10. The cluster can be restored to what was before a gap, and to what is after
	// the full backup that ends it.
	// +optional
	// +listType=atomic
	Gaps []LogGap `json:"gaps,omitempty"`

	// lineage names the history that is logged: etcd's cluster ID, and how often the cluster has had another history under this ID. In
	// the store it is the name of the log's folder.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Lineage string `json:"lineage,omitempty"`

	// forks is how often the log was begun again under another lineage because what it had could not be continued.
	// +optional
	Forks int64 `json:"forks,omitempty"`

	// base is the full backup after which the log has begun, the last time.
	// +optional
	Base *BackupPoint `json:"base,omitempty"`

	// since is when the log was last interrupted, or another lineage began: only a full backup that was requested later can be its base.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// fullBackup is the name of the EtcdBackup that the log waits for, to begin after it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	FullBackup string `json:"fullBackup,omitempty"`

	// fullBackups is how many full backups were requested for the log; the number is in their names.
	// +optional
	FullBackups int64 `json:"fullBackups,omitempty"`

	// recorded is the UID of the last Job that has ended and whose end this status is about.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Recorded string `json:"recorded,omitempty"`

	// failures is how often in a row the log could not be continued.
	// +optional
	Failures int32 `json:"failures,omitempty"`

	// failure is why, the last time.
	// +optional
	Failure string `json:"failure,omitempty"`

	// retryAt is when it is tried again.
	// +optional
	RetryAt *metav1.Time `json:"retryAt,omitempty"`

	// movedAt is when the operator has last seen until move, by its own clock.
	// +optional
	MovedAt *metav1.Time `json:"movedAt,omitempty"`
}

// LogPoint is a place in the history of a cluster.
type LogPoint struct {
	// time until which everything that came is meant, by the clock of the node on which the log is written.
	Time metav1.Time `json:"time"`

	// revision of etcd's data.
	Revision int64 `json:"revision"`
}

// LogGap is what no log has.
type LogGap struct {
	// after is the last that the log had.
	After LogPoint `json:"after"`

	// before is the full backup after which the log goes on; missing while it is being made.
	// +optional
	Before *BackupPoint `json:"before,omitempty"`

	// because says why.
	// +optional
	Because string `json:"because,omitempty"`
}

// KeepsLog says whether every change is to be logged.
func (c *EtcdCluster) KeepsLog() bool { return c.Spec.Backup != nil && c.Spec.Backup.Continuous != nil }
