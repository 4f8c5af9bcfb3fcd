// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// A Figure is one number about a cluster, as Prometheus keeps it. Labels are those of its Gauge, in that order; namespace and name of the
// cluster come before.
type Figure struct {
	Gauge  *Gauge
	Labels []string
	Value  float64
}

// A Gauge is what figures of one name mean.
type Gauge struct {
	Name, Help string
	Labels     []string
}

var (
	gaugeInfo = &Gauge{"etcd_operator_cluster_info", "Always 1; version is the lowest etcd version that a member runs, target what " +
		"members are " +
		"brought to.", []string{"version", "target"}}
	gaugeCondition = &Gauge{
		"etcd_operator_cluster_condition", "1 if the condition of the EtcdCluster has the status, with its reason.",
		[]string{"type", "status", "reason"},
	}
	gaugeWanted = &Gauge{"etcd_operator_cluster_wanted_members", "Voting members that the spec wants; 0 hibernates.", nil}
	gaugePaused = &Gauge{"etcd_operator_cluster_paused", "1 while nothing is changed or healed, because the spec or an annotation says " +
		"so.", nil}
	gaugeQuorum = &Gauge{"etcd_operator_cluster_has_leader", "1 if the member list was read with quorum by a leader that answers; not there " +
		"while it is not known whether members serve (Available is Unknown).", nil}
	gaugeAlarm    = &Gauge{"etcd_operator_cluster_alarms", "Alarms that etcd has raised, by kind: NOSPACE or CORRUPT.", []string{"kind"}}
	gaugeVerified = &Gauge{
		"etcd_operator_cluster_last_verified_backup_timestamp_seconds", "When the newest backup was begun that has passed a trial.",
		nil,
	}
	gaugeBackup = &Gauge{"etcd_operator_cluster_last_backup_timestamp_seconds", "When the newest backup was begun that is in a store.", nil}
	gaugeDue    = &Gauge{
		"etcd_operator_cluster_backup_due_timestamp_seconds", "When the schedule wants a backup after the newest one that is as it should be: " +
			"verified, if the schedule says so.", nil,
	}
	gaugeLogFrom = &Gauge{
		"etcd_operator_cluster_log_from_timestamp_seconds", "When the full backup was begun from which the continuous log leads on without a " +
			"gap: from then on the cluster can be restored to any moment.", nil,
	}
	gaugeLogUntil = &Gauge{
		"etcd_operator_cluster_log_until_timestamp_seconds", "Until when the continuous log has every change.", nil,
	}
	gaugeEqual = &Gauge{
		"etcd_operator_cluster_last_equal_hashes_timestamp_seconds", "When the data of all members was last compared and found equal.", nil,
	}
	gaugeEnd = &Gauge{"etcd_operator_cluster_authority_end_timestamp_seconds", "When a certificate authority ends.", []string{"authority"}}

	gaugeCertBegin = &Gauge{
		"etcd_operator_cluster_certificate_begin_timestamp_seconds", "When the certificate of members began to be valid that ends first.", nil,
	}
	gaugeCertEnd = &Gauge{
		"etcd_operator_cluster_certificate_end_timestamp_seconds", "When the first certificate of members ends. It is to be renewed while a " +
			"third of its life is left.", nil,
	}

	gaugeRunning = &Gauge{"etcd_operator_cluster_running_members", "Members that have a Pod: a member that runs for an hour is a " +
		"member-hour.", nil}
	gaugeVolumes = &Gauge{"etcd_operator_cluster_volume_bytes", "Size of the volumes of all members, as they were given.", nil}
	gaugeBackups = &Gauge{"etcd_operator_cluster_backups", "EtcdBackups of the cluster, by phase.", []string{"phase"}}
	gaugeStored  = &Gauge{"etcd_operator_cluster_backup_bytes", "What the complete backups of the cluster take in their stores.", nil}
	gaugeTook    = &Gauge{"etcd_operator_cluster_last_backup_duration_seconds", "How long the newest complete backup took to be written.", nil}

	gaugeDrills = &Gauge{
		"etcd_operator_cluster_drills", "EtcdDrills of the cluster and the runs in their history, by action and phase.",
		[]string{"action", "phase"},
	}
	gaugeRecovery = &Gauge{
		"etcd_operator_cluster_last_drill_recovery_seconds", "How long the cluster took to recover in the newest drill of the action that " +
			"has ended so.", []string{"action"},
	}

	gaugeMember = &Gauge{"etcd_operator_member_healthy", "1 if the member answers linearizable reads.", []string{"member", "role"}}
	gaugeLeader = &Gauge{"etcd_operator_member_is_leader", "1 if the other members follow it.", []string{"member"}}
	gaugeSize   = &Gauge{"etcd_operator_member_database_size_bytes", "Size of the database file, which the quota counts.", []string{"member"}}
	gaugeInUse  = &Gauge{"etcd_operator_member_database_in_use_bytes", "What of the database file holds data: the rest is what a " +
		"defragmentation " +
		"gives back.", []string{"member"}}
	gaugeQuota = &Gauge{"etcd_operator_member_database_quota_bytes", "Size of the database file at which etcd refuses " +
		"writes.", []string{"member"}}
	gaugeBehind = &Gauge{"etcd_operator_member_entries_behind", "Committed entries of the leader that the member has yet to " +
		"apply.", []string{"member"}}
	gaugeSlow = &Gauge{
		"etcd_operator_member_slow", "1 while the member is slower than its peers and than it was, by signal: fsync, commit or apply.",
		[]string{"member", "signal"},
	}
)

// Gauges are all that there are, in the order of the documentation.
var Gauges = []*Gauge{
	gaugeInfo, gaugeCondition, gaugeWanted, gaugePaused, gaugeQuorum, gaugeAlarm, gaugeVerified, gaugeBackup, gaugeDue, gaugeLogFrom,
	gaugeLogUntil, gaugeEqual, gaugeEnd, gaugeCertBegin, gaugeCertEnd,
	gaugeRunning, gaugeVolumes, gaugeBackups, gaugeStored, gaugeTook, gaugeDrills, gaugeRecovery,
	gaugeMember, gaugeLeader, gaugeSize, gaugeInUse, gaugeQuota, gaugeBehind, gaugeSlow,
}

// A Meter counts what a gauge has been over time, in its unit times seconds: what is billed.
type Meter struct {
	Name, Help string
	Of         *Gauge
}

// Meters are all that there are, in the order of the documentation.
var Meters = []*Meter{
	{"etcd_operator_cluster_member_seconds_total", "Seconds that members have had a Pod: 3600 are a member-hour.", gaugeRunning},
	{
		"etcd_operator_cluster_volume_byte_seconds_total", "Size of the volumes of all members, times the seconds that they were there.",
		gaugeVolumes,
	},
	{"etcd_operator_cluster_backup_byte_seconds_total", "What complete backups take, times the seconds that they were there.", gaugeStored},
}

// Figures are the numbers of a cluster after a look. What is not known at present is left out: a number that is old would look like one of
// now, and a member that the operator does not reach like one that is down.
func Figures(status v1beta1.EtcdClusterStatus, v cluster.View) []Figure {
	all := []Figure{
		{gaugeInfo, []string{status.Version, status.TargetVersion}, 1},
		{gaugeWanted, nil, float64(v.Want.Size)},
		{gaugeRunning, nil, float64(v.Count(cluster.HasPod))},
		{gaugePaused, nil, truth(v.Want.Paused != "")},
	}
	isObserved := !meta.IsStatusConditionPresentAndEqual(status.Conditions, v1beta1.ConditionAvailable, metav1.ConditionUnknown)
	all = slices.Concat(all, etcdFigures(v, isObserved), tlsFigures(v))
	conditions := status.Conditions
	if b := status.Backup; b != nil {
		conditions = append(slices.Clip(conditions), b.Conditions...)
	}
	if l := status.Log; l != nil {
		conditions = append(slices.Clip(conditions), l.Conditions...)
		all = append(all, point(gaugeLogFrom, l.From)...)
		if l.Until != nil {
			all = append(all, Figure{gaugeLogUntil, nil, seconds(l.Until.Time)})
		}
	}
	for _, c := range conditions {
		all = append(all, Figure{gaugeCondition, []string{c.Type, string(c.Status), c.Reason}, 1})
	}
	if b := status.Backup; b != nil {
		all = append(all, point(gaugeBackup, b.Last)...)
		all = append(all, point(gaugeVerified, b.Verified)...)
	}
	if check := status.LastHashCheck; check != nil && check.EqualTime != nil {
		all = append(all, Figure{gaugeEqual, nil, seconds(*check.EqualTime)})
	}
	if size := status.VolumeSize; size != nil {
		all = append(all, Figure{gaugeVolumes, nil, float64(size.Value()) * float64(v.Count(cluster.IsListed))})
	}
	for _, a := range v.Anomalies {
		all = append(all, Figure{gaugeSlow, []string{a.Member, a.Signal}, 1})
	}
	for _, m := range v.Select(cluster.IsListed) {
		all = append(all, memberFigures(m, isObserved)...)
	}
	return all
}

// etcdFigures are what etcd says, if it says anything.
func etcdFigures(v cluster.View, isObserved bool) (all []Figure) {
	if _, led := v.Leader(); isObserved {
		all = append(all, Figure{gaugeQuorum, nil, truth(led && v.Unread == "")})
	}
	if v.Count(func(m cluster.Member) bool { return m.Answers }) > 0 {
		for _, kind := range []string{cluster.NoSpace, cluster.Corrupt} {
			all = append(all, Figure{gaugeAlarm, []string{kind}, float64(len(v.Raised(kind)))})
		}
	}
	return all
}

// tlsFigures are when authorities and certificates end.
func tlsFigures(v cluster.View) (all []Figure) {
	for _, a := range v.Rotation.Authorities {
		if a.End > 0 {
			all = append(all, Figure{gaugeEnd, []string{a.Name}, float64(a.End)})
		}
	}
	if life := v.Certificates; life.End > 0 {
		all = append(all, Figure{gaugeCertBegin, nil, float64(life.Begin)}, Figure{gaugeCertEnd, nil, float64(life.End)})
	}
	return all
}

// BackupFigures are the numbers of a cluster's backups, of which the schedule wants a newer one by then; zero: it wants none.
func BackupFigures(backups []v1beta1.EtcdBackup, due time.Time) []Figure {
	var all []Figure
	if !due.IsZero() {
		all = append(all, Figure{gaugeDue, nil, float64(due.Unix())})
	}
	phases, stored := map[v1beta1.BackupPhase]int{}, int64(0)
	var newest *v1beta1.EtcdBackup
	for i := range backups {
		b := &backups[i]
		phases[b.Status.Phase]++
		if b.Status.Phase != v1beta1.BackupComplete || b.Status.StartedAt == nil || b.Status.FinishedAt == nil {
			continue
		}
		if b.Status.StoredSize != nil {
			stored += b.Status.StoredSize.Value()
		}
		if newest == nil || newest.Status.StartedAt.Before(b.Status.StartedAt) {
			newest = b
		}
	}
	for phase, number := range phases {
		if phase != "" { // it was created a moment ago
			all = append(all, Figure{gaugeBackups, []string{string(phase)}, float64(number)})
		}
	}
	all = append(all, Figure{gaugeStored, nil, float64(stored)})
	if newest != nil {
		all = append(all, Figure{gaugeTook, nil, newest.Status.FinishedAt.Sub(newest.Status.StartedAt.Time).Seconds()})
	}
	return all
}

// DrillFigures are the numbers of a cluster's drills.
func DrillFigures(drills []v1beta1.EtcdDrill) []Figure {
	var all []Figure
	type kind struct{ action, phase string }
	numbers, newest := map[kind]int{}, map[string]v1beta1.DrillResult{}
	for i := range drills {
		action := string(drills[i].Spec.Action)
		for _, run := range runs(&drills[i]) {
			numbers[kind{action, string(run.Phase)}]++
			if before := newest[action]; run.RecoveredIn != nil && before.EndedAt.Before(&run.EndedAt) {
				newest[action] = run
			}
		}
	}
	for of, number := range numbers {
		all = append(all, Figure{gaugeDrills, []string{of.action, of.phase}, float64(number)})
	}
	for action, run := range newest {
		all = append(all, Figure{gaugeRecovery, []string{action}, run.RecoveredIn.Seconds()})
	}
	return all
}

// runs are the last one of a drill and those before it. What one that goes on has measured is not known yet.
func runs(d *v1beta1.EtcdDrill) []v1beta1.DrillResult {
	if d.Status.Phase == "" { // it was created a moment ago
		return nil
	}
	last := v1beta1.DrillResult{Phase: d.Status.Phase}
	if ended := d.Status.EndedAt; ended != nil {
		last.EndedAt, last.RecoveredIn = *ended, d.Status.RecoveredIn
	}
	return append([]v1beta1.DrillResult{last}, d.Status.History...)
}

// memberFigures leave out what a member does not say at present, and that it is down while it may be the operator that is cut off.
func memberFigures(m cluster.Member, isObserved bool) []Figure {
	var all []Figure
	if isObserved || m.Healthy {
		all = append(all, Figure{gaugeMember, []string{m.Name, strings.ToLower(role(m))}, truth(m.Healthy)},
			Figure{gaugeLeader, []string{m.Name}, truth(m.Leader)})
	}
	if m.Pod.Quota > 0 {
		all = append(all, Figure{gaugeQuota, []string{m.Name}, float64(m.Pod.Quota)})
	}
	if m.Answers && m.DBSize > 0 {
		all = append(all, Figure{gaugeSize, []string{m.Name}, float64(m.DBSize)}, Figure{gaugeInUse, []string{m.Name}, float64(m.InUse)},
			Figure{gaugeBehind, []string{m.Name}, float64(m.Behind)})
	}
	return all
}

func point(of *Gauge, b *v1beta1.BackupPoint) []Figure {
	if b == nil {
		return nil
	}
	return []Figure{{of, nil, seconds(b.Time)}}
}

func seconds(at metav1.Time) float64 { return float64(at.Unix()) }

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
