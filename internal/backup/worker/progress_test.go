// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	logwriter "github.com/etcd-operator/etcd-operator/internal/backup/log/writer"
)

// Progress comes at most once a second, however often it is reported, and a rate is that of the last seconds.
func TestProgress(t *testing.T) {
	now := time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	say := newProgressWriter(&out, func() time.Time { return now })
	step := func(passed time.Duration, read int64, message string) *jobspec.Progress {
		out.Reset()
		now = now.Add(passed)
		say.progress(read, 1000, message)
		if line, ok := jobspec.Parse(out.Bytes()); ok {
			return line.Progress
		}
		return nil
	}
	for i, c := range []struct {
		passed  time.Duration
		read    int64
		message string
		rate    int64 // -1: no line
	}{
		{0, 0, "reading", 0},
		{0, 10, "reading", -1},
		{999 * time.Millisecond, 90, "reading", -1},
		{time.Millisecond, 100, "reading", 100},
		{time.Second, 300, "reading", 150},
		{10 * time.Second, 300, "reading", 0}, // nothing came for longer than the window
		{time.Second, 1000, "reading", 700},
		{time.Second, 10, "hashing", 0},               // another thing
		{time.Second, 30, "hashing", 20},              //
		{time.Second, 5, "hashing", 0},                // begun again
		{-time.Hour, 50, "hashing", 0},                // the clock was set back
		{999 * time.Millisecond, 1000, "hashing", -1}, // also at the end
	} {
		got := step(c.passed, c.read, c.message)
		want := &jobspec.Progress{Read: c.read, Total: 1000, Rate: c.rate, Message: c.message}
		if (got == nil) != (c.rate < 0) || got != nil && *got != *want {
			t.Errorf("step %d: %+v", i, got)
		}
	}
}

// TestLogSaysWhatKeepsIt: beside the message, so that nobody has to read that.
func TestLogSaysWhatKeepsIt(t *testing.T) {
	now := time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC)
	for problem, p := range map[string]logwriter.Progress{
		"": {},
		"the store does not take what follows, and is tried again: full": {StoreProblem: errors.New("full")},
		"no member can be read, and the next one is tried: away; the store does not take what follows, and is tried again: full": {
			StoreProblem: errors.New("full"), MemberProblem: errors.New("away"),
		},
	} {
		var out bytes.Buffer
		p.Next.Revision, p.Until = 8, now
		job{say: newProgressWriter(&out, func() time.Time { return now })}.logged(p)
		line, _ := jobspec.Parse(out.Bytes())
		if line.Progress == nil || line.Progress.Follow == nil {
			t.Fatalf("%s", out.String())
		}
		said := line.Progress.Follow
		if said.Problem != problem || said.Revision != 7 || !strings.HasSuffix(line.Progress.Message, problem) {
			t.Errorf("%+v, %q", said, line.Progress.Message)
		}
	}
}

func TestObey(t *testing.T) {
	for name, arguments := range map[string][]string{"none": nil, "two": {"{}", "{}"}, "no JSON": {"x"}, "no order": {`{"verb":"check"}`}} {
		var out bytes.Buffer
		exit := Main(t.Context(), arguments, Environment{Out: &out, Now: time.Now, Folders: InPod()})
		line, ok := jobspec.Parse(out.Bytes())
		isRefused := ok && line.Failed != nil && line.Failed.Reason == jobspec.UnsupportedJobSpec
		if exit != ExitUnclear || !isRefused || strings.Count(out.String(), "\n") != 1 {
			t.Errorf("%s: it ends with %d, and says %s", name, exit, out.String())
		}
	}
	var out bytes.Buffer
	order := jobspec.Order{Verb: jobspec.Check, Check: &jobspec.CheckOrder{}}
	order.Store.Volume = &v1beta1.VolumeStore{}
	in := Environment{Out: &out, Now: time.Now, Folders: Folders{Volume: t.TempDir()}}
	if exit := Main(t.Context(), []string{order.Encode()}, in); exit != ExitDone {
		t.Errorf("it ends with %d, and says %s", exit, out.String())
	}
	in.Folders.Volume += "/nothing"
	if exit := Main(t.Context(), []string{order.Encode()}, in); exit != ExitFailed {
		t.Errorf("it ends with %d, and says %s", exit, out.String())
	}
}
