// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package continuous

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// mostGaps are kept in the status.
const mostGaps = 10

// recordEnd writes down how a Job has ended. What one of another lineage says is no news.
func recordEnd(v View) Step {
	if v.state() != jobs.Ended || v.Status.Recorded == v.Job.UID {
		return nil
	}
	s := *v.Status.DeepCopy()
	s.Recorded = v.Job.UID
	failed := v.Job.Failed()
	switch {
	case v.Job.Done() != nil:
		return Record{Status: s, What: "the Job that keeps the log has ended, because it was asked to; the next one goes on"}
	case !v.isOfLineage() || v.Lineage != s.Lineage:
		return Record{Status: s, What: "the Job that has kept the log of another lineage has ended"}
	case failed == nil:
		return v.failed(s, "the Job that keeps the log ended without a result: "+
			cmp.Or(v.Job.Trouble, v.Job.Unread, "Kubernetes does not say why"))
	case failed.Reason == jobspec.Overtaken:
		return v.interrupted(s, failed.Message)
	case needsLineage(*failed):
		s.Forks, s.Failure = s.Forks+1, limited(failed.Message)
		return Record{Status: s, What: "the log cannot be continued: " + failed.Message}
	default:
		return v.failed(s, failed.Message)
	}
}

// needsLineage says whether no process can ever continue the log: what it has is not the history of the cluster, is damaged, or ends before
// a change that is too large for a segment.
func needsLineage(f jobspec.Failed) bool {
	return f.Reason == jobspec.SetBack || f.Reason == jobspec.Corrupt || f.Reason == jobspec.MemberFailed && f.Final
}

// failed is about what another try may do better.
func (v View) failed(s v1beta1.LogStatus, why string) Step {
	s.Failures++
	s.Failure, s.RetryAt = limited(why), at(v.Now.Add(policyOfJobs.Pause(int(s.Failures))))
	return Record{Status: s, What: why, Event: "LogFailed", Warns: true}
}

// interrupted has the log go on after a full backup that is requested from now on. Where nothing had been logged yet nothing is missing.
func (v View) interrupted(s v1beta1.LogStatus, why string) Step {
	had := s.Base != nil && s.Until != nil
	again := s.Base != nil && len(s.Gaps) > 0 && s.Gaps[0].Before != nil && s.Gaps[0].Before.Name == s.Base.Name
	s.Failures++
	s.Failure, s.RetryAt = limited(why), nil
	if s.Failures > 1 {
		s.RetryAt = at(v.Now.Add(policyOfJobs.Pause(int(s.Failures) - 1)))
	}
	switch {
	case had:
		s.Gaps = addGap(s.Gaps, *s.Until, why)
	case again:
		s.Gaps[0].Before = nil
	}
	s.Base, s.FullBackup, s.Since = nil, "", after(v.Now)
	if !isInterrupted(s) {
		return Record{Status: s, What: "the log cannot begin after that full backup, and another one is made: " + why}
	}
	return Record{
		Status: s, Event: "LogInterrupted", Warns: true,
		What: fmt.Sprintf("the log has a gap after revision %d: %s", s.Gaps[0].After.Revision, why),
	}
}

// beginLineage is about another history. A full backup that was requested before counts only if etcd's cluster ID tells them apart.
func beginLineage(v View) Step {
	if v.Lineage == v.Status.Lineage {
		return nil
	}
	s := *v.Status.DeepCopy()
	had := s.Base != nil && s.Until != nil
	if had {
		why := cmp.Or(s.Failure, "the cluster was restored or recovered, and has another history since")
		s.Gaps = addGap(s.Gaps, *s.Until, why)
	}
	first := s.Lineage == ""
	s.Lineage, s.Base, s.FullBackup, s.Since, s.RetryAt = v.Lineage, nil, "", nil, nil
	if !strings.HasSuffix(v.Lineage, "-0") {
		s.Since = after(v.Now)
	}
	r := Record{Status: s, What: "the log is that of lineage " + v.Lineage}
	if !first {
		r.Event, r.Warns = "LogLineageBegun", had
	}
	return r
}

func addGap(gaps []v1beta1.LogGap, after v1beta1.LogPoint, because string) []v1beta1.LogGap {
	all := append([]v1beta1.LogGap{{After: after, Because: shortened(because)}}, gaps...)
	return all[:min(len(all), mostGaps)]
}

// shortened is what is kept of why there is a gap: there may be many.
func shortened(text string) string {
	const most = 250
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// chooseBase takes the newest: what is older may be compacted already.
func chooseBase(v View) Step {
	if v.Status.Base != nil || len(v.Fulls) == 0 {
		return nil
	}
	s := *v.Status.DeepCopy()
	newest := point(v.Fulls[len(v.Fulls)-1])
	s.Base, s.FullBackup, s.From, s.Until, s.MovedAt = &newest, "", nil, nil, at(v.Now)
	for i := range s.Gaps {
		if s.Gaps[i].Before == nil {
			s.Gaps[i].Before = newest.DeepCopy()
		}
	}
	return Record{
		Status: s, Event: "LogBegins",
		What: fmt.Sprintf("the log begins after EtcdBackup %s, at revision %d", newest.Name, newest.Revision),
	}
}

func point(f Full) v1beta1.BackupPoint {
	return v1beta1.BackupPoint{Name: f.Name, Time: metav1.NewTime(f.Time), Revision: f.Revision}
}

// recordFull is about a full backup that was requested. One that is complete and is no base is of another history than was thought.
func recordFull(v View) Step {
	if v.Status.FullBackup == "" {
		return nil
	}
	s := *v.Status.DeepCopy()
	name := s.FullBackup
	s.FullBackup = ""
	isBase := slices.ContainsFunc(v.Fulls, func(f Full) bool { return f.Name == name })
	var why string
	switch a := v.Asked; {
	case isBase:
		return Record{Status: s, What: fmt.Sprintf("EtcdBackup %s is complete", name)}
	case a.Foreign:
		why = "it was there before, and is not one of this cluster"
	case a.Complete:
		why = "it is of another history of the cluster, or in another store"
	case a.Failed != "":
		why = a.Failed
	case a.Exists && a.Deleting:
		why = "it is being deleted"
	default:
		return nil
	}
	s.Failures++
	s.Failure = fmt.Sprintf("EtcdBackup %s cannot be the base of the log: %s", name, why)
	s.RetryAt = at(v.Now.Add(policyOfJobs.Last))
	return Record{Status: s, What: s.Failure, Event: "LogFailed", Warns: true}
}

// requestFull writes down the name before there is the object: whenever the operator dies, there is one at most.
func requestFull(v View) Step {
	if !v.needsFull() || v.Status.FullBackup != "" {
		return nil
	}
	s := *v.Status.DeepCopy()
	s.FullBackups++
	s.FullBackup, s.RetryAt = fullName(v, s.FullBackups), nil
	return Record{Status: s, What: "a full backup is needed: " + s.FullBackup}
}

// fullName differs for each request, and for each EtcdCluster that ever has the name.
func fullName(v View, n int64) string {
	sum := sha256.Sum256([]byte(v.UID + "/" + v.Lineage))
	return cluster.BackupName(v.Cluster, fmt.Sprintf("log-%s-%d", hex.EncodeToString(sum[:4]), n))
}

func createFull(v View) Step {
	if v.Status.FullBackup == "" || v.Asked.Exists {
		return nil
	}
	return CreateBackup{Name: v.Status.FullBackup}
}
