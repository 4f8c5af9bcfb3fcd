// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// TestWalk goes every way that one EtcdBackup can take: at each moment the operator takes its step, or dies before or after it,
// or something else happens: a Job ends in any way, is deleted or replaced, the store or the cluster goes or comes back, time
// passes, a person deletes the object, changes deletionPolicy or asks for a trial.
//
// Disturbances, which are what others do, are at most 2, with -short 1; WALK=3 takes a minute.
//
// An operator that dies forgets nothing, because it remembers nothing: what it does next follows from the objects. So a moment
// is what the objects are, and a write that failed is one that has not happened yet.
func TestWalk(t *testing.T) {
	sum := 0
	luck := 2
	if testing.Short() {
		luck = 1
	}
	if text := os.Getenv("WALK"); text != "" {
		luck, _ = strconv.Atoi(text)
	}
	for _, start := range starts() {
		start.world.luck = luck
		k := &walk{t: t, seen: map[moment]bool{}, ends: map[moment]bool{}}
		k.from(start.world)
		t.Logf("%s: %d moments, %d steps", start.name, len(k.seen), k.steps)
		sum += len(k.seen)
	}
	if sum < 1_000 {
		t.Errorf("only %d moments", sum)
	}
}

type namedWorld struct {
	name  string
	world *world
}

// starts are the kinds of backups that there are.
func starts() []namedWorld {
	var all []namedWorld
	add := func(name string, change func(*world)) {
		w := newWorld()
		change(w)
		all = append(all, namedWorld{name, w})
	}
	add("a person's", func(*world) {})
	add("not marked", func(w *world) { w.v.Upload = "" })
	add("of a schedule", func(w *world) { w.v.Scheduled = true })
	add("to be deleted with what is stored", func(w *world) { w.v.Spec.DeletionPolicy = v1beta1.DeleteBackup })
	add("encrypted", func(w *world) { w.v.Recipients = []string{"age1x"} })
	add("not to be verified", func(w *world) { w.v.Spec.Verify = ptr.To(false) })
	add("found", func(w *world) {
		w.v.Spec.Cluster, w.v.Spec.Found, w.v.Cluster, w.stored = "", "v1/old/a/u", backup.Cluster{}, whole
		w.v.Listed = listed("")
	})
	add("put back", func(w *world) {
		w.v.Upload, w.stored = "old", whole
		w.v.Again = []jobspec.Found{*listed("")}
		w.v.Again[0].Path = "v1/ns/a/old"
	})
	add("locked by the store", func(w *world) { w.v.Spec.DeletionPolicy, w.lock = v1beta1.DeleteBackup, 24*time.Hour })
	add("by VolumeSnapshot", (*world).bySnapshot)
	add("by VolumeSnapshot, to be deleted with it", func(w *world) {
		w.bySnapshot()
		w.v.Spec.DeletionPolicy = v1beta1.DeleteBackup
	})
	add("by VolumeSnapshot, put back", func(w *world) {
		w.bySnapshot()
		w.v.Upload, w.jobs = "old", []job{{name: "old", uid: "uid-old", task: backup.Backup, end: succeeds}}
	})
	return all
}

// A walk has been at some moments. What follows a moment follows from it alone.
type walk struct {
	t     *testing.T
	seen  map[moment]bool
	ends  map[moment]bool // it was seen that the operator ends its work from there
	queue []*world
	steps int
}

func (k *walk) from(start *world) {
	k.visit(start)
	for len(k.queue) > 0 && !k.t.Failed() {
		w := k.queue[0]
		k.queue = k.queue[1:]
		k.operate(w)
		for _, next := range w.happenings() {
			k.visit(next)
		}
		k.mustSettle(w)
	}
}

func (k *walk) visit(w *world) {
	if w.gone || k.seen[w.moment()] {
		return
	}
	k.seen[w.moment()] = true
	k.queue = append(k.queue, w)
}

// operate takes the operator's step.
func (k *walk) operate(w *world) {
	step, because := backup.Next(w.view())
	after := w.copy()
	after.obey(step)
	if broken := violation(w, after, step); broken != "" {
		k.t.Fatalf("%s: %s (%s)\nstatus %+v\njobs %+v", broken, step, because, w.v.Status, w.jobs)
	}
	k.steps++
	k.visit(after)
}

// violation says what must never happen and has.
func violation(before, after *world, step backup.Step) string {
	was, is := before.v.Status, after.v.Status
	switch s := step.(type) {
	case backup.CreateJob:
		return createViolation(before, s)
	case backup.CreateSnapshot:
		return createViolation(before, backup.CreateJob{Name: s.Name, Task: backup.Backup})
	case backup.DeleteSnapshot:
		if was.VolumeSnapshot != nil && !before.v.Deleting {
			return "a VolumeSnapshot is deleted that is the backup"
		}
	case backup.DeleteJob:
		if !was.Job.Ended && !before.v.Deleting {
			return "a Job is deleted whose result is not written down"
		}
	case backup.RemoveFinalizer:
		if before.v.Deleting && before.v.Spec.DeletionPolicy == v1beta1.DeleteBackup && before.stored != nothing && before.v.Store.Exists {
			return "an object goes whose deletionPolicy is Delete, and what is stored stays"
		}
		isThere := before.v.NoSnapshots == "" && before.view().Taken.For != ""
		if before.v.Deleting && before.v.Spec.DeletionPolicy == v1beta1.DeleteBackup && isThere {
			return "an object goes whose deletionPolicy is Delete, and its VolumeSnapshot stays"
		}
	case backup.Record, backup.AddFinalizer, backup.Mark, backup.Wait, backup.Refuse, backup.Done:
	}
	switch {
	case was.VolumeSnapshot != nil && (is.VolumeSnapshot == nil || is.Path != was.Path):
		return "a VolumeSnapshot that is the backup is forgotten"
	case was.VolumeSnapshot == nil && is.VolumeSnapshot != nil: // which the status named up to now
		return trialViolation(before, was, is)
	case was.Job != nil && is.Job == nil && before.view().Job.Exists && before.view().Job.Owned && before.view().Job.UID == was.Job.UID:
		return "a Job is forgotten that exists"
	case before.v.Spec.Found == "" && was.ManifestSHA256 != "" &&
		(is.ManifestSHA256 != was.ManifestSHA256 || is.Path != was.Path || status(is, "Complete") != "True"):
		return "a backup that was complete is no longer"
	case is.Jobs < was.Jobs:
		return "a number of a Job is used again"
	}
	return trialViolation(before, was, is)
}

func createViolation(before *world, s backup.CreateJob) string {
	status := before.v.Status
	switch {
	case status.Job == nil || status.Job.Name != s.Name || status.Job.Task != s.Task:
		return "a Job is created that the status does not name"
	case s.Task == backup.Delete && (!before.v.Deleting || before.v.Spec.DeletionPolicy != v1beta1.DeleteBackup):
		return "what is stored is deleted, and that was not reported"
	case !before.isSnapshot() && !before.v.Store.Exists || s.Task == backup.Backup && before.v.Cluster.Hibernated:
		return "a Job is created that cannot do its work"
	case s.Task == backup.Backup && before.v.Spec.Found != "":
		return "a backup that was found is written"
	case s.Task == backup.Backup && (status.ManifestSHA256 != "" || status.VolumeSnapshot != nil):
		return "a backup that is complete is written again"
	}
	for _, j := range before.jobs {
		if j.end != stranger && j.name != s.Name && !before.has(j) {
			return "a second Job is created beside " + j.name
		}
	}
	return ""
}

// has says whether a VolumeSnapshot is the backup, or was it and is yet to be deleted.
func (w *world) has(j job) bool {
	s := w.v.Status.VolumeSnapshot
	return w.isSnapshot() && j.task == backup.Backup && s != nil && s.UID == j.uid
}

func trialViolation(before *world, was, is v1beta1.EtcdBackupStatus) string {
	job := before.view().Job
	switch {
	case status(was, "Verified") != "True" && status(is, "Verified") == "True" && was.Verified == nil &&
		(was.Job == nil || job.Done() == nil || job.Done().Trial == nil):
		return "a backup is verified without a trial"
	case status(was, "Verified") != "False" && status(is, "Verified") == "False" && (job.Failed() == nil || was.Job.Task != backup.Verify) &&
		(was.Trial == nil || was.Trial.Reason == ""):
		return "a backup is not good without a trial"
	case is.Verified != nil && is.Trial.Reason != "":
		return "a backup is verified and not good"
	case was.Verified != nil && is.Verified == nil && is.Trial.Reason == "":
		return "a trial that was passed is forgotten"
	case was.Trial != nil && was.Trial.Reason != "" && is.Verified == nil && (is.Trial == nil || is.Trial.Reason == ""):
		return "a backup that is not good is so no longer, without a trial"
	}
	return ""
}

func status(s v1beta1.EtcdBackupStatus, kind string) metav1.ConditionStatus {
	c := meta.FindStatusCondition(s.Conditions, kind)
	if c == nil {
		return ""
	}
	return c.Status
}

// happenings are the worlds after something that the operator has no part in.
func (w *world) happenings() []*world {
	var all []*world
	happens := func(what func(*world)) {
		next := w.copy()
		what(next)
		all = append(all, next)
	}
	for i, j := range w.jobs {
		for _, how := range endsOf(j, w.isSnapshot()) {
			happens(func(w *world) { w.finish(i, how) })
		}
	}
	happens((*world).passRetry)
	happens((*world).passLock)
	if w.v.Scheduled {
		happens(func(w *world) { w.v.Created = start.Add(-7 * time.Hour) })
		happens((*world).passTrials)
	}
	if w.luck == 0 {
		return all
	}
	for _, what := range w.disturbances() {
		happens(func(w *world) {
			w.luck--
			what(w)
		})
	}
	return all
}

// endsOf are the ways in which a Job may end.
func endsOf(j job, isSnapshot bool) []end {
	switch {
	case j.end != running:
		return nil
	case j.task == backup.Delete:
		return []end{succeeds, fails, refuses, silent, locked}
	case isSnapshot && j.task == backup.Backup:
		return []end{succeeds, fails}
	case j.task == backup.Verify:
		return []end{succeeds, fails, refuses, silent, disproves}
	default:
		return []end{succeeds, fails, refuses, silent, locked}
	}
}

// disturbances are what others do.
func (w *world) disturbances() []func(*world) {
	all := []func(*world){
		func(w *world) { w.v.Deleting, w.gone = true, !w.v.HasFinalizer },
		func(w *world) { w.v.Request = "1" },
		func(w *world) { w.v.Spec.DeletionPolicy = v1beta1.RetainBackup },
		func(w *world) { w.v.Spec.DeletionPolicy = v1beta1.DeleteBackup },
	}
	for _, store := range []string{"missing", "unready", "ready"} {
		all = append(all, func(w *world) { w.v.Store = stores[store] })
	}
	for _, j := range w.jobs {
		all = append(all,
			func(w *world) { w.jobs = nil },
			func(w *world) { w.jobs = []job{{name: j.name, uid: "another", task: j.task, end: stranger}} })
	}
	if w.isSnapshot() {
		all = append(all,
			func(w *world) { // with which all that there were go
				w.v.NoSnapshots = "the CRDs are not installed"
				w.jobs = slices.DeleteFunc(w.jobs, func(j job) bool { return j.task == backup.Backup })
			}, func(w *world) { w.v.NoSnapshots = "" },
			func(w *world) { w.v.Source.Problem = "none answers" }, func(w *world) { w.v.Source.Problem = "" })
	}
	if w.v.Spec.Found != "" {
		return append(all, func(w *world) { w.v.Listed = listed("") }, func(w *world) { w.v.Listed = listed("corrupt") })
	}
	return append(all, func(w *world) { w.v.Cluster = clusters["hibernated"] }, func(w *world) { w.v.Cluster = clusters["well"] })
}

// Time stands still in a walk; instead, what was to come has come.
func (w *world) passRetry() {
	if w.v.Status.RetryAt != nil {
		w.v.Status.RetryAt = at(start)
	}
}

func (w *world) passTrials() {
	if w.v.Status.FinishedAt != nil {
		w.v.Status.FinishedAt = at(start.Add(-7 * time.Hour))
	}
}

func (w *world) passLock() {
	if w.v.Status.LockedUntil != nil {
		w.v.Status.LockedUntil = at(start)
	}
}

// A moment is what matters of a world: neither numbers that only grow, nor words.
type moment struct {
	deleting, finalizer, request, policy, late, lateTrial bool
	upload, gone                                          string
	again                                                 int
	listed                                                int
	exists, ready, hibernated                             bool
	stored                                                content
	luck                                                  int
	first, second                                         job

	taken, noSnapshots, noSource       bool
	job                                v1beta1.JobReference
	failure                            v1beta1.BackupFailure
	trial                              v1beta1.BackupTrial
	verified, retry, locked, path, sha bool
}

func (w *world) moment() moment {
	s := w.v.Status
	m := moment{
		deleting: w.v.Deleting, finalizer: w.v.HasFinalizer, request: w.v.Request != "", policy: w.v.Spec.DeletionPolicy == v1beta1.DeleteBackup,
		late: w.v.Created.Before(start), lateTrial: s.FinishedAt != nil && s.FinishedAt.Time.Before(start.Add(-2*time.Hour)),
		exists: w.v.Store.Exists, ready: w.v.Store.Ready, hibernated: w.v.Cluster.Hibernated, stored: w.stored,
		upload: w.upload(), gone: w.v.Gone, again: len(w.v.Again), verified: s.Verified != nil, luck: w.luck,
		retry: s.RetryAt != nil && s.RetryAt.After(start), locked: s.LockedUntil != nil && s.LockedUntil.After(start),
		path: s.Path != "", sha: s.ManifestSHA256 != "", trial: ptr.Deref(s.Trial, v1beta1.BackupTrial{}),
	}
	m.trial.Message = ""
	m.taken, m.noSnapshots, m.noSource = s.VolumeSnapshot != nil, w.v.NoSnapshots != "", w.v.Source.Problem != ""
	if w.v.Listed != nil {
		m.listed = 1 + len(w.v.Listed.Problem)
	}
	if len(w.jobs) > 0 {
		m.first = w.jobs[0].known(s)
	}
	if len(w.jobs) > 1 {
		m.second = w.jobs[1].known(s)
	}
	if s.Job != nil {
		m.job = *s.Job
		m.job.Name = ""
		if s.Job.UID != "" {
			m.job.UID = "known"
		}
	}
	if s.Failure != nil {
		m.failure = *s.Failure
		m.failure.Message = ""
	}
	return m
}

// upload says whether the folder on the object is the one that is written to, without the number of the attempt.
func (w *world) upload() string {
	folder := w.v.UID
	if w.v.Status.Path != "" {
		folder = path.Base(w.v.Status.Path)
	}
	switch {
	case w.v.Upload == folder:
		return "current"
	case strings.HasPrefix(w.v.Upload, w.v.UID), strings.Contains(w.v.Upload, "-backup-"):
		return "of an earlier attempt"
	default:
		return w.v.Upload
	}
}

// known is a Job by what the status says of it.
func (j job) known(s v1beta1.EtcdBackupStatus) job {
	known := job{task: j.task, end: j.end}
	if s.Job != nil && s.Job.Name == j.name {
		known.name = "named"
	}
	if s.Job != nil && s.Job.UID == j.uid {
		known.uid = "known"
	}
	return known
}

// mustSettle has everything go well from now on, and demands that the operator ends its work.
func (k *walk) mustSettle(w *world) {
	now := w.copy()
	var path []moment
	for range 60 {
		m := now.moment()
		if k.ends[m] {
			k.settled(path)
			return
		}
		path = append(path, m)
		step, _ := backup.Next(now.view())
		now.obey(step)
		about := backup.KindOf(step)
		switch {
		case now.gone:
			k.settled(path)
			return
		case about.Soon:
			now.finish(now.find(now.v.Status.Job.Name), succeeds)
		case about.Rests && now.moment().retry, about.Rests && now.v.Deleting && now.moment().locked:
			now.passRetry()
			now.passLock()
		case about.Rests:
			if left := now.left(); left != "" {
				k.t.Fatalf("%s at %s\nfrom status %+v\njobs %+v", left, step, w.v.Status, w.jobs)
			}
			k.settled(path)
			return
		}
	}
	k.t.Fatalf("never settles\nfrom status %+v\njobs %+v", w.v.Status, w.jobs)
}

func (k *walk) settled(path []moment) {
	for _, m := range path {
		k.ends[m] = true
	}
}

// hindersSnapshot says whether no VolumeSnapshot can be taken, or the one is gone that the object stands for.
func (w *world) hindersSnapshot() bool {
	v := w.view()
	isLost := v.Gone != "" || v.Upload == "old" && v.Taken.For == ""
	return w.isSnapshot() && (isLost || v.NoSnapshots != "" || v.Source.Problem != "")
}

// left says what was not done although nothing hinders it.
func (w *world) left() string {
	s := w.v.Status
	hindered := !w.isSnapshot() && !w.v.Store.Ready || w.hindersSnapshot() || w.v.Cluster.Hibernated ||
		w.v.Spec.Found != "" && w.v.Listed == nil
	switch {
	case w.v.Deleting && w.v.HasFinalizer:
		return "the object stays for ever"
	case s.Job != nil:
		return "the status names a Job"
	case slices.ContainsFunc(w.jobs, func(j job) bool { return j.end != stranger && !w.has(j) && j.name != "old" }):
		return "a Job is left"
	case w.v.HasFinalizer != (w.v.Spec.DeletionPolicy == v1beta1.DeleteBackup):
		return "the finalizer is not as deletionPolicy says"
	case hindered:
		return ""
	case s.Failure != nil && s.Failure.Final:
		return ""
	case s.Phase != v1beta1.BackupComplete:
		return "the backup is not complete"
	case s.Trial == nil || s.Trial.Wanted:
		return "a trial is open"
	case w.v.Request != "" && s.Verified == nil && s.Trial.Reason == "":
		return "a trial that was asked for was not made"
	}
	return ""
}
