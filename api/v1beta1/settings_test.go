// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package v1beta1_test

import (
	"fmt"
	"strings"
	"testing"
)

const (
	periodicRule = "spec.etcd.autoCompaction: Invalid value|etcd.autoCompaction.retention must be a duration|when the mode is Periodic"
	revisionRule = "spec.etcd.autoCompaction: Invalid value|etcd.autoCompaction.retention must be a number of|when the mode is Revision"
	electionRule = "spec.etcd: Invalid value|etcd.electionTimeout must be at least five times etcd.heartbeatInterval"
	wholeRule    = "must be a duration in whole milliseconds"
)

var etcdSettings = []refusal{
	{
		name: "election under five heartbeats", bad: "{etcd: {heartbeatInterval: 100ms, electionTimeout: 499ms}}",
		good: "{etcd: {heartbeatInterval: 100ms, electionTimeout: 500ms}}", says: electionRule,
	},
	{
		name: "heartbeat above a fifth of the default election", bad: "{etcd: {heartbeatInterval: 201ms}}",
		good: "{etcd: {heartbeatInterval: 200ms}}", says: electionRule,
	},
	{
		name: "autoscale without anything", bad: "{resources: {limits: {cpu: 1}}, autoscale: {max: {}}}",
		good: "{resources: {limits: {cpu: 1}}, autoscale: {max: {cpu: 2}}}", says: "spec.autoscale|autoscale.max needs cpu, memory or both",
	},
	{
		name: "autoscale of memory with nothing to begin with", bad: "{resources: {limits: {cpu: 1}}, autoscale: {max: {memory: 2Gi}}}",
		good: "{resources: {requests: {memory: 1Gi}}, autoscale: {max: {memory: 2Gi}}}",
		says: "autoscale.max.memory needs resources.limits.memory, or else resources.requests.memory, to begin with, and must not be below it",
	},
	{
		name: "autoscale of a processor below its limit",
		bad:  "{resources: {requests: {cpu: 100m}, limits: {cpu: 2}}, autoscale: {max: {cpu: 1900m}}}",
		good: "{resources: {requests: {cpu: 100m}, limits: {cpu: 2}}, autoscale: {max: {cpu: 2000m}}}",
		says: "autoscale.max.cpu needs resources.limits.cpu, or else resources.requests.cpu, to begin with, and must not be below it",
	},
	{
		name: "autoscale without resources", bad: "{autoscale: {max: {cpu: 2}}}", good: "{tuning: Advise}", says: "autoscale.max.cpu needs",
	},
	{
		name: "settings that change by themselves", bad: "{tuning: Apply}", good: `{tuning: "Off"}`,
		says: "spec.tuning|use Advise, and write what status.recommendations says into spec.etcd",
	},
	{
		name: "election above 50s", bad: "{etcd: {electionTimeout: 50001ms}}", good: "{etcd: {electionTimeout: 50s}}",
		says: "spec.etcd.electionTimeout|etcd.electionTimeout must be at most 50s",
	},
	{
		name: "heartbeat under 10ms", bad: "{etcd: {heartbeatInterval: 9ms}}", good: "{etcd: {heartbeatInterval: 10ms}}",
		says: "spec.etcd.heartbeatInterval|etcd.heartbeatInterval must be between 10ms and 10s",
	},
	{
		name: "heartbeat above 10s", bad: "{etcd: {heartbeatInterval: 11s, electionTimeout: 50s}}",
		good: "{etcd: {heartbeatInterval: 10s, electionTimeout: 50s}}", says: "etcd.heartbeatInterval must be between 10ms and 10s",
	},
	{
		name: "heartbeat of half a millisecond more", bad: "{etcd: {heartbeatInterval: 100.5ms}}", good: "{etcd: {heartbeatInterval: 0.1s}}",
		says: "spec.etcd.heartbeatInterval|etcd.heartbeatInterval " + wholeRule,
	},
	{
		name: "election in microseconds", bad: "{etcd: {electionTimeout: 1000500us}}", good: "{etcd: {electionTimeout: 1500ms}}",
		says: "spec.etcd.electionTimeout|etcd.electionTimeout " + wholeRule,
	},
	{
		name: "election with a fraction of a millisecond", bad: "{etcd: {electionTimeout: 1.0005s}}", good: "{etcd: {electionTimeout: 1.500s}}",
		says: "spec.etcd.electionTimeout|etcd.electionTimeout " + wholeRule,
	},
	{
		name: "compaction by time with a number", bad: `{etcd: {autoCompaction: {mode: Periodic, retention: "1000"}}}`,
		good: "{etcd: {autoCompaction: {mode: Periodic, retention: 1h30m}}}", says: periodicRule,
	},
	{
		name: "compaction by time with no time", bad: "{etcd: {autoCompaction: {retention: 0h}}}",
		good: "{etcd: {autoCompaction: {retention: 30s}}}", says: periodicRule,
	},
	{
		name: "compaction by revision with the default retention", bad: "{etcd: {autoCompaction: {mode: Revision}}}",
		good: `{etcd: {autoCompaction: {mode: Revision, retention: "1000"}}}`, says: revisionRule,
	},
	{
		name: "compaction by no revision", bad: `{etcd: {autoCompaction: {mode: Revision, retention: "0"}}}`,
		good: `{etcd: {autoCompaction: {mode: "Off", retention: "0"}}}`, says: revisionRule,
	},
	{
		name: "unknown compaction mode", bad: "{etcd: {autoCompaction: {mode: Always}}}", good: `{etcd: {autoCompaction: {mode: "Off"}}}`,
		says: `spec.etcd.autoCompaction.mode: Unsupported value: "Always"|"Periodic", "Revision", "Off"`,
	},
	{
		name: "profile by which clients compact that may not", bad: "{profile: Kubernetes, auth: {enabled: true}}",
		good: "{profile: Kubernetes, auth: {enabled: true}, etcd: {autoCompaction: {mode: Periodic, retention: 5m}}}",
		says: "auth.enabled with profile Kubernetes needs etcd.autoCompaction that is not the default",
	},
	{
		name: "unknown profile", bad: "{profile: kubeadm}", good: "{profile: General}",
		says: `spec.profile: Unsupported value: "kubeadm"|"General", "Kubernetes"`,
	},
	{
		name: "unknown log level", bad: "{etcd: {logLevel: trace}}", good: "{etcd: {logLevel: debug}}",
		says: `spec.etcd.logLevel: Unsupported value: "trace"|"debug", "info", "warn", "error"`,
	},
	{
		name: "snapshotCount too low", bad: "{etcd: {snapshotCount: 99}}", good: "{etcd: {snapshotCount: 100}}",
		says: "spec.etcd.snapshotCount|etcd.snapshotCount must be between 100 and 10000000",
	},
}

var podSettings = []refusal{
	{
		name: "label of the operator", bad: "{podMetadata: {labels: {etcd-operator.dev/member: a}}}", good: "{podMetadata: {labels: {team: a}}}",
		says: "spec.podMetadata.labels|podMetadata.labels must not begin with etcd-operator.dev/ or app.kubernetes.io/",
	},
	{
		name: "name of a pull secret", bad: "{imagePullSecrets: [{name: Registry}]}", good: "{imagePullSecrets: [{name: registry.example}]}",
		says: "spec.imagePullSecrets[0].name|imagePullSecrets must have names of Secrets",
	},
	{
		name: "pull secret that is named twice", bad: "{imagePullSecrets: [{name: a}, {name: a}]}",
		good: "{imagePullSecrets: [{name: a}, {name: b}]}", says: "spec.imagePullSecrets[1]|Duplicate value",
	},
	{
		name: "label of Kubernetes applications", bad: "{podMetadata: {labels: {app.kubernetes.io/name: a}}}",
		good: "{podMetadata: {labels: {example.com/name: a}}}", says: "spec.podMetadata.labels|app.kubernetes.io/",
	},
	{
		name: "annotation of the operator", bad: "{podMetadata: {annotations: {etcd-operator.dev/template: a}}}",
		good: "{podMetadata: {annotations: {prometheus.io/scrape: 'true'}}}",
		says: "spec.podMetadata.annotations|podMetadata.annotations must not begin with etcd-operator.dev/",
	},
	{
		name: "label that is none", bad: "{podMetadata: {labels: {a b: c}}}", good: "{podMetadata: {labels: {A_b.c: c}}}",
		says: "spec.podMetadata.labels|podMetadata.labels must have keys as Kubernetes wants them",
	},
	{
		name: "annotation that is none", bad: "{podMetadata: {annotations: {a/b/c: d}}}",
		good: "{podMetadata: {annotations: {a.example/b: 'c d'}}}",
		says: "spec.podMetadata.annotations|podMetadata.annotations must have keys as Kubernetes wants them",
	},
	{
		name: "label value too long", bad: "{podMetadata: {labels: {a: " + strings.Repeat("b", 64) + "}}}",
		good: "{podMetadata: {labels: {a: " + strings.Repeat("b", 63) + "}}}",
		says: "spec.podMetadata.labels|podMetadata.labels must have values of at most 63 characters",
	},
	{
		name: "requests above limits", bad: "{resources: {requests: {memory: 1Gi}, limits: {memory: 512Mi}}}",
		good: "{resources: {requests: {memory: 1Gi, cpu: '0.1'}, limits: {memory: 1024Mi}}}",
		says: "spec.resources|resources.requests must not be above resources.limits",
	},
	{
		name: "memory without its unit", bad: "{resources: {limits: {memory: '1'}}}", good: "{resources: {limits: {memory: 4Mi}}}",
		says: "spec.resources.limits|resources.limits.memory must be at least 4Mi",
	},
	{
		name: "toleration with another operator", bad: "{scheduling: {tolerations: [{operator: Nope}]}}",
		good: "{scheduling: {tolerations: [{operator: Exists}]}}",
		says: "spec.scheduling.tolerations|scheduling.tolerations must have the operator Equal or Exists",
	},
	{
		name: "toleration of another effect", bad: "{scheduling: {tolerations: [{key: a, effect: Never}]}}",
		good: "{scheduling: {tolerations: [{key: a, effect: NoExecute}, {key: b}]}}",
		says: "spec.scheduling.tolerations|scheduling.tolerations must have the effect",
	},
	{
		name: "toleration of no key", bad: "{scheduling: {tolerations: [{value: a}]}}",
		good: "{scheduling: {tolerations: [{key: a, value: a, operator: Equal}]}}",
		says: "spec.scheduling.tolerations|scheduling.tolerations without a key must have the operator Exists",
	},
	{
		name: "spread that Kubernetes cannot read",
		bad:  "{scheduling: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: Never}]}}",
		good: "{scheduling: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]}}",
		says: "spec.scheduling.topologySpreadConstraints|must have whenUnsatisfiable",
	},
	{
		name: "request that Kubernetes cannot read", bad: "{resources: {requests: {cpu: '1e1.5'}}}",
		good: "{resources: {requests: {cpu: '1e1'}}}", says: "spec.resources.requests|resources.requests must be quantities",
	},
	{
		name: "limit that Kubernetes cannot read", bad: "{resources: {requests: {memory: 1Mi}, limits: {memory: 1E.5}}}",
		good: "{resources: {requests: {memory: 1Mi}, limits: {memory: 5e8}}}", says: "spec.resources.limits|resources.limits must be quantities",
	},
	{
		name: "negative request", bad: "{resources: {requests: {cpu: -1}}}", good: "{resources: {requests: {cpu: 0}}}",
		says: "spec.resources.requests|that are not negative",
	},
	{
		name: "skew beyond what Kubernetes can read",
		bad:  "{scheduling: {topologySpreadConstraints: [{maxSkew: 3000000000, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]}}",
		good: "{scheduling: {topologySpreadConstraints: [{maxSkew: 3, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]}}",
		says: "spec.scheduling.topologySpreadConstraints",
	},
	{
		name: "fewest domains beyond what Kubernetes can read",
		bad: "{scheduling: {topologySpreadConstraints: [{maxSkew: 1, minDomains: 3000000000, topologyKey: zone, " +
			"whenUnsatisfiable: DoNotSchedule}]}}",
		good: "{scheduling: {topologySpreadConstraints: [{maxSkew: 1, minDomains: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]}}",
		says: "spec.scheduling.topologySpreadConstraints",
	},
	{
		name: "weight above 100", bad: "{scheduling: {affinity: {podAntiAffinity: {" + preferred("101") + "}}}}",
		good: "{scheduling: {affinity: {podAntiAffinity: {" + preferred("100") + "}}}}",
		says: "spec.scheduling.affinity|scheduling.affinity.podAntiAffinity must have weights from 1 to 100",
	},
	{
		name: "unknown TLS mode", bad: "{tls: {mode: Optional}}", good: "{tls: {mode: Disabled}}",
		says: `spec.tls.mode: Unsupported value: "Optional"|"Enabled", "Disabled"`,
	},
	{
		name: "unknown deletion policy", bad: "{deletionPolicy: Orphan}", good: "{deletionPolicy: Delete}",
		says: `spec.deletionPolicy: Unsupported value: "Orphan"|"Retain", "Delete"`,
	},
	{name: "unknown field", bad: "{replicas: 3}", good: "{size: 3}", says: `unknown field "spec.replicas"`},
	{
		name: "unknown field below", bad: "{storage: {capacity: 1Gi}}", good: "{storage: {size: 1Gi}}",
		says: `unknown field "spec.storage.capacity"`,
	},
	{
		name: "field of a later version", bad: "{defragmentation: {schedule: hourly}}", good: "{}",
		says: `unknown field "spec.defragmentation"`,
	},
}

var flags = []refusal{
	{
		name: "flag with dashes", bad: `{etcd: {extraArgs: {--max-txn-ops: "1"}}}`, good: `{etcd: {extraArgs: {max-txn-ops: "1"}}}`,
		says: "spec.etcd.extraArgs|etcd.extraArgs must be named as etcd names its flags, without leading dashes",
	},
	{
		name: "flag with a value in its name", bad: `{etcd: {extraArgs: {"max-txn-ops=1": ""}}}`, good: `{etcd: {extraArgs: {cors: ""}}}`,
		says: "spec.etcd.extraArgs|etcd.extraArgs must be named as etcd names its flags",
	},
	{
		name: "flag with a line break", bad: `{etcd: {extraArgs: {cors: "a\nb"}}}`, good: `{etcd: {extraArgs: {cors: "a\\nb"}}}`,
		says: "spec.etcd.extraArgs|etcd.extraArgs must have values without line breaks",
	},
	{
		name: "flag with a long value", bad: "{etcd: {extraArgs: {cors: " + strings.Repeat("a", 1025) + "}}}",
		good: "{etcd: {extraArgs: {cors: " + strings.Repeat("a", 1024) + "}}}",
		says: "spec.etcd.extraArgs|etcd.extraArgs must have values of at most 1024 characters",
	},
	{name: "25 flags", bad: manyFlags(25), good: manyFlags(24), says: "spec.etcd.extraArgs: Too many: 25: must have at most 24 items"},
	{
		name: "experimental flag on 3.7", bad: `{version: 3.7.3, etcd: {extraArgs: {experimental-corrupt-check-time: 1h}}}`,
		good: `{version: 3.7.3, etcd: {extraArgs: {corrupt-check-time: 1h}}}`,
		says: "spec: Invalid value|etcd.extraArgs must not set experimental-* flags with version 3.7",
	},
	{
		name: "experimental flag kept over the update to 3.7",
		from: `{version: 3.6.16, etcd: {extraArgs: {experimental-corrupt-check-time: 1h}}}`,
		bad:  `{version: 3.7.3, etcd: {extraArgs: {experimental-corrupt-check-time: 1h}}}`, good: "{version: 3.7.3}",
		says: "etcd.extraArgs must not set experimental-* flags with version 3.7",
	},
}

func manyFlags(count int) string {
	all := make([]string, 0, count)
	for i := range count {
		all = append(all, fmt.Sprintf("flag-%d: a", i))
	}
	return "{etcd: {extraArgs: {" + strings.Join(all, ", ") + "}}}"
}

// Every reserved flag is refused by the rule of its group, whose message says why.
func TestReservedFlags(t *testing.T) {
	for _, group := range []struct{ says, flags string }{
		{
			"they decide which cluster a member belongs to and where its data is",
			`name data-dir wal-dir config config-file initial-cluster initial-cluster-state initial-cluster-token
			initial-advertise-peer-urls initial-election-tick-advance advertise-client-urls discovery discovery-srv
			discovery-token cluster-active-size`,
		},
		{
			"reach members where they expect them",
			`listen-client-urls listen-client-http-urls listen-peer-urls listen-metrics-urls proxy proxy-read-timeout
			socket-reuse-port socket-reuse-address enable-grpc-gateway`,
		},
		{
			"there is no other choice",
			`cert-file key-file trusted-ca-file client-cert-auth client-cert-file client-key-file client-crl-file
			client-cert-allowed-hostname peer-cert-file peer-key-file peer-client-cert-auth peer-trusted-ca-file peer-auto-tls
			peer-crl-file peer-cert-allowed-cn peer-skip-client-san-verification experimental-peer-skip-client-san-verification
			auto-tls self-signed-cert-validity tls-min-version tls-max-version cipher-suites host-whitelist auth-token`,
		},
		{
			"put the data or the quorum at risk",
			`force-new-cluster force unsafe-no-fsync strict-reconfig-check max-learners pre-vote v2-deprecation enable-v2
			enable-v2v3 experimental-enable-v2v3`,
		},
		{
			"has a field of its own under spec.etcd",
			`quota-backend-bytes auto-compaction-mode auto-compaction-retention snapshot-count heartbeat-interval
			election-timeout log-level`,
		},
		{
			"log to their container's output",
			`logger log-format log-outputs enable-log-rotation log-rotation-config-json metrics enable-pprof`,
		},
		{
			"etcd would exit instead of serve",
			`version help h vv snapshot retry-interval max-retry-attempts max-result-buffer`,
		},
	} {
		for _, flag := range strings.Fields(group.flags) {
			spec := fmt.Sprintf(`{etcd: {extraArgs: {max-txn-ops: "256", %s: "a"}}}`, flag)
			wantRefused(t, tryCreate(t, "flags", spec), spec, "spec.etcd.extraArgs: Invalid value", "etcd.extraArgs must not", group.says)
		}
	}
}

// What is left is the user's: every other flag of etcd 3.6.
func TestOtherFlagsAreAccepted(t *testing.T) {
	flags := `auth-token-ttl backend-batch-interval backend-batch-limit backend-bbolt-freelist-type bcrypt-cost
		bootstrap-defrag-threshold-megabytes compact-hash-check-time compaction-batch-limit compaction-sleep-interval corrupt-check-time
		cors distributed-tracing-address downgrade-check-time enable-distributed-tracing experimental-initial-corrupt-check
		experimental-memory-mlock feature-gates grpc-keepalive-interval grpc-keepalive-min-time grpc-keepalive-timeout
		max-concurrent-streams max-request-bytes max-snapshots max-txn-ops max-wals memory-mlock raft-read-timeout raft-write-timeout
		snapshot-catchup-entries warning-apply-duration warning-unary-request-duration watch-progress-notify-interval`
	for _, flag := range strings.Fields(flags) {
		spec := fmt.Sprintf(`{etcd: {extraArgs: {%s: "1"}}}`, flag)
		wantAccepted(t, tryCreate(t, "flags", spec), spec)
	}
}

func preferred(weight string) string {
	return "preferredDuringSchedulingIgnoredDuringExecution: [{weight: " + weight + ", podAffinityTerm: {topologyKey: zone}}]"
}
