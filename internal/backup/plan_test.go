// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// TestPlan runs the stories in testdata. A story has one command, settle, and lines of what happens, in their order:
//
//	trial=BOOL, policy=DELETION, scheduled, recipients, decryption, verify-policy=POLICY, verified-today   what is wanted
//	snapshot, source=PROBLEM|well, no-snapshots (WHY)   a VolumeSnapshot is taken: why no member's volume can be, why Kubernetes has none
//	found, listed (PROBLEM), replaced (by another backup)   it lies in the store already, what the list says
//	foreign (=replaced, renamed, torn, copied)   so does a snapshot of another program
//	gone (WHY)   the list of the store does not have what was written
//	unmarked, put-back=ID, again=ID (UID of its cluster)   the object was put back by a backup tool, what the store has of its name
//	store=none|missing|unready|ready, cluster=missing|hibernated|unformed|corrupt|silent|locked|ephemeral|well   what there is
//	write|verify|delete=succeeds|fails|refuses|disproves|locked|silent|vanishes|replaced|hangs|left (WORDS)   how the next Job ends
//	lock=DURATION   object lock of the store
//	request=VALUE, object (is deleted; =held: another finalizer holds it), pass=DURATION   what happens
//	stay     time passes no more by itself where the plan waits for it
//	settle   obey the plan until it rests, which it does where only something else can continue; so does the end of the story
//
// Jobs succeed unless a line says otherwise. What is printed is each step with its rule, each event, and how the object stands
// when the plan rests. Steps that every Job has are printed with the argument steps only.
//
// If it fails, run with -rewrite and read the diff before you commit it.
func TestPlan(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s := &story{t: t, world: newWorld(), ends: map[string][]job{}, all: d.HasArg("steps")}
			for _, line := range strings.Split(d.Input, "\n") {
				s.tell(strings.TrimSpace(line))
			}
			s.settle()
			return s.out.String()
		})
	})
}

type story struct {
	*world
	t    *testing.T
	ends map[string][]job // how the next Jobs end, by task
	stay bool             // no time passes by itself
	all  bool             // print the steps that every Job has, too
	out  strings.Builder
}

// ofEveryJob are the rules that every Job has.
var ofEveryJob = []string{"mark the upload", "create the job", "wait for the job", "delete the ended job"}

var ends = map[string]end{
	"succeeds": succeeds, "fails": fails, "refuses": refuses, "disproves": disproves, "locked": locked, "silent": silent, "replaced": stranger,
	"vanishes": running, "hangs": running, "left": left,
}

func (s *story) tell(line string) {
	word, words, _ := strings.Cut(line, " ")
	key, value, _ := strings.Cut(word, "=")
	switch key {
	case "":
	case "settle":
		s.settle()
	case "write", "verify", "delete":
		how, known := ends[value]
		if !known {
			s.t.Fatalf("unknown end %q", value)
		}
		name := map[string]string{"write": backup.Backup, "verify": backup.Verify, "delete": backup.Delete}[key]
		s.ends[name] = append(s.ends[name], job{task: name, end: how, words: words, hangs: value == "hangs"})
	default:
		s.set(key, value, words)
	}
}

// set changes what is wanted, or what there is.
func (s *story) set(key, value, words string) {
	v := &s.v
	switch key {
	case "trial":
		v.Spec.Verify = ptr.To(value == "true")
	case "policy":
		v.Spec.DeletionPolicy = v1beta1.BackupDeletionPolicy(value)
	case "found":
		v.Spec.Cluster, v.Spec.Found, v.Cluster = "", "v1/old/a/u", backup.Cluster{}
		s.stored = whole
	case "listed":
		v.Listed = listed(words)
	case "snapshot":
		s.bySnapshot()
	case "source":
		v.Source.Problem = strings.TrimPrefix(strings.TrimSpace(value+" "+words), "well")
	case "no-snapshots":
		v.NoSnapshots = strings.TrimSpace(value + " " + words)
	case "deleted": // the VolumeSnapshot, by a person
		s.jobs = nil
	case "replaced":
		v.Listed = listed("")
		v.Listed.Backup.ManifestSHA256 = "m2"
	case "foreign":
		v.Listed = &jobspec.Found{Path: "v1/old/a/u", Program: "etcdctl", Backup: jobspec.Facts{Stored: 1 << 20}}
		if value == "renamed" {
			v.Listed.Backup.Revision = 9
		}
		if value == "replaced" {
			v.Listed.Backup.Stored = 2 << 20
		}
		if value == "torn" {
			v.Listed.Problem = "it is torn: 9000 bytes lie there"
		}
		v.Listed.NoHash = value == "copied"
	case "put-back":
		v.Upload = value
	case "gone":
		v.Gone = strings.TrimSpace(value + " " + words)
	case "unmarked":
		v.Upload = ""
	case "again":
		f := listed("")
		f.Path, f.Backup.ClusterUID = "v1/ns/a/"+value, cmp.Or(words, "c-uid")
		v.Again = append(v.Again, *f)
	case "scheduled":
		v.Scheduled = true
	case "verify-policy":
		v.Cluster.Verify = v1beta1.VerifyPolicy(value)
	case "verified-today":
		v.Cluster.LastVerified = start.Add(-2 * time.Hour)
	case "recipients":
		v.Recipients = []string{"age1x"}
	case "decryption":
		v.Decryption = "identities"
	case "request":
		v.Request = value
	case "stay":
		s.stay = true
	case "object":
		v.Deleting, s.held = true, value == "held"
		s.gone = !v.HasFinalizer && !s.held
	case "pass":
		d, err := time.ParseDuration(value)
		if err != nil {
			s.t.Fatal(err)
		}
		s.pass(d)
	case "lock":
		s.lock, _ = time.ParseDuration(value)
	case "store":
		v.Store = stores[value]
	case "cluster":
		v.Cluster = clusters[value]
	default:
		s.t.Fatalf("unknown word %q", key)
	}
	fmt.Fprintf(&s.out, "> %s\n", strings.TrimSuffix(strings.TrimSpace(key+"="+value+" "+words), "="))
}

var stores = map[string]backup.Store{
	"none":    {},
	"missing": {Name: "offsite"},
	"unready": {Name: "offsite", Exists: true, Why: "list s3://backups: connection refused"},
	"ready":   {Name: "offsite", Exists: true, Ready: true},
}

var clusters = map[string]backup.Cluster{
	"missing":    {Name: "a"},
	"hibernated": {Name: "a", Exists: true, UID: "c-uid", ID: "c1", Hibernated: true},
	"unformed":   {Name: "a", Exists: true, UID: "c-uid"},
	"corrupt":    {Name: "a", Exists: true, UID: "c-uid", ID: "c1", Answering: 3, Corrupt: "it has raised the alarm CORRUPT"},
	"silent":     {Name: "a", Exists: true, UID: "c-uid", ID: "c1", Why: "1 of 3 voters are healthy, 2 are needed"},
	"locked":     {Name: "a", Exists: true, UID: "c-uid", ID: "c1", Locked: true},
	"ephemeral":  {Name: "a", Exists: true, UID: "c-uid", ID: "c1", Answering: 3, Ephemeral: true},
	"well":       {Name: "a", Exists: true, UID: "c-uid", ID: "c1", Answering: 3},
}

// settle obeys the plan until it rests.
func (s *story) settle() {
	for range 60 {
		if s.gone {
			s.out.WriteString("the object is gone\n")
			return
		}
		step, because := backup.Next(s.view())
		if s.all || !slices.Contains(ofEveryJob, because) {
			fmt.Fprintf(&s.out, "%s (%s)\n", step, because)
		}
		s.events = nil
		s.obey(step)
		for _, event := range s.events {
			fmt.Fprintf(&s.out, "    %s\n", event)
		}
		if backup.KindOf(step).Rests && !s.goOn(step) {
			s.stand()
			return
		}
	}
	s.out.WriteString("never settles\n")
}

// goOn lets happen what the plan waits for, if it happens by itself.
func (s *story) goOn(step backup.Step) bool {
	about := backup.KindOf(step)
	if about.Soon {
		return s.endJob()
	}
	if !s.stay && !about.Until.IsZero() && (s.v.Status.RetryAt != nil || s.v.Deleting) {
		s.v.Now = about.Until
		return true
	}
	return false
}

// endJob ends the Job that runs as the story says, if it ends.
func (s *story) endJob() bool {
	i := s.find(s.v.Status.Job.Name)
	next := job{end: succeeds}
	if queue := s.ends[s.jobs[i].task]; len(queue) > 0 {
		next, s.ends[s.jobs[i].task] = queue[0], queue[1:]
	}
	if next.end == running && next.hangs {
		s.jobs[i].words = next.words
		step, _ := backup.Next(s.view())
		s.obey(step)
		return false
	}
	if next.end == running {
		s.jobs = nil
		return true
	}
	if next.end == stranger {
		s.jobs[i].uid = "another"
	}
	s.jobs[i].words = next.words
	s.finish(i, next.end)
	return true
}

// stand prints how the object stands.
func (s *story) stand() {
	status := s.v.Status
	fmt.Fprintf(&s.out, "%s", status.Phase)
	if status.Progress != nil {
		fmt.Fprintf(&s.out, ": %s", status.Progress.Message)
		if p := status.Progress; p.Total != nil {
			fmt.Fprintf(&s.out, " (%s of %s, %d %%, %s/s)", p.Read, p.Total, p.Percent, p.Rate)
		}
	}
	s.out.WriteString("\n")
	for _, kind := range []string{v1beta1.ConditionComplete, v1beta1.ConditionVerified} {
		c := meta.FindStatusCondition(status.Conditions, kind)
		fmt.Fprintf(&s.out, "  %s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
}
