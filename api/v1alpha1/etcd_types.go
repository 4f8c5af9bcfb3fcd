package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdSettings are settings of etcd itself. Changing one restarts the members
// one at a time.
//
// +kubebuilder:validation:XValidation:rule="duration(self.electionTimeout) >= duration(self.heartbeatInterval) + duration(self.heartbeatInterval) + duration(self.heartbeatInterval) + duration(self.heartbeatInterval) + duration(self.heartbeatInterval)",message="etcd.electionTimeout must be at least five times etcd.heartbeatInterval, else etcd refuses to start"
type EtcdSettings struct {
	// quota is the size at which a member's database raises the NOSPACE alarm.
	// Default: three quarters of the volume, at most 8Gi, which leaves room for the
	// write-ahead log and snapshots
	// (https://etcd.io/docs/v3.6/dev-guide/limit/#storage-size-limit).
	// +optional
	Quota *resource.Quantity `json:"quota,omitempty"`

	// autoCompaction discards old revisions by itself.
	// +optional
	// +kubebuilder:default={}
	AutoCompaction AutoCompaction `json:"autoCompaction,omitzero"`

	// snapshotCount is the number of applied entries after which etcd writes a
	// raft snapshot.
	// +optional
	// +kubebuilder:default=10000
	// +kubebuilder:validation:XValidation:rule="self >= 100 && self <= 10000000",message="etcd.snapshotCount must be between 100 and 10000000"
	SnapshotCount int64 `json:"snapshotCount,omitempty"`

	// heartbeatInterval is the time between a leader's heartbeats, in whole
	// milliseconds; about the round trip between members
	// (https://etcd.io/docs/v3.6/tuning/#time-parameters).
	// +optional
	// +kubebuilder:default="100ms"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10ms') && duration(self) <= duration('10s')",message="etcd.heartbeatInterval must be between 10ms and 10s"
	HeartbeatInterval metav1.Duration `json:"heartbeatInterval,omitzero"`

	// electionTimeout is how long a follower waits for a heartbeat before it stands
	// for election, in whole milliseconds; five heartbeats at least, 50s at most.
	// +optional
	// +kubebuilder:default="1s"
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('50s')",message="etcd.electionTimeout must be at most 50s, etcd's own limit"
	ElectionTimeout metav1.Duration `json:"electionTimeout,omitzero"`

	// logLevel of etcd.
	// +optional
	// +kubebuilder:default=info
	// +kubebuilder:validation:Enum=debug;info;warn;error
	LogLevel string `json:"logLevel,omitempty"`

	// extraArgs are further flags of etcd, without the leading dashes:
	// {max-request-bytes: "2097152"}. Flags that the operator sets itself, or that
	// would let a member leave its cluster or its data, are refused.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^[a-z][-a-z0-9]{0,63}$'))",message="etcd.extraArgs must be named as etcd names its flags, without leading dashes: lower case letters, digits and '-'"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !(key in ['name', 'data-dir', 'wal-dir', 'config-file', 'force-new-cluster', 'unsafe-no-fsync', 'strict-reconfig-check', 'v2-deprecation', 'enable-v2', 'enable-v2v3']))",message="etcd.extraArgs must not set a flag that decides where a member's data is or which cluster it belongs to: the operator owns it"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !['initial-', 'listen-', 'advertise-', 'discovery', 'proxy', 'gateway'].exists(prefix, key.startsWith(prefix)))",message="etcd.extraArgs must not set initial-*, listen-*, advertise-*, discovery*, proxy* or gateway* flags: the operator owns them"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !(key in ['cert-file', 'key-file', 'trusted-ca-file', 'client-cert-auth', 'client-cert-file', 'client-key-file', 'client-crl-file', 'client-cert-allowed-hostname', 'auto-tls', 'self-signed-cert-validity', 'host-whitelist', 'tls-min-version', 'tls-max-version'] || key.startsWith('peer-') || key.startsWith('experimental-peer-')))",message="etcd.extraArgs must not set TLS flags: use spec.tls"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !(key in ['quota-backend-bytes', 'auto-compaction-mode', 'auto-compaction-retention', 'snapshot-count', 'heartbeat-interval', 'election-timeout', 'log-level']))",message="etcd.extraArgs must not repeat a setting that has a field of its own under spec.etcd (quota, autoCompaction, snapshotCount, heartbeatInterval, electionTimeout, logLevel)"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !(key in ['logger', 'log-outputs', 'enable-log-rotation', 'log-rotation-config-json', 'log-format', 'metrics', 'enable-pprof', 'version', 'help']))",message="etcd.extraArgs must not set logging, metrics or profiling flags, nor version and help: the operator owns them"
	ExtraArgs map[string]string `json:"extraArgs,omitempty"`
}

// AutoCompaction discards old revisions.
//
// +kubebuilder:validation:XValidation:rule="self.mode != 'Periodic' || self.retention.matches('^[0-9]+(h|m|s)$')",message="etcd.autoCompaction.retention must be a duration such as 1h when the mode is Periodic"
// +kubebuilder:validation:XValidation:rule="self.mode != 'Revision' || self.retention.matches('^[0-9]+$')",message="etcd.autoCompaction.retention must be a number of revisions such as 1000 when the mode is Revision"
type AutoCompaction struct {
	// mode is Periodic (keep a time), Revision (keep a number of revisions) or Off.
	// +optional
	// +kubebuilder:default=Periodic
	// +kubebuilder:validation:Enum=Periodic;Revision;Off
	Mode CompactionMode `json:"mode,omitempty"`

	// retention is how much history to keep: a duration or a number of revisions.
	// +optional
	// +kubebuilder:default="1h"
	// +kubebuilder:validation:MaxLength=16
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
