package dashboards

// verifiedAge is how much would be lost if the newest verified backup were needed now.
const verifiedAge = `time() - max ` + byCluster + `(etcd_operator_cluster_last_verified_backup_timestamp_seconds{` + some + `})`

var backups = Dashboard{
	Name: "etcd-backups", Title: "etcd / backups", Scope: Fleet,
	Summary: "How old backups are, which are verified, and which schedules fail",
	Rows: []Row{
		{"Now", []Panel{
			{Kind: Number, Title: "Schedules that fail", Help: "BackedUp is False: the reason is below", Unit: Count, Bad: at(1), Queries: []Query{
				{`count(max ` + byCluster + `(etcd_operator_cluster_condition{` + some + `,type="BackedUp",status="False"})) or vector(0)`, ""},
			}},
			{
				Kind: Number, Title: "Clusters without a verified backup", Help: "nothing proves that they can be restored", Unit: Count, Warn: at(1),
				Queries: []Query{
					{
						`count(max ` + byCluster + `(etcd_operator_cluster_info{` + some + `}) unless ` +
							`max ` + byCluster + `(etcd_operator_cluster_last_verified_backup_timestamp_seconds{` + some + `})) or vector(0)`, "",
					},
				},
			},
			{
				Kind: Number, Title: "Oldest of the newest verified backups", Help: "of all clusters that have one", Unit: Seconds,
				Queries: []Query{
					{`max(` + verifiedAge + `)`, ""},
				},
			},
			{Kind: Number, Title: "Stores that do not delete", Help: "retention is not applied", Unit: Count, Warn: at(1), Queries: []Query{
				{`count(max ` + byCluster + `(etcd_operator_cluster_condition{` + some + `,type="RetentionApplied",status="False"})) or vector(0)`, ""},
			}},
		}},
		{"Over time", []Panel{
			{
				Kind: Lines, Title: "Overdue", Help: "since the schedule wanted a newer verified backup: below 0 is good", Unit: Seconds,
				Warn: at(86400), Queries: []Query{
					{`time() - max ` + byCluster + `(etcd_operator_cluster_backup_due_timestamp_seconds{` + some + `})`, clusterLegend},
				},
			},
			{
				Kind: Lines, Title: "Age of the newest verified backup", Help: "each verified backup brings it down", Unit: Seconds,
				Queries: []Query{{verifiedAge, clusterLegend}},
			},
			{Kind: Lines, Title: "Age of the newest backup in a store", Help: "verified or not", Unit: Seconds, Queries: []Query{
				{`time() - max ` + byCluster + `(etcd_operator_cluster_last_backup_timestamp_seconds{` + some + `})`, clusterLegend},
			}},
			{
				Kind: Lines, Title: "Newest backup that is not verified yet",
				Help: "by how much the newest one is ahead of the newest verified one: 0 is good", Unit: Seconds, Queries: []Query{
					{
						`max ` + byCluster + `(etcd_operator_cluster_last_backup_timestamp_seconds{` + some + `}) - ` +
							`max ` + byCluster + `(etcd_operator_cluster_last_verified_backup_timestamp_seconds{` + some + `})`, clusterLegend,
					},
				},
			},
			{
				Kind: Lines, Title: "Age of the newest change in a log", Help: "of clusters with a continuous log: what came later would be lost",
				Unit: Seconds, Queries: []Query{
					{`time() - max ` + byCluster + `(etcd_operator_cluster_log_until_timestamp_seconds{` + some + `})`, clusterLegend},
				},
			},
			{
				Kind: Lines, Title: "How far a log leads back", Help: "to each moment of that time the cluster can be restored", Unit: Seconds,
				Queries: []Query{
					{
						`max ` + byCluster + `(etcd_operator_cluster_log_until_timestamp_seconds{` + some + `}) - ` +
							`max ` + byCluster + `(etcd_operator_cluster_log_from_timestamp_seconds{` + some + `})`, clusterLegend,
					},
				},
			},
			{Kind: Lines, Title: "Backups", Help: "how many there are, by phase", Unit: Count, Queries: []Query{
				{`max by (namespace, cluster, phase) (etcd_operator_cluster_backups{` + some + `})`, clusterLegend + " {{phase}}"},
			}},
			{Kind: Lines, Title: "How long the newest backup took", Help: "until it was in the store", Unit: Seconds, Queries: []Query{
				{`max ` + byCluster + `(etcd_operator_cluster_last_backup_duration_seconds{` + some + `})`, clusterLegend},
			}},
			{Kind: Steps, Title: "Failing", Help: "1 while the schedule of a cluster fails", Unit: Count, Queries: []Query{
				{
					`max by (namespace, cluster, reason) (etcd_operator_cluster_condition{` + some + `,type="BackedUp",status="False"})`,
					clusterLegend + " {{reason}}",
				},
			}},
		}},
		{"Each cluster", []Panel{
			{Kind: Table, Title: "Schedules", Help: "the condition BackedUp", Queries: []Query{
				{`max by (namespace, cluster, status, reason) (etcd_operator_cluster_condition{` + some + `,type="BackedUp"})`, ""},
			}},
			{Kind: Table, Title: "Continuous logs", Help: "the condition LogCurrent", Queries: []Query{
				{`max by (namespace, cluster, status, reason) (etcd_operator_cluster_condition{` + some + `,type="LogCurrent"})`, ""},
			}},
			{
				Kind: Table, Title: "Age of the newest verified backup", Help: "what was written later would be lost", Unit: Seconds,
				Queries: []Query{{verifiedAge, ""}},
			},
		}},
	},
}
