// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdSettings are settings of etcd itself. Changing one restarts the members
// one at a time.
//
// +kubebuilder:validation:XValidation:rule="!has(self.electionTimeout) || !has(self.heartbeatInterval) || duration(self.electionTimeout) >= duration(self.heartbeatInterval) + duration(self.heartbeatInterval) + duration(self.heartbeatInterval) + duration(self.heartbeatInterval) + duration(self.heartbeatInterval)",message="etcd.electionTimeout must be at least five times etcd.heartbeatInterval, else etcd refuses to start"
type EtcdSettings struct {
	// quota is the size at which a member's database raises the NOSPACE alarm.
	// Default: half of what the write-ahead log leaves of the volume, so that a database that is full can be defragmented: 358Mi of 1Gi,
	// 3699Mi of 8Gi, at most 8Gi (https://etcd.io/docs/v3.6/dev-guide/limit/#storage-size-limit). Of a cluster that was created by an
	// earlier release, with a backup or with kept volumes, and of ephemeral storage, it is three quarters of the volume, at most 8Gi.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('1Mi')) >= 0",message="etcd.quota must be at least 1Mi: etcd takes zero for its own default and less for no limit"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Database Quota",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=11
	Quota *resource.Quantity `json:"quota,omitempty"`

	// autoCompaction discards old revisions by itself.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Auto-compaction",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=12
	AutoCompaction AutoCompaction `json:"autoCompaction,omitzero"`

	// snapshotCount is the number of applied entries after which etcd writes a
	// raft snapshot. Default 10000; from 100 to 10000000.
	// +optional
	// +kubebuilder:default=10000
	// +kubebuilder:validation:XValidation:rule="self >= 100 && self <= 10000000",message="etcd.snapshotCount must be between 100 and 10000000"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Snapshot Count",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number","urn:alm:descriptor:com.tectonic.ui:advanced"},order=15
	SnapshotCount int64 `json:"snapshotCount,omitempty"`

	// heartbeatInterval is the time between a leader's heartbeats, in whole
	// milliseconds; about the round trip between members
	// (https://etcd.io/docs/v3.6/tuning/#time-parameters). Default 100ms; from 10ms to
	// 10s.
	// +optional
	// +kubebuilder:default="100ms"
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}h)?([0-9]{1,7}m)?([0-9]{1,9}([.][0-9]{1,3}0*)?s)?([0-9]{1,9}ms)?$') && self != ''",message="etcd.heartbeatInterval must be a duration in whole milliseconds, such as 100ms, because etcd counts in them"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10ms') && duration(self) <= duration('10s')",message="etcd.heartbeatInterval must be between 10ms and 10s"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Heartbeat Interval",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"},order=16
	HeartbeatInterval metav1.Duration `json:"heartbeatInterval,omitzero"`

	// electionTimeout is how long a follower waits for a heartbeat before it stands
	// for election, in whole milliseconds; five heartbeats at least, 50s at most.
	// Default 1s.
	// +optional
	// +kubebuilder:default="1s"
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}h)?([0-9]{1,7}m)?([0-9]{1,9}([.][0-9]{1,3}0*)?s)?([0-9]{1,9}ms)?$') && self != ''",message="etcd.electionTimeout must be a duration in whole milliseconds, such as 1s or 1500ms, because etcd counts in them"
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('50s')",message="etcd.electionTimeout must be at most 50s, etcd's own limit"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Election Timeout",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"},order=17
	ElectionTimeout metav1.Duration `json:"electionTimeout,omitzero"`

	// logLevel of etcd: debug, info, warn or error. Default info.
	// +optional
	// +kubebuilder:default=info
	// +kubebuilder:validation:Enum=debug;info;warn;error
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Log Level",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:debug","urn:alm:descriptor:com.tectonic.ui:select:info","urn:alm:descriptor:com.tectonic.ui:select:warn","urn:alm:descriptor:com.tectonic.ui:select:error","urn:alm:descriptor:com.tectonic.ui:advanced"},order=18
	LogLevel string `json:"logLevel,omitempty"`

	// extraArgs are further flags of etcd, without the leading dashes:
	// {max-request-bytes: "2097152"}. Flags that the operator sets itself, or that
	// would let a member leave its cluster or its data, are refused.
	// +optional
	// +kubebuilder:validation:MaxProperties=24
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^[a-z][-a-z0-9]{0,63}$'))",message="etcd.extraArgs must be named as etcd names its flags, without leading dashes: lower case letters, digits and '-'"
	// +kubebuilder:validation:XValidation:rule="self.all(key, self[key].size() <= 1024)",message="etcd.extraArgs must have values of at most 1024 characters"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !self[key].contains('\\n'))",message="etcd.extraArgs must have values without line breaks"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !(key in ['name', 'data-dir', 'wal-dir', 'config', 'config-file'] || key.startsWith('initial-') || key.startsWith('advertise-') || key.startsWith('discovery') || key.startsWith('cluster-')))",message="etcd.extraArgs must not set name, data-dir, wal-dir, config-file, initial-*, advertise-*, discovery* or cluster-*: they decide which cluster a member belongs to and where its data is, and the operator owns that"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !(key in ['enable-grpc-gateway'] || key.startsWith('listen-') || key.startsWith('proxy') || key.startsWith('socket-reuse-')))",message="etcd.extraArgs must not set listen-*, proxy*, socket-reuse-* or enable-grpc-gateway: the operator, its Services and the probes reach members where they expect them"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !(key in ['cert-file', 'key-file', 'trusted-ca-file', 'client-key-file', 'auto-tls', 'self-signed-cert-validity', 'tls-min-version', 'tls-max-version', 'cipher-suites', 'host-whitelist', 'auth-token'] || key.startsWith('client-c') || key.startsWith('peer-') || key.startsWith('experimental-peer-')))",message="etcd.extraArgs must not set a flag of TLS or of authentication (such as cert-file, client-cert-auth, peer-*, tls-min-version, cipher-suites, auth-token): the operator sets them, by spec.tls.mode and spec.auth, and there is no other choice"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !(key in ['force-new-cluster', 'force', 'unsafe-no-fsync', 'strict-reconfig-check', 'max-learners', 'pre-vote', 'v2-deprecation', 'enable-v2', 'enable-v2v3', 'experimental-enable-v2v3']))",message="etcd.extraArgs must not set force-new-cluster, force, unsafe-no-fsync, strict-reconfig-check, max-learners, pre-vote, v2-deprecation or enable-v2*: they put the data or the quorum at risk"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !(key in ['quota-backend-bytes', 'auto-compaction-mode', 'auto-compaction-retention', 'snapshot-count', 'heartbeat-interval', 'election-timeout', 'log-level']))",message="etcd.extraArgs must not repeat a setting that has a field of its own under spec.etcd (quota, autoCompaction, snapshotCount, heartbeatInterval, electionTimeout, logLevel)"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !(key in ['logger', 'log-format', 'log-outputs', 'enable-log-rotation', 'log-rotation-config-json', 'metrics', 'enable-pprof']))",message="etcd.extraArgs must not set logger, log-*, enable-log-rotation, metrics or enable-pprof: members log to their container's output and serve metrics without profiles"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !(key in ['version', 'help', 'h', 'vv', 'snapshot', 'retry-interval', 'max-retry-attempts', 'max-result-buffer']))",message="etcd.extraArgs must not set version, help or a flag of etcd's other commands (vv, snapshot, retry-interval, max-retry-attempts, max-result-buffer): etcd would exit instead of serve"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Extra Flags",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=19
	ExtraArgs map[string]string `json:"extraArgs,omitempty"`
}

// AutoCompaction discards old revisions.
//
// +kubebuilder:validation:XValidation:rule="!has(self.mode) || !has(self.retention) || self.mode != 'Periodic' || self.retention.matches('^([1-9][0-9]{0,5}(h|m|s)){1,3}$')",message="etcd.autoCompaction.retention must be a duration such as 1h, 90m or 1h30m when the mode is Periodic"
// +kubebuilder:validation:XValidation:rule="!has(self.mode) || !has(self.retention) || self.mode != 'Revision' || self.retention.matches('^[1-9][0-9]*$')",message="etcd.autoCompaction.retention must be a number of revisions such as 1000 when the mode is Revision"
type AutoCompaction struct {
	// mode is Periodic (keep a time), Revision (keep a number of revisions) or Off.
	// Default Periodic; Off with profile Kubernetes, unless retention is another than 1h.
	// +optional
	// +kubebuilder:default=Periodic
	// +kubebuilder:validation:Enum=Periodic;Revision;Off
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Auto-compaction Mode",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Periodic","urn:alm:descriptor:com.tectonic.ui:select:Revision","urn:alm:descriptor:com.tectonic.ui:select:Off","urn:alm:descriptor:com.tectonic.ui:advanced"},order=13
	Mode CompactionMode `json:"mode,omitempty"`

	// retention is how much history to keep: a duration or a number of revisions.
	// Default 1h, so that it must be set with mode Revision.
	// +optional
	// +kubebuilder:default="1h"
	// +kubebuilder:validation:MaxLength=16
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Auto-compaction Retention",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"},order=14
	Retention string `json:"retention,omitempty"`
}

// CompactionMode says what auto-compaction counts.
type CompactionMode string

const (
	// CompactPeriodic keeps the history of a time.
	CompactPeriodic CompactionMode = "Periodic"
	// CompactRevision keeps a number of revisions.
	CompactRevision CompactionMode = "Revision"
	// CompactOff keeps all history.
	CompactOff CompactionMode = "Off"
)
