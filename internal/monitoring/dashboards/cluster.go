package dashboards

// this is the cluster that is chosen, in the operator's metrics.
const this = `namespace="$namespace",cluster="$cluster"`

// its are the members of it in etcd's own metrics: Pods are named after the cluster, with a number. That holds however they are scraped, if
// series have the labels namespace and pod.
const its = `namespace="$namespace",pod=~"$cluster-[0-9]+"`

// p99 is the time within which 99 of 100 of what a histogram counts are done.
func p99(histogram, by string) string {
	return `histogram_quantile(0.99, sum by (` + by + `, le) (rate(` + histogram + `_bucket{` + its + `}[$__rate_interval])))`
}

// rate is how many a second of a counter.
func rate(counter string) string {
	return `sum by (pod) (rate(` + counter + `{` + its + `}[$__rate_interval]))`
}

// now is what each member says of a gauge.
func now(gauge string) string { return `max by (pod) (` + gauge + `{` + its + `})` }

func ofMember(gauge string) string { return `max by (member) (` + gauge + `{` + this + `})` }

const (
	podLegend    = "{{pod}}"
	memberLegend = "{{member}}"
)

var cluster = Dashboard{
	Name: "etcd-cluster", Title: "etcd / cluster", Scope: Cluster,
	Summary: "One etcd cluster: what the operator sees of it, and what its members measure",
	Rows: []Row{
		{"Now", []Panel{
			{Kind: Number, Title: "Leader", Help: "1: a leader answers", Unit: Count, Bad: at(1), Low: true, Queries: []Query{
				{`max(etcd_operator_cluster_has_leader{` + this + `})`, ""},
			}},
			{Kind: Number, Title: "Members healthy", Help: "voters that answer linearizable reads", Unit: Count, Queries: []Query{
				{`sum(max by (member) (etcd_operator_member_healthy{` + this + `,role!="learner"}))`, ""},
			}},
			{Kind: Number, Title: "Members wanted", Help: "spec.size; 0 hibernates", Unit: Count, Queries: []Query{
				{`max(etcd_operator_cluster_wanted_members{` + this + `})`, ""},
			}},
			{Kind: Number, Title: "Alarms", Help: "NOSPACE and CORRUPT: etcd refuses writes", Unit: Count, Bad: at(1), Queries: []Query{
				{`sum(max by (kind) (etcd_operator_cluster_alarms{` + this + `}))`, ""},
			}},
			{
				Kind: Number, Title: "Share of the quota", Help: "of the largest database", Unit: Share, Warn: at(0.75), Bad: at(0.85),
				Queries: []Query{
					{`max(etcd_operator_member_database_size_bytes{` + this + `} / etcd_operator_member_database_quota_bytes{` + this + `})`, ""},
				},
			},
			{Kind: Number, Title: "Newest verified backup", Help: "its age", Unit: Seconds, Queries: []Query{
				{`time() - max(etcd_operator_cluster_last_verified_backup_timestamp_seconds{` + this + `})`, ""},
			}},
			{Kind: Table, Title: "Conditions", Help: "kubectl etcd diagnose says what to do", Queries: []Query{
				{`max by (type, status, reason) (etcd_operator_cluster_condition{` + this + `})`, ""},
			}},
			{Kind: Table, Title: "Version", Help: "the lowest that a member runs, and what members are brought to", Queries: []Query{
				{`max by (version, target) (etcd_operator_cluster_info{` + this + `})`, ""},
			}},
		}},
		{"Members, as the operator sees them", []Panel{
			{Kind: Steps, Title: "Healthy", Help: "1: it answers linearizable reads", Unit: Count, Queries: []Query{
				{`max by (member, role) (etcd_operator_member_healthy{` + this + `})`, memberLegend + " {{role}}"},
			}},
			{Kind: Steps, Title: "Who leads", Help: "1: the others follow it", Unit: Count, Queries: []Query{
				{ofMember("etcd_operator_member_is_leader"), memberLegend},
			}},
			{Kind: Lines, Title: "Entries behind the leader", Help: "committed, and not applied yet: near 0 is good", Unit: Count, Queries: []Query{
				{ofMember("etcd_operator_member_entries_behind"), memberLegend},
			}},
			{
				Kind: Steps, Title: "Slow members", Help: "1 while a member is slower than its peers and than it was", Unit: Count, Queries: []Query{
					{`max by (member, signal) (etcd_operator_member_slow{` + this + `})`, memberLegend + " {{signal}}"},
				},
			},
			{
				Kind: Number, Title: "Data compared", Help: "since the data of all members was last found equal", Unit: Seconds, Queries: []Query{
					{`time() - max(etcd_operator_cluster_last_equal_hashes_timestamp_seconds{` + this + `})`, ""},
				},
			},
		}},
		{"Room", []Panel{
			{
				Kind: Lines, Title: "Database", Help: "the quota counts the size; what is in use stays after a defragmentation", Unit: Bytes,
				Queries: []Query{
					{ofMember("etcd_operator_member_database_size_bytes"), memberLegend + " size"},
					{ofMember("etcd_operator_member_database_in_use_bytes"), memberLegend + " in use"},
					{`min(etcd_operator_member_database_quota_bytes{` + this + `})`, "quota"},
				},
			},
			{Kind: Lines, Title: "Free in the file", Help: "a defragmentation gives it back", Unit: Share, Queries: []Query{
				{
					`1 - max by (member) (etcd_operator_member_database_in_use_bytes{` + this + `}) / ` +
						`max by (member) (etcd_operator_member_database_size_bytes{` + this + `})`, memberLegend,
				},
			}},
			{
				Kind: Lines, Title: "In a day, if it grows on", Help: "share of the quota that is in use then, by the last six hours", Unit: Share,
				Warn: at(0.75), Bad: at(1), Queries: []Query{
					{
						`max by (member) (predict_linear(etcd_operator_member_database_in_use_bytes{` + this + `}[6h], 86400)) / ` +
							`max by (member) (etcd_operator_member_database_quota_bytes{` + this + `})`, memberLegend,
					},
				},
			},
		}},
		{"Drills", []Panel{
			{Kind: Table, Title: "How drills ended", Help: "by action; Failed: the cluster did not recover in time", Queries: []Query{
				{`max by (action, phase) (etcd_operator_cluster_drills{` + this + `})`, ""},
			}},
			{
				Kind: Steps, Title: "Recovered in", Help: "the newest drill of each action: longer than before is worth a look", Unit: Seconds,
				Queries: []Query{{`max by (action) (etcd_operator_cluster_last_drill_recovery_seconds{` + this + `})`, "{{action}}"}},
			},
		}},
		{"Disk and network, as members measure them", []Panel{
			{
				Kind: Lines, Title: "Write-ahead log: fsync, 99 %", Help: "below 10 ms is good; above half a second the cluster loses leaders",
				Unit: Seconds,
				Warn: at(0.01), Bad: at(0.5), Queries: []Query{{p99("etcd_disk_wal_fsync_duration_seconds", "pod"), podLegend}},
			},
			{
				Kind: Lines, Title: "Backend: commit, 99 %", Help: "below 25 ms is good", Unit: Seconds, Warn: at(0.025), Bad: at(0.25),
				Queries: []Query{
					{p99("etcd_disk_backend_commit_duration_seconds", "pod"), podLegend},
				},
			},
			{
				Kind: Lines, Title: "Round trip to peers, 99 %", Help: "the election timeout should be ten times as long", Unit: Seconds,
				Warn: at(0.15), Queries: []Query{
					{p99("etcd_network_peer_round_trip_time_seconds", "pod, To"), "{{pod}} to {{To}}"},
				},
			},
			{Kind: Lines, Title: "Sent to peers in vain", Help: "0 is good, but while a member restarts", Unit: Rate, Queries: []Query{
				{rate("etcd_network_peer_sent_failures_total"), podLegend},
			}},
		}},
		{"Raft, as members measure it", []Panel{
			{Kind: Lines, Title: "Proposals", Help: "writes that are committed, and those that failed", Unit: Rate, Queries: []Query{
				{`max(` + rate("etcd_server_proposals_committed_total") + `)`, "committed"},
				{rate("etcd_server_proposals_failed_total"), podLegend + " failed"},
			}},
			{Kind: Lines, Title: "Proposals pending", Help: "near 0 is good; clients wait for those", Unit: Count, Queries: []Query{
				{now("etcd_server_proposals_pending"), podLegend},
			}},
			{Kind: Lines, Title: "Committed, and not applied", Help: "near 0 is good", Unit: Count, Queries: []Query{
				{now("etcd_server_proposals_committed_total") + ` - ` + now("etcd_server_proposals_applied_total"), podLegend},
			}},
			{
				Kind: Steps, Title: "Leader changes in an hour", Help: "more than three, but for restarts, are a slow disk or network", Unit: Count,
				Warn: at(4), Queries: []Query{
					{`max by (pod) (increase(etcd_server_leader_changes_seen_total{` + its + `}[1h]))`, podLegend},
				},
			},
			{Kind: Lines, Title: "Slow", Help: "applying took longer than 100 ms; reads or heartbeats were late", Unit: Rate, Queries: []Query{
				{rate("etcd_server_slow_apply_total"), podLegend + " apply"},
				{rate("etcd_server_slow_read_indexes_total"), podLegend + " read"},
				{rate("etcd_server_heartbeat_send_failures_total"), podLegend + " heartbeat"},
			}},
			{Kind: Lines, Title: "Requests, 99 %", Help: "of etcd 3.7 and later", Unit: Seconds, Queries: []Query{
				{p99("etcd_server_request_duration_seconds", "pod, type"), "{{pod}} {{type}}"},
			}},
		}},
		{"Data, as members measure it", []Panel{
			{Kind: Lines, Title: "Long readers", Help: "transactions that read and keep pages from being freed", Unit: Count, Queries: []Query{
				{now("etcd_mvcc_db_open_read_transactions"), podLegend},
			}},
			{Kind: Steps, Title: "Defragmentations", Help: "1 while a member defragments", Unit: Count, Queries: []Query{
				{now("etcd_disk_defrag_inflight"), podLegend},
			}},
		}},
	},
}
