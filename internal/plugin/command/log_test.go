// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

const lineage = "00000000000000c1-0"

// logging is a cluster that keeps a log, in a store that is ready, with the Job that does it.
func logging() (*v1beta1.EtcdCluster, *v1beta1.EtcdBackupStore, *batchv1.Job) {
	c := cluster("a", available)
	c.UID = "a-uid"
	c.Spec.Backup = &v1beta1.Backup{Store: "offsite", Continuous: &v1beta1.Continuous{}}
	c.Status.ClusterID = "c1"
	c.Status.Log = &v1beta1.LogStatus{
		Lineage: lineage, Base: &v1beta1.BackupPoint{Name: "first", Revision: 10},
		Until: &v1beta1.LogPoint{Revision: 20, Time: metav1.NewTime(noon.Add(-time.Minute))},
	}
	s := store("offsite")
	s.Spec.Volume = &v1beta1.VolumeStore{Claim: "backups"}
	s.Status.Conditions = []metav1.Condition{condition(v1beta1.ConditionReady, metav1.ConditionTrue, "Ready")}
	order := jobspec.Order{Verb: jobspec.Follow, Allowed: []string{"minio.example"}, Follow: &jobspec.FollowOrder{SegmentSize: 8 << 20}}
	job := jobs.Follow(c, s, order, jobs.Image{
		Operator: "operator:v1", Endpoints: order.Allowed, Proxy: []corev1.EnvVar{{Name: "HTTPS_PROXY", Value: "http://proxy"}},
	})
	return c, s, job
}

// says has a Job's Pod run as soon as the Job is looked at, which writes these lines. It returns what the Job was.
func (w *world) says(lines ...jobspec.Line) *batchv1.Job {
	var out bytes.Buffer
	for _, line := range lines {
		text, err := json.Marshal(line)
		if err != nil {
			w.t.Fatal(err)
		}
		out.Write(append(text, '\n'))
	}
	return w.prints(func(int) string { return out.String() }, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
}

// prints has that Pod write a text, which may be another one each time its log is read.
func (w *world) prints(text func(read int) string, state corev1.ContainerState) *batchv1.Job {
	made := &batchv1.Job{}
	w.operator = func(o client.Object) error {
		job, is := o.(*batchv1.Job)
		if !is || strings.HasSuffix(job.Name, "-log") || made.Name == job.Name {
			return nil
		}
		*made = *job.DeepCopy()
		return w.unguarded.Create(w.t.Context(), podOf(job, state))
	}
	read := 0
	w.logs = func(_ context.Context, _, _ string, options *corev1.PodLogOptions) (io.ReadCloser, error) {
		if !options.Follow {
			return nil, errors.New("the log is not followed")
		}
		read++
		return io.NopCloser(strings.NewReader(text(read))), nil
	}
	return made
}

func podOf(job *batchv1.Job, state corev1.ContainerState) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: job.Namespace, Name: job.Name + "-x", Labels: map[string]string{batchv1.JobNameLabel: job.Name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec:   job.Spec.Template.Spec,
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: state}}},
	}
}

// isGone fails unless nothing but the Job that keeps the log is left.
func (w *world) isGone() {
	w.t.Helper()
	var all batchv1.JobList
	if err := w.client.List(w.t.Context(), &all); err != nil || len(all.Items) > 1 {
		w.t.Errorf("%d Jobs are left, %v", len(all.Items), err)
	}
}

func record(number, revision int64, key, value string) jobspec.Line {
	return jobspec.Line{Record: &jobspec.Record{
		Number: number, Revision: revision, Time: noon.Add(-time.Hour), Key: []byte(key), Value: []byte(value), Size: len(value),
		CreateRevision: 11, Version: revision - 10,
	}}
}

func deletion(number, revision int64, key string, before *[]byte) jobspec.Line {
	return jobspec.Line{Record: &jobspec.Record{
		Number: number, Revision: revision, Time: noon.Add(-time.Minute), Key: []byte(key), Deleted: true, Before: before,
	}}
}

func ended(r jobspec.Recorded) jobspec.Line { return jobspec.Line{Done: &jobspec.Done{Recorded: &r}} }

var searched = jobspec.Recorded{From: 11, Since: noon.Add(-2 * time.Hour), Until: noon.Add(-time.Minute)}

func of(records int64) jobspec.Recorded {
	r := searched
	r.Records = records
	return r
}

// TestLogIsShown: one line for each change, as a table and as JSON; the Job is like the one that keeps the log, and is deleted.
func TestLogIsShown(t *testing.T) {
	c, s, keeps := logging()
	w := newWorld(t, c, s, keeps)
	lines := []jobspec.Line{
		record(1, 12, "/a", "one"), record(2, 13, "/a b", "\x1b[2J"+strings.Repeat("ä", 40)),
		deletion(3, 14, "/a", ptr.To([]byte("one"))), ended(of(3)),
	}
	job := w.says(lines...)
	wantExit(t, w.run(t.Context(), "log", "a", "--prefix", "/a", "--since", "2h", "--deletes", "--newest"), Done)
	wantText(t, &w.out, "TIME", "2026-11-24T11:00:00.000000Z        12  PUT            3  /a  one", `"/a b"  "\x1b[2J`, `"…`,
		"2026-11-24T11:59:00.000000Z        14  DELETE         -  /a")
	wantText(t, &w.err, "3 changes from revision 11 of 2026-11-24T10:00:00Z up to 2026-11-24T11:59:00Z",
		"the log has everything until 2026-11-24T11:59:00Z")
	w.isGone()
	order, err := jobspec.ParseOrder(job.Spec.Template.Spec.Containers[0].Args[1])
	if err != nil {
		t.Fatal(err)
	}
	o, container := order.Search, job.Spec.Template.Spec.Containers[0]
	if string(o.Key) != "/a" || !o.Prefix || !o.Since.Equal(noon.Add(-2*time.Hour)) || !o.Deletions || !o.Newest || o.Limit != 1000 ||
		o.Values == 0 || o.Before || o.Lineage != lineage || o.End == nil || o.End.Revision != 20 || o.Cluster != "a" {
		t.Errorf("order %+v", o)
	}
	if container.Image != "operator:v1" || len(container.Env) != 1 || len(order.Allowed) != 1 || job.Spec.TTLSecondsAfterFinished == nil {
		t.Errorf("job %+v", job.Spec)
	}
	order.Search = nil
	job = w.says(lines...)
	wantExit(t, w.run(t.Context(), "log", "a", "--key", "/a", "-o", "json"), Done)
	var events []map[string]any
	for decoder := json.NewDecoder(&w.out); decoder.More(); {
		var event map[string]any
		if err := decoder.Decode(&event); err != nil {
			t.Fatal(err)
		}
		events = append(events, event)
	}
	if len(events) != 3 || events[0]["type"] != "PUT" || events[2]["type"] != "DELETE" ||
		events[2]["prev_kv"].(map[string]any)["value"] != "b25l" || events[0]["kv"].(map[string]any)["create_revision"] != 11.0 {
		t.Errorf("%v", events)
	}
	order, err = jobspec.ParseOrder(job.Spec.Template.Spec.Containers[0].Args[1])
	if err != nil || !order.Search.Before || order.Search.Values != 0 {
		t.Errorf("%+v, %v", order.Search, err)
	}
}

// TestLogSaysThatItIsCut, and how to go on, and what is not known.
func TestLogSaysThatItIsCut(t *testing.T) {
	for flags, test := range map[string]struct {
		change func(*jobspec.Recorded)
		says   []string
	}{
		"--limit 1": {
			func(r *jobspec.Recorded) { r.Cut = jobspec.CutLimit }, []string{"1 change, as many as --limit", "go on with --since 12"},
		},
		"--newest": {func(r *jobspec.Recorded) { r.Cut = jobspec.CutSize }, []string{"has room for", "go on with --until 12"}},
		"--since 3h": {
			func(r *jobspec.Recorded) { r.NotBefore, r.NotAfter, r.Others = true, true, []string{"old-0"} },
			[]string{"before revision 11 is in no log", "there is a gap", "--lineage old-0"},
		},
		"--until 3h": {func(r *jobspec.Recorded) { r.From = 0 }, []string{"nothing was logged then"}},
	} {
		c, s, keeps := logging()
		w := newWorld(t, c, s, keeps)
		done := of(1)
		test.change(&done)
		w.says(record(1, 12, "/a", "one"), ended(done))
		wantExit(t, w.run(t.Context(), append([]string{"log", "a", "--key", "/a"}, strings.Fields(flags)...)...), Done)
		wantText(t, &w.err, test.says...)
	}
}

// TestLogIsReadAgain where it breaks off, and each record is shown once. One that was lost is noticed, and one after a loss is not shown.
func TestLogIsReadAgain(t *testing.T) {
	lines := func(all ...jobspec.Line) (text string) {
		for _, line := range all {
			raw, err := json.Marshal(line)
			if err != nil {
				t.Fatal(err)
			}
			text += string(raw) + "\n"
		}
		return text
	}
	first, second, third := record(1, 12, "/a", "one"), record(2, 13, "/a", "two"), record(3, 14, "/a", "three")
	runs := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	for name, test := range map[string]struct {
		reads []string
		exit  int
		says  string
		shown int
	}{
		"broken off":      {[]string{lines(first), lines(first, second), lines(first, second, third, ended(of(3)))}, Done, "3 changes", 3},
		"lost":            {[]string{lines(first), lines(third, ended(of(3)))}, Failed, "after number 1 was lost", 1},
		"lost at the end": {[]string{lines(first, ended(of(2)))}, Failed, "after number 1 was lost", 1},
	} {
		c, s, keeps := logging()
		w := newWorld(t, c, s, keeps)
		w.prints(func(read int) string { return test.reads[min(read, len(test.reads))-1] }, runs)
		wantExit(t, w.run(t.Context(), "log", "a", "--key", "/a"), test.exit)
		wantText(t, &w.err, test.says)
		if shown := strings.Count(w.out.String(), "PUT"); shown != test.shown {
			t.Errorf("%s: %d changes are shown", name, shown)
		}
		w.isGone()
	}
}

// TestLogFails: whatever is in the way is said, with what to do, and nothing is left.
func TestLogFails(t *testing.T) {
	failed := func(reason jobspec.Reason, message string) []jobspec.Line {
		return []jobspec.Line{{Failed: &jobspec.Failed{Reason: reason, Message: message, Final: true}}}
	}
	for says, test := range map[string]struct {
		lines  []jobspec.Line
		change func(*v1beta1.EtcdCluster, *v1beta1.EtcdBackupStore, *batchv1.Job)
	}{
		"nothing was logged":                   {lines: failed(jobspec.NotReached, "nothing was logged")},
		"none was given: --decryption":         {lines: failed(jobspec.WrongKey, "none was given")},
		"update the operator, or give --image": {lines: failed(jobspec.UnsupportedJobSpec, `unknown field "search"`)},
		"EtcdBackupStore offsite is not ready: message of Unreachable": {
			change: func(_ *v1beta1.EtcdCluster, s *v1beta1.EtcdBackupStore, _ *batchv1.Job) {
				s.Status.Conditions = []metav1.Condition{condition(v1beta1.ConditionReady, metav1.ConditionFalse, "Unreachable")}
			},
		},
		"offsite was not looked at yet": {
			change: func(_ *v1beta1.EtcdCluster, s *v1beta1.EtcdBackupStore, _ *batchv1.Job) { s.Status.Conditions = nil },
		},
		"there is no EtcdBackupStore nowhere": {
			change: func(c *v1beta1.EtcdCluster, _ *v1beta1.EtcdBackupStore, _ *batchv1.Job) {
				c.Spec.Backup.Store = "nowhere"
			},
		},
		"set spec.backup.store and spec.backup.continuous": {
			change: func(c *v1beta1.EtcdCluster, _ *v1beta1.EtcdBackupStore, _ *batchv1.Job) { c.Spec.Backup = nil },
		},
		"if it has kept one before, search that with --lineage " + lineage: {
			change: func(c *v1beta1.EtcdCluster, _ *v1beta1.EtcdBackupStore, _ *batchv1.Job) {
				c.Spec.Backup.Continuous, c.Status.Log = nil, nil
			},
		},
		"it has not formed yet": {
			change: func(c *v1beta1.EtcdCluster, _ *v1beta1.EtcdBackupStore, _ *batchv1.Job) { c.Status.ClusterID = "" },
		},
		"give --image": {
			change: func(_ *v1beta1.EtcdCluster, _ *v1beta1.EtcdBackupStore, j *batchv1.Job) {
				j.OwnerReferences[0].UID = "another"
			},
		},
	} {
		c, s, keeps := logging()
		if test.change != nil {
			test.change(c, s, keeps)
		}
		w := newWorld(t, c, s, keeps)
		if test.lines == nil {
			test.lines = failed(jobspec.InternalFailure, "a Job was made")
		}
		w.says(test.lines...)
		wantExit(t, w.run(t.Context(), "log", "a", "--key", "/a"), Failed)
		wantText(t, &w.err, strings.TrimPrefix(says, "it "))
		w.isGone()
	}
}

// TestLogOfAPodThatDoesNotRun: it is said why, and Ctrl-C deletes the Job.
func TestLogOfAPodThatDoesNotRun(t *testing.T) {
	c, s, keeps := logging()
	w := newWorld(t, c, s, keeps)
	w.prints(func(int) string { return "" }, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	creates := w.operator
	w.operator = func(o client.Object) error {
		if strings.Contains(w.err.String(), "ErrImagePull") {
			cancel()
		}
		return creates(o)
	}
	wantExit(t, w.run(ctx, "log", "a", "--key", "/a"), Unfinished)
	wantText(t, &w.err, "waiting for the Pod of Job a-search-", "ErrImagePull", "no longer waiting; Job a-search-", "is deleted")
	w.isGone()
	w.prints(func(int) string { return "panic: no\n" }, corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"},
	})
	wantExit(t, w.run(t.Context(), "log", "a", "--key", "/a"), Failed)
	wantText(t, &w.err, "ended without saying why: code 137, OOMKilled")
	w.isGone()
}

// TestImageOfTheLastPod counts while the Job that keeps the log is created again, and --image where there is neither.
func TestImageOfTheLastPod(t *testing.T) {
	c, s, keeps := logging()
	pod := podOf(keeps, corev1.ContainerState{})
	pod.Labels = keeps.Labels
	w := newWorld(t, c, s, pod)
	job := w.says(ended(of(0)))
	wantExit(t, w.run(t.Context(), "log", "a", "--key", "/a"), Done)
	if image := job.Spec.Template.Spec.Containers[0].Image; image != "operator:v1" {
		t.Errorf("image %s", image)
	}
	w = newWorld(t, c, s)
	job = w.says(ended(of(0)))
	wantExit(t, w.run(t.Context(), "log", "a", "--key", "/a", "--image", "mine:v2"), Done)
	if image := job.Spec.Template.Spec.Containers[0].Image; image != "mine:v2" {
		t.Errorf("image %s", image)
	}
}

// TestStateIsPrinted as one document of JSON, which is none before it is complete.
func TestStateIsPrinted(t *testing.T) {
	c, s, keeps := logging()
	full := backedUp()
	full.Namespace, full.Status.Store, full.Status.Path = "default", "offsite", "v1/default/a/uid-1"
	full.Status.ClusterUID, full.Status.ClusterID, full.Status.Revision = "a-uid", "c1", 10
	full.Status.FinishedAt = ptr.To(metav1.NewTime(noon.Add(-3 * time.Hour)))
	full.Status.StartedAt = full.Status.FinishedAt
	full.Status.Conditions = []metav1.Condition{condition(v1beta1.ConditionComplete, metav1.ConditionTrue, "Complete")}
	full.Status.DatabaseSize = ptr.To(resource.MustParse("300Mi"))
	w := newWorld(t, c, s, keeps, full)
	done := jobspec.Done{
		Located:  &jobspec.Located{Revision: 13, At: noon.Add(-time.Hour), LeftRevision: 14, LeftAt: noon},
		Recorded: &jobspec.Recorded{Records: 2},
	}
	job := w.says(record(1, 12, "/a", "one"), record(2, 13, "/b", ""), jobspec.Line{Done: &done})
	wantExit(t, w.run(t.Context(), "log", "a", "--prefix", "/", "--state", "--before-delete", "/a"), Done)
	var state struct {
		Header struct{ Revision int64 }
		KVs    []struct {
			Key, Value  []byte
			ModRevision int64 `json:"mod_revision"`
		}
		Count int
	}
	if err := json.Unmarshal(w.out.Bytes(), &state); err != nil || state.Count != 2 || len(state.KVs) != 2 || state.Header.Revision != 13 ||
		string(state.KVs[0].Value) != "one" || state.KVs[1].ModRevision != 13 {
		t.Errorf("%+v, %v", state, err)
	}
	wantText(t, &w.err, "2 keys as of revision 13 of 2026-11-24T11:00:00Z", "the next change came with revision 14")
	order, err := jobspec.ParseOrder(job.Spec.Template.Spec.Containers[0].Args[1])
	if err != nil || order.State.Target.BeforeDelete != "/a" || len(order.State.Target.Backups) != 1 || order.State.Target.End == nil {
		t.Errorf("%+v, %v", order.State, err)
	}
	if size := job.Spec.Template.Spec.Volumes[1].EmptyDir.SizeLimit; size.String() != "300Mi" {
		t.Errorf("scratch of %s", size)
	}
	done.Recorded.Records = 0
	w.says(jobspec.Line{Done: &done})
	wantExit(t, w.run(t.Context(), "log", "a", "--prefix", "/", "--state", "--to-revision", "13"), Done)
	if err := json.Unmarshal(w.out.Bytes(), &state); err != nil || state.Count != 0 {
		t.Errorf("%s: %v", w.out.String(), err)
	}
	w.says(record(1, 12, "/a", "one"), jobspec.Line{Failed: &jobspec.Failed{Reason: jobspec.StoreFailed, Message: "the store is gone"}})
	wantExit(t, w.run(t.Context(), "log", "a", "--prefix", "/", "--state", "--to-revision", "13"), Failed)
	if json.Valid(w.out.Bytes()) {
		t.Errorf("a part is JSON: %s", w.out.String())
	}
	w.isGone()
	wantExit(t, w.run(t.Context(), "log", "a", "--prefix", "/", "--state", "--to-revision", "3"), Failed)
	wantText(t, &w.err, "not newer than 3")
	full.Status.Encrypted = true
	w = newWorld(t, c, s, keeps, full)
	wantExit(t, w.run(t.Context(), "log", "a", "--prefix", "/", "--state", "--to-revision", "13"), Failed)
	wantText(t, &w.err, "name the Secret with the age identities in --decryption")
}

// TestLogUsage: what makes no sense is refused before anybody is asked.
func TestLogUsage(t *testing.T) {
	c, s, keeps := logging()
	w := newWorld(t, c, s, keeps)
	w.client = interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			t.Error("something is created")
			return errors.New("no")
		},
	})
	for line, says := range map[string]string{
		"log":                                   "one cluster is to be named",
		"log a":                                 "which keys?",
		"log a --key x --prefix y":              "which keys?",
		"log a --key x --limit -1":              "--limit",
		"log a --key x --since yesterday":       `--since is "yesterday", and must be a time`,
		"log a --key x --since 2h --until 17":   "both times, or both revisions",
		"log a --key x --since 2h --until 3h":   "--until is before --since",
		"log a --key x --since 17 --until 16":   "--until is before --since",
		"log a --key x --to-revision 17":        "go with --state",
		"log a --key x --state --to-revision 1": "--state goes with --prefix",
		"log a --prefix x --state":              "as they were when?",
		"log a --prefix x --state --to-revision 1 --to-time 2026-11-24T10:00:00Z": "exclude each other",
		"log a --prefix x --state --to-revision 1 --since 2h":                     "--since, --until",
		"log a --prefix x --state --to-revision 1 -o table":                       "--state is JSON",
		"log a --key x -o yaml": "may be table or json",
		"log nobody --key x":    "get EtcdCluster nobody",
	} {
		wantExit(t, w.run(t.Context(), strings.Fields(line)...), Failed)
		wantText(t, &w.err, says)
	}
}
