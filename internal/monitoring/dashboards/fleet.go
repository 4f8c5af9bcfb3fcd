package dashboards

// some are the clusters of the namespaces that are chosen.
const some = `namespace=~"$namespace"`

// byCluster has a series for each cluster, whichever replica of the operator was asked.
const byCluster = `by (namespace, cluster) `

const clusterLegend = "{{namespace}}/{{cluster}}"

// quotaShare is what the largest database of each cluster takes of its quota.
const quotaShare = `max ` + byCluster + `(etcd_operator_member_database_size_bytes{` + some + `} / ` +
	`etcd_operator_member_database_quota_bytes{` + some + `})`

const healthyMembers = `sum ` + byCluster + `(etcd_operator_member_healthy{` + some + `,role!="learner"})`

var fleet = Dashboard{
	Name: "etcd-fleet", Title: "etcd / fleet", Scope: Fleet,
	Summary: "Every etcd cluster: what is wrong, members, alarms, room and age of backups",
	Rows: []Row{
		{"Now", []Panel{
			{Kind: Number, Title: "Clusters", Help: "EtcdClusters that the operator manages", Unit: Count, Queries: []Query{
				{`count(max ` + byCluster + `(etcd_operator_cluster_info{` + some + `}))`, ""},
			}},
			{
				Kind: Number, Title: "Not available", Help: "False or Unknown; those that hibernate are among them", Unit: Count, Bad: at(1),
				Queries: []Query{
					{`count(max ` + byCluster + `(etcd_operator_cluster_condition{` + some + `,type="Available",status!="True"})) or vector(0)`, ""},
				},
			},
			{Kind: Number, Title: "Degraded", Help: "something costs safety or needs a person", Unit: Count, Warn: at(1), Queries: []Query{
				{`count(max ` + byCluster + `(etcd_operator_cluster_condition{` + some + `,type="Degraded",status="True"})) or vector(0)`, ""},
			}},
			{Kind: Number, Title: "Alarms", Help: "NOSPACE and CORRUPT: etcd refuses writes", Unit: Count, Bad: at(1), Queries: []Query{
				{`sum(max by (namespace, cluster, kind) (etcd_operator_cluster_alarms{` + some + `})) or vector(0)`, ""},
			}},
			{Kind: Number, Title: "Without a leader", Help: "those that hibernate are not among them", Unit: Count, Bad: at(1), Queries: []Query{
				{
					`count(max ` + byCluster + `(etcd_operator_cluster_has_leader{` + some + `}) == 0 and max ` + byCluster +
						`(etcd_operator_cluster_wanted_members{` + some + `}) > 0) or vector(0)`, "",
				},
			}},
			{Kind: Number, Title: "Paused", Help: "nothing is changed or healed", Unit: Count, Warn: at(1), Queries: []Query{
				{`sum(max ` + byCluster + `(etcd_operator_cluster_paused{` + some + `})) or vector(0)`, ""},
			}},
		}},
		{"What is wrong", []Panel{
			{Kind: Table, Title: "Conditions that are not good", Help: "kubectl etcd diagnose says what to do", Queries: []Query{
				{
					`max by (namespace, cluster, type, status, reason) (` +
						`etcd_operator_cluster_condition{` + some + `,type="Available",status!="True"} or ` +
						`etcd_operator_cluster_condition{` + some + `,type="Degraded",status="True"} or ` +
						`etcd_operator_cluster_condition{` + some + `,type="BackedUp",status="False"})`, "",
				},
			}},
			{Kind: Table, Title: "Versions", Help: "of etcd, what members are brought to, and in how many clusters", Unit: Count, Queries: []Query{
				{`count by (version, target) (max by (namespace, cluster, version, target) (etcd_operator_cluster_info{` + some + `}))`, ""},
			}},
		}},
		{"Members", []Panel{
			{Kind: Steps, Title: "Members missing", Help: "wanted, less those that are healthy and vote: 0 is good", Unit: Count, Queries: []Query{
				{`max ` + byCluster + `(etcd_operator_cluster_wanted_members{` + some + `}) - ` + healthyMembers, clusterLegend},
			}},
			{Kind: Steps, Title: "Alarms", Help: "0 is good", Unit: Count, Queries: []Query{
				{`max by (namespace, cluster, kind) (etcd_operator_cluster_alarms{` + some + `})`, clusterLegend + " {{kind}}"},
			}},
		}},
		{"Room, backups and authorities", []Panel{
			{
				Kind: Lines, Title: "Share of the quota", Help: "at 100 % etcd refuses writes; the operator defragments from 75 % on", Unit: Share,
				Warn: at(0.75), Bad: at(0.85), Queries: []Query{{quotaShare, clusterLegend}},
			},
			{
				Kind: Lines, Title: "Age of the newest verified backup", Help: "what was written later would be lost", Unit: Seconds,
				Queries: []Query{{verifiedAge, clusterLegend}},
			},
			{
				Kind: Lines, Title: "Life left of certificates", Help: "of the certificate of members that ends first: renewed at a third", Unit: Share,
				Warn: at(1.0 / 6), Low: true, Queries: []Query{
					{
						`(max ` + byCluster + `(etcd_operator_cluster_certificate_end_timestamp_seconds{` + some + `}) - time()) / (` +
							`max ` + byCluster + `(etcd_operator_cluster_certificate_end_timestamp_seconds{` + some + `}) - ` +
							`max ` + byCluster + `(etcd_operator_cluster_certificate_begin_timestamp_seconds{` + some + `}))`, clusterLegend,
					},
				},
			},
			{
				Kind: Lines, Title: "Until an authority ends", Help: "the operator rotates its own long before", Unit: Seconds, Warn: at(30 * 86400),
				Bad: at(14 * 86400), Low: true, Queries: []Query{
					{
						`min by (namespace, cluster, authority) (etcd_operator_cluster_authority_end_timestamp_seconds{` + some + `}) - time()`,
						clusterLegend + " {{authority}}",
					},
				},
			},
		}},
		{"Usage", []Panel{
			{Kind: Lines, Title: "Members that run", Help: "a member that runs for an hour is a member-hour", Unit: Count, Queries: []Query{
				{`max ` + byCluster + `(etcd_operator_cluster_running_members{` + some + `})`, clusterLegend},
			}},
			{Kind: Lines, Title: "Volumes", Help: "size of the volumes of all members", Unit: Bytes, Queries: []Query{
				{`max ` + byCluster + `(etcd_operator_cluster_volume_bytes{` + some + `})`, clusterLegend},
			}},
			{Kind: Lines, Title: "Backups in stores", Help: "what complete backups take", Unit: Bytes, Queries: []Query{
				{`max ` + byCluster + `(etcd_operator_cluster_backup_bytes{` + some + `})`, clusterLegend},
			}},
		}},
	},
}
