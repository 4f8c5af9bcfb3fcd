// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package monitoring says what Prometheus is to watch of clusters: alerts that begin with what users feel, and rarely lie.
//
// It is pure. Every alert is over metrics of the operator itself, so that members need not be scraped. That the operator has none is one.
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
	Single   bool // it is only among the rules of a single cluster
}

// What identifies an alert. Which replica of the operator was asked is not part of it: with the next one the alert would begin to wait
// again.
const (
	byCluster = `max by (namespace, cluster) `
	byMember  = `max by (namespace, cluster, member) `
)

// onCluster joins what is said of members to what is true of their cluster.
const onCluster = ` on (namespace, cluster) `

// serving leaves out clusters that are not to serve now.
const serving = ` unless` + onCluster + byCluster +
	`(etcd_operator_cluster_condition{type="Available",reason=~"Hibernated|Deleting|Bootstrapping|Restoring"}) == 1`

// elections are the replicas of operators, of which one leads.
const elections = `leader_election_master_status{name="etcd-operator.dev"}`

// share is what databases take of their quotas.
const share = byMember + `(etcd_operator_member_database_size_bytes) / ` + byMember + `(etcd_operator_member_database_quota_bytes)`

// alarm says which clusters have raised an alarm. Members that the PodMonitor of their cluster has scraped, which is where the label member
// comes from, say what is most urgent where the operator is gone or cut off; of alarms since etcd 3.6.
func alarm(kind string) string {
	return byCluster + `(etcd_operator_cluster_alarms{kind="` + kind + `"}) > 0 or ` +
		byCluster + `(etcd_debugging_server_alarms{member!="",alarm_type="` + kind + `"}) > 0`
}

// slowest says of which clusters a member's disk takes longer than that for more than one in a hundred. etcd advises 10 ms for the
// write-ahead log and 25 ms for the database (https://etcd.io/docs/v3.6/faq/).
func slowest(histogram, bound string) string {
	return byCluster + `(histogram_quantile(0.99, sum by (namespace, cluster, member, le) (rate(` + histogram +
		`_bucket{member!=""}[15m])))) > ` + bound
}

// condition says which clusters have a condition of that status, with its reason; selector is more that it has to be.
func condition(kind, status, selector string) string {
	return `max by (namespace, cluster, reason) (etcd_operator_cluster_condition{type="` + kind + `",status="` + status + `"` + selector +
		`}) == 1`
}

// Alerts are all, those of a service that is down first.
var Alerts = []Alert{
	{
		Name: "EtcdNoQuorum", For: time.Minute, Severity: Critical,
		Expr:    condition("Available", "False", `,reason=~"QuorumLost|MembersPending"`),
		Summary: "etcd {{ $labels.namespace }}/{{ $labels.cluster }} has no quorum: it takes no write and answers no linearizable read",
	},
	{
		Name: "EtcdNoLeader", For: 2 * time.Minute, Severity: Critical,
		Expr: `(` + byCluster + `(etcd_operator_cluster_has_leader) == 0 or (` + byCluster + `(etcd_server_has_leader{member!=""}) == 0 unless` +
			onCluster + byCluster + `(etcd_operator_cluster_has_leader) == 1)) unless` + onCluster + byCluster +
			`(etcd_operator_cluster_wanted_members) == 0` + serving,
		Summary: "etcd {{ $labels.namespace }}/{{ $labels.cluster }} has had no leader that answers for two minutes",
	},
	{
		Name: "EtcdNotObserved", For: 10 * time.Minute, Severity: Warning,
		Expr: condition("Available", "Unknown", ""),
		Summary: "whether etcd {{ $labels.namespace }}/{{ $labels.cluster }} serves is not known ({{ $labels.reason }}): the operator does not " +
			"reach its members, and does not heal them",
	},
	{
		Name: "EtcdNoSpace", For: time.Minute, Severity: Critical,
		Expr:    alarm("NOSPACE"),
		Summary: "etcd {{ $labels.namespace }}/{{ $labels.cluster }} refuses every write that needs room: a database has reached its quota",
	},
	{
		Name: "EtcdCorrupt", For: 0, Severity: Critical,
		Expr:    alarm("CORRUPT"),
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
		Name: "EtcdQuotaRises", For: 10 * time.Minute, Severity: Info,
		Expr:    share + ` > 0.65`,
		Summary: "the database of {{ $labels.member }} in {{ $labels.namespace }} takes {{ $value | humanizePercentage }} of its quota",
	},
	{
		Name: "EtcdGrowsToQuota", For: 30 * time.Minute, Severity: Warning,
		Expr: byMember + `(predict_linear(etcd_operator_member_database_in_use_bytes[6h], 86400)) > ` +
			byMember + `(etcd_operator_member_database_quota_bytes) and ` + byMember + `(etcd_operator_member_database_in_use_bytes) / ` +
			byMember + `(etcd_operator_member_database_quota_bytes) > 0.5`,
		Summary: "the data of {{ $labels.member }} in {{ $labels.namespace }} reaches its quota within a day if it grows on as in the last " +
			"six hours",
	},
	{
		Name: "EtcdMemberDown", For: 10 * time.Minute, Severity: Warning,
		Expr: `(` + byMember + `(etcd_operator_member_healthy{role!="learner"}) == 0 or (` + byMember + `(up{member!="",cluster!=""}) == 0 ` +
			`unless on (namespace, cluster, member) ` + byMember + `(etcd_operator_member_healthy))) unless` + onCluster + byCluster +
			`(etcd_operator_cluster_paused) == 1` + serving,
		Summary: "member {{ $labels.member }} in {{ $labels.namespace }} has not been healthy for ten minutes",
	},
	{
		Name: "EtcdMemberSlow", For: 30 * time.Minute, Severity: Warning,
		Expr: `max by (namespace, cluster, member, signal) (etcd_operator_member_slow) == 1`,
		Summary: "member {{ $labels.member }} in {{ $labels.namespace }} has been slower than its peers and than it was for half an hour " +
			"({{ $labels.signal }})",
	},
	{
		Name: "EtcdDiskSlow", For: 30 * time.Minute, Severity: Warning,
		Expr: byCluster + `(etcd_operator_cluster_condition{type="PerformanceDegraded",status="True",reason="SlowDisk"}) == 1 or ` +
			slowest("etcd_disk_wal_fsync_duration_seconds", "0.01") + ` or ` + slowest("etcd_disk_backend_commit_duration_seconds", "0.025"),
		Summary: "disks of etcd {{ $labels.namespace }}/{{ $labels.cluster }} have been slower than etcd needs for half an hour",
	},
	{
		Name: "EtcdActionRequired", For: 15 * time.Minute, Severity: Warning,
		Expr:    condition("Degraded", "True", ""),
		Summary: "etcd {{ $labels.namespace }}/{{ $labels.cluster }} is degraded ({{ $labels.reason }}): kubectl etcd status says what to do",
	},
	{
		Name: "EtcdAuthorityEnds", For: time.Hour, Severity: Warning,
		Expr: `max by (namespace, cluster, authority) (etcd_operator_cluster_authority_end_timestamp_seconds) - time() < 14 * 86400`,
		Summary: "the authority for {{ $labels.authority }}s of etcd {{ $labels.namespace }}/{{ $labels.cluster }} ends in {{ $value | " +
			"humanizeDuration }}",
	},
	{
		Name: "EtcdCertificateEnds", For: time.Hour, Severity: Warning,
		Expr: `(` + byCluster + `(etcd_operator_cluster_certificate_end_timestamp_seconds) - time()) / (` +
			byCluster + `(etcd_operator_cluster_certificate_end_timestamp_seconds) - ` +
			byCluster + `(etcd_operator_cluster_certificate_begin_timestamp_seconds)) < 1 / 6`,
		Summary: "a certificate of members of etcd {{ $labels.namespace }}/{{ $labels.cluster }} has {{ $value | humanizePercentage }} of its " +
			"life left, and was not renewed",
	},
	{
		Name: "EtcdNoVerifiedBackup", For: time.Hour, Severity: Warning,
		Expr: `time() - ` + byCluster + `(etcd_operator_cluster_backup_due_timestamp_seconds) > 86400`,
		Summary: "the schedule of etcd {{ $labels.namespace }}/{{ $labels.cluster }} wanted a newer verified backup {{ $value | " +
			"humanizeDuration }} ago",
	},
	{
		Name: "EtcdBackupFailing", For: 30 * time.Minute, Severity: Warning,
		Expr:    condition("BackedUp", "False", `,reason!~"Suspended|ClusterHibernated|ClusterNotFormed"`),
		Summary: "scheduled backups of etcd {{ $labels.namespace }}/{{ $labels.cluster }} fail ({{ $labels.reason }})",
	},
	{
		Name: "EtcdVolumeFills", For: 15 * time.Minute, Severity: Warning, // needs the kubelet's metrics
		Expr: `kubelet_volume_stats_available_bytes / kubelet_volume_stats_capacity_bytes < 0.15 and on (namespace, persistentvolumeclaim) ` +
			`label_replace(` + byMember + `(etcd_operator_member_database_quota_bytes), "persistentvolumeclaim", "$1", "member", "(.*)")`,
		Summary: "the volume {{ $labels.persistentvolumeclaim }} in {{ $labels.namespace }} has {{ $value | humanizePercentage }} left: " +
			"etcd ends when it is full",
	},
	{
		Name: "EtcdNotWatched", For: 10 * time.Minute, Severity: Critical, Single: true,
		Expr: `absent(etcd_operator_cluster_info)`,
		Summary: "no etcd-operator says anything of etcd {{ $labels.namespace }}/{{ $labels.cluster }}: nothing heals it, and other alerts do " +
			"not fire",
	},
	{
		Name: "EtcdOperatorGone", For: 10 * time.Minute, Severity: Critical,
		Expr:    `absent(` + elections + `)`,
		Summary: "no etcd-operator is scraped: nothing heals clusters, and alerts about them do not fire",
	},
	{
		Name: "EtcdOperatorWithoutLeader", For: 5 * time.Minute, Severity: Warning,
		Expr:    `sum by (namespace) (` + elections + `) == 0`,
		Summary: "no replica of etcd-operator in {{ $labels.namespace }} leads: clusters go on, and nothing heals them",
	},
}
