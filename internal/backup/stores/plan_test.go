// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stores_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/stores"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestPlan runs the stories in testdata. A story has one command, settle, and lines of what happens, in their order:
//
//	secret=missing|unreadable|good|rotated|without:KEY,   claim=NAME (instead of S3), image=WORDS (why it is not known)
//	lies=PATH (name=… at=AGE reason=… problem=… program=…), gone=PATH   what is in the store
//	own=NAME (store=…), completes=NAME, fails=NAME, by-hand=PATH, delete=NAME, policy=NAME (becomes Delete)   EtcdBackups
//	check=fails:KIND WORDS|silent WORDS|cut|keeps WORDS|hangs WORDS   how the next Job ends, or why it does not run
//	spec, ask=VALUE, deleted, job=foreign|deleting|none, pass=DURATION   what happens
//	settle   obey the plan until it rests and no Job runs; so does the end of the story
//
// Jobs succeed unless a line says otherwise. What is printed is each step with its rule, each event, and at rest when the store
// is looked at again, its condition if it has another message, and the EtcdBackups that stand for what was found.
//
// If it fails, run with -rewrite and read the diff before you commit it.
func TestPlan(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s := &story{t: t, world: newWorld(t.Errorf)}
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
	t       *testing.T
	hangs   bool
	message string
	out     strings.Builder
}

func (s *story) tell(line string) {
	word, words, _ := strings.Cut(line, " ")
	key, value, _ := strings.Cut(word, "=")
	switch key {
	case "":
		return
	case "settle":
		s.settle()
		return
	}
	fmt.Fprintf(&s.out, "> %s\n", line)
	switch key {
	case "lies":
		s.put(value, words)
	case "check":
		s.end(value, words)
	case "secret":
		s.keys(value)
	case "own", "completes", "fails", "by-hand", "elsewhere", "delete", "policy":
		s.object(key, value, words)
	default:
		s.set(key, value, words)
	}
}

func (s *story) set(key, value, words string) {
	v := &s.v
	switch key {
	case "claim":
		v.Store.Spec = v1beta1.EtcdBackupStoreSpec{Volume: &v1beta1.VolumeStore{Claim: value}, ServiceAccountName: words}
	case "image":
		v.NoImage = strings.TrimSpace(value + " " + words)
	case "gone":
		s.gone(value)
	case "spec":
		v.Store.Generation++
	case "ask":
		v.Store.Annotations = map[string]string{v1beta1.AnnotationCheck: value}
	case "deleted":
		v.Store.DeletionTimestamp = &metav1.Time{Time: v.Now}
	case "job":
		v.Job = jobs.Observed{Exists: value != "none", Owned: value != "foreign", Deleting: value == "deleting", UID: "another"}
	case "pass":
		d, err := time.ParseDuration(value)
		if err != nil {
			s.t.Fatal(err)
		}
		v.Now = v.Now.Add(d)
	default:
		s.t.Fatalf("unknown word %q", key)
	}
}

// put has something lie in the store.
func (s *story) put(path, words string) {
	f := jobspec.Found{Path: path, Backup: jobspec.Facts{Revision: 7, Stored: 1 << 20, StartedAt: start.Add(-time.Hour)}}
	for _, word := range strings.Fields(words) {
		switch key, value, _ := strings.Cut(word, "="); key {
		case "name":
			f.Backup.Name = value
		case "reason":
			f.Backup.Reason = value
		case "sha256":
			f.Backup.ManifestSHA256 = value
		case "problem":
			f.Problem = value
		case "program":
			f.Program = value
		case "at":
			age, err := time.ParseDuration(value)
			if err != nil {
				s.t.Fatal(err)
			}
			f.Backup.StartedAt = start.Add(-age)
		default:
			s.t.Fatalf("unknown word %q", key)
		}
	}
	s.gone(path)
	s.content = append(s.content, f)
}

// end says how the next Job ends.
func (s *story) end(value, words string) {
	how, kind, _ := strings.Cut(value, ":")
	switch how {
	case "fails":
		s.answer = func([]jobspec.Line) []jobspec.Line {
			return []jobspec.Line{{Failed: &jobspec.Failed{Reason: jobspec.StoreFailed, Kind: strings.ReplaceAll(kind, "-", " "), Message: words}}}
		}
	case "silent":
		s.trouble = words
		s.answer = func([]jobspec.Line) []jobspec.Line { return nil }
	case "cut": // the log was rotated
		s.answer = func(all []jobspec.Line) []jobspec.Line { return all[1:] }
	case "keeps":
		s.answer = func(all []jobspec.Line) []jobspec.Line {
			all[len(all)-1].Done.Check.Kept = words
			return all
		}
	case "hangs":
		s.hangs, s.v.Job.Trouble = true, words
	case "goes-on":
		s.hangs = false
	default:
		s.t.Fatalf("unknown end %q", how)
	}
}

func (s *story) keys(value string) {
	how, key, _ := strings.Cut(value, ":")
	all := []string{"accessKeyID", "secretAccessKey"}
	switch how {
	case "missing":
		s.secret = secret{known: true}
	case "unreadable":
		s.secret = secret{}
	case "good", "rotated":
		s.secret = secret{known: true, exists: true, keys: all, version: how}
	case "without":
		all = slices.DeleteFunc(all, func(k string) bool { return k == key })
		s.secret = secret{known: true, exists: true, keys: all, version: how}
	default:
		s.t.Fatalf("unknown secret %q", how)
	}
}

// object is about EtcdBackups.
func (s *story) object(key, value, words string) {
	switch key {
	case "own":
		store := "offsite"
		if words != "" {
			store = strings.TrimPrefix(words, "store=")
		}
		s.v.Backups = append(s.v.Backups, own(value, store))
	case "fails":
		s.fail(value)
	case "completes":
		s.complete(value)
	case "elsewhere": // the operator has found it in another store
		s.v.Backups = append(s.v.Backups, v1beta1.EtcdBackup{
			ObjectMeta: metav1.ObjectMeta{Name: "elsewhere", Namespace: "ns", Labels: map[string]string{specs.ManagedByLabel: v1beta1.FieldOwner}},
			Spec:       v1beta1.EtcdBackupSpec{Store: "other", Found: value},
		})
	case "by-hand":
		s.v.Backups = append(s.v.Backups, v1beta1.EtcdBackup{
			ObjectMeta: metav1.ObjectMeta{Name: "by-hand", Namespace: "ns"},
			Spec:       v1beta1.EtcdBackupSpec{Store: "offsite", Found: value},
		})
	case "delete":
		s.remove(value)
	case "policy":
		s.v.Backups[s.find(value)].Spec.DeletionPolicy = v1beta1.DeleteBackup
	}
}

// settle obeys the plan until it rests, and ends its Jobs.
func (s *story) settle() {
	for range 30 {
		step, because := stores.Next(s.view())
		wait, waits := step.(stores.Wait)
		job := s.v.Job
		runs := waits && job.Exists && !job.Ended && job.Owned && !job.Deleting && s.v.Store.DeletionTimestamp == nil
		if !runs || s.hangs {
			fmt.Fprintf(&s.out, "%s (%s)\n", sentence(step), because)
		}
		s.events = nil
		s.obey(step)
		for _, event := range s.events {
			fmt.Fprintf(&s.out, "    %s\n", event)
		}
		switch {
		case runs && !s.hangs:
			s.endJob()
		case waits:
			s.stand(wait)
			return
		}
	}
	s.out.WriteString("never settles\n")
}

// sentence is a step without what the next lines say.
func sentence(step stores.Step) string {
	if wait, waits := step.(stores.Wait); waits {
		return "wait for " + wait.For
	}
	return step.String()
}

// stand prints how the store stands.
func (s *story) stand(wait stores.Wait) {
	if !wait.Until.IsZero() {
		fmt.Fprintf(&s.out, "next look after %s\n", wait.Until.Sub(s.v.Now))
	}
	if c := s.ready(); c.Message != s.message {
		s.message = c.Message
		fmt.Fprintf(&s.out, "Ready=%s %s since %s: %s\n", c.Status, c.Reason, c.LastTransitionTime.Sub(start), c.Message)
	}
	if newest := s.v.Store.Status.Newest; newest != nil {
		fmt.Fprintf(&s.out, "%d backups, %s, the newest is %s", s.v.Store.Status.Backups, s.v.Store.Status.StoredSize, newest.Name)
		if hidden := s.v.Store.Status.Hidden; hidden > 0 {
			fmt.Fprintf(&s.out, ", %d are hidden", hidden)
		}
		s.out.WriteString("\n")
	}
	for _, b := range s.v.Backups {
		if b.Spec.Found != "" {
			fmt.Fprintf(&s.out, "  %s stands for %s\n", b.Name, b.Spec.Found)
		}
		if gone := b.Annotations[v1beta1.AnnotationGone]; gone != "" {
			fmt.Fprintf(&s.out, "  %s is gone: %s\n", b.Name, gone)
		}
	}
}
