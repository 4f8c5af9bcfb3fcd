package worker

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
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
	order.Store.Volume = &v1alpha1.VolumeStore{}
	in := Environment{Out: &out, Now: time.Now, Folders: Folders{Volume: t.TempDir()}}
	if exit := Main(t.Context(), []string{order.Encode()}, in); exit != ExitDone {
		t.Errorf("it ends with %d, and says %s", exit, out.String())
	}
	in.Folders.Volume += "/nothing"
	if exit := Main(t.Context(), []string{order.Encode()}, in); exit != ExitFailed {
		t.Errorf("it ends with %d, and says %s", exit, out.String())
	}
}
