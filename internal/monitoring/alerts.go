// Package monitoring says what Prometheus is to watch of clusters: alerts that begin with what users feel, and rarely lie.
//
// It is pure. Every expression is over metrics of the operator itself, so that members need not be scraped, except where it says so.
package monitoring

import "time"

// Severity says whether the service is down, as Operator SDK's capability levels have it: critical if it is, warning for all else.
type Severity string

// The severities.
const (
	Critical Severity = "critical"
	Warning  Severity = "warning"
	Info     Severity = "info"
)

// An Alert is a rule of Prometheus. Summary is a sentence for the person who is called; {{ $labels.… }} are those of the expression.
type Alert struct {
	Name     string
	Expr     string
	For      time.Duration
	Severity Severity
	Summary  string
}

// serving leaves out clusters that are not to serve now.
const serving = ` unless on (namespace, cluster) ` +
	`etcd_operator_cluster_condition{type="Available",reason=~"Hibernated|Deleting|Bootstrapping|Restoring"} == 1`

// grows is true of databases that take more than half of their quota: growth is of no interest below
// (https://github.com/giantswarm/prometheus-rules/pull/2158 has learnt it so).
const share = `etcd_operator_member_database_size_bytes / etcd_operator_member_database_quota_bytes`

// Alerts are all, those of a service that is down first.
var Alerts = []Alert{
	{
		Name: "EtcdNoQuorum", For: time.Minute, Severity: Critical,
		Expr:    `etcd_operator_cluster_condition{type="Available",status="False",reason="QuorumLost"} == 1`,
		Summary: "etcd {{ $labels.namespace }}/{{ $labels.cluster }} has lost its quorum: it takes no write and answers no linearizable read",
	},
	{
		Name: "EtcdNoLeader", For: 2 * time.Minute, Severity: Critical,
		Expr:    `etcd_operator_cluster_has_leader == 0 and on (namespace, cluster) etcd_operator_cluster_wanted_members > 0` + serving,
		Summary: "etcd {{ $labels.namespace }}/{{ $labels.cluster }} has had no leader that answers for two minutes",
	},
	{
		Name: "EtcdNoSpace", For: time.Minute, Severity: Critical,
		Expr:    `etcd_operator_cluster_alarms{kind="NOSPACE"} > 0`,
		Summary: "etcd {{ $labels.namespace }}/{{ $labels.cluster }} refuses every write that needs room: a database has reached its quota",
	},
	{
		Name: "EtcdCorrupt", For: 0, Severity: Critical,
		Expr:    `etcd_operator_cluster_alarms{kind="CORRUPT"} > 0`,
		Summary: "etcd {{ $labels.namespace }}/{{ $labels.cluster }} refuses every write: the data of its members differs",
	},
	{
		Name: "EtcdQuotaNearlyUsed", For: 10 * time.Minute, Severity: Critical,
		Expr: share + ` > 0.85`,
		Summary: "the database of {{ $labels.member }} in {{ $labels.namespace }} takes {{ $value | humanizePercentage }} of its quota: at " +
			"100 % etcd refuses writes",
	},
	{
		Name: "EtcdQuotaFills", For: 10 * time.Minute, Severity: Warning,
		Expr:    share + ` > 0.75`,
		Summary: "the database of {{ $labels.member }} in {{ $labels.namespace }} takes {{ $value | humanizePercentage }} of its quota",
	},
	{
		Name: "EtcdGrowsToQuota", For: 30 * time.Minute, Severity: Warning,
		Expr: `predict_linear(etcd_operator_member_database_in_use_bytes[6h], 86400) > etcd_operator_member_database_quota_bytes and ` +
			`etcd_operator_member_database_in_use_bytes / etcd_operator_member_database_quota_bytes > 0.5`,
		Summary: "the data of {{ $labels.member }} in {{ $labels.namespace }} reaches its quota within a day if it grows on as in the last " +
			"six hours",
	},
	{
		Name: "EtcdMemberDown", For: 10 * time.Minute, Severity: Warning,
		Expr:    `etcd_operator_member_healthy{role!="learner"} == 0 unless on (namespace, cluster) etcd_operator_cluster_paused == 1` + serving,
		Summary: "member {{ $labels.member }} in {{ $labels.namespace }} has not been healthy for ten minutes",
	},
	{
		Name: "EtcdMemberSlow", For: 30 * time.Minute, Severity: Warning,
		Expr: `max by (namespace, cluster, member, signal) (etcd_operator_member_slow) == 1`,
		Summary: "member {{ $labels.member }} in {{ $labels.namespace }} has been slower than its peers and than it was for half an hour " +
			"({{ $labels.signal }})",
	},
	{
		Name: "EtcdActionRequired", For: 15 * time.Minute, Severity: Warning,
		Expr:    `etcd_operator_cluster_condition{type="Degraded",status="True"} == 1`,
		Summary: "etcd {{ $labels.namespace }}/{{ $labels.cluster }} is degraded ({{ $labels.reason }}): kubectl etcd status says what to do",
	},
	{
		Name: "EtcdAuthorityEnds", For: time.Hour, Severity: Warning,
		Expr: `etcd_operator_cluster_authority_end_timestamp_seconds - time() < 14 * 86400`,
		Summary: "the authority for {{ $labels.authority }}s of etcd {{ $labels.namespace }}/{{ $labels.cluster }} ends in {{ $value | " +
			"humanizeDuration }}",
	},
	{
		Name: "EtcdNoVerifiedBackup", For: time.Hour, Severity: Warning,
		Expr:    `time() - etcd_operator_cluster_last_verified_backup_timestamp_seconds > 2 * 86400`,
		Summary: "the newest verified backup of etcd {{ $labels.namespace }}/{{ $labels.cluster }} is {{ $value | humanizeDuration }} old",
	},
	{
		Name: "EtcdBackupFailing", For: 30 * time.Minute, Severity: Warning,
		Expr:    `etcd_operator_cluster_condition{type="BackedUp",status="False"} == 1`,
		Summary: "scheduled backups of etcd {{ $labels.namespace }}/{{ $labels.cluster }} fail ({{ $labels.reason }})",
	},
	{
		Name: "EtcdVolumeFills", For: 15 * time.Minute, Severity: Warning, // needs the kubelet's metrics
		Expr: `kubelet_volume_stats_available_bytes / kubelet_volume_stats_capacity_bytes < 0.15 and on (namespace, persistentvolumeclaim) ` +
			`label_replace(etcd_operator_member_healthy, "persistentvolumeclaim", "$1", "member", "(.*)")`,
		Summary: "the volume {{ $labels.persistentvolumeclaim }} in {{ $labels.namespace }} has {{ $value | humanizePercentage }} left: " +
			"etcd ends when it is full",
	},
	{
		Name: "EtcdOperatorWithoutLeader", For: 5 * time.Minute, Severity: Warning,
		Expr:    `sum by (namespace) (leader_election_master_status{name="etcd-operator.dev"}) == 0`,
		Summary: "no replica of etcd-operator in {{ $labels.namespace }} leads: clusters go on, and nothing heals them",
	},
}
