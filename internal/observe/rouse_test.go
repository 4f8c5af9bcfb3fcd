package observe_test

import (
	"strings"
	"testing"
	"time"
)

// TestASilentMemberIsRoused: a member that runs and does not answer may wait for an entry
// of the log, which the leader writes, twice a second and no longer than needed.
func TestASilentMemberIsRoused(t *testing.T) {
	s := newScene(t)
	s.addLearner("a-3")
	s.objects = append(s.objects, s.newPod("a-3"))
	clock, o := now, s.observer()
	o.Now = func() time.Time { return clock }
	for i, step := range []struct {
		later time.Duration
		stays func()
		want  string
	}{
		{0, nil, "a-0"},
		{499 * time.Millisecond, nil, "a-0"},
		{time.Millisecond, nil, "a-0 a-0"},
		{time.Minute, func() { s.etcd.Start("a-3") }, "a-0 a-0"},
		{0, func() { s.etcd.Stop("a-1") }, "a-0 a-0 a-0"},
		{time.Minute, func() { s.etcd.Stop("a-2") }, "a-0 a-0 a-0"},
	} {
		clock = clock.Add(step.later)
		if step.stays != nil {
			step.stays()
		}
		if _, err := o.Cluster(t.Context(), s.c); err != nil {
			t.Fatal(err)
		}
		if asked := strings.Join(s.callsOf("WriteEntry"), " "); asked != step.want {
			t.Errorf("step %d: asked %q, want %q", i, asked, step.want)
		}
	}
}

// TestAForeignMemberIsNotRousedFor: nobody waits for one that etcd does not list.
func TestAForeignMemberIsNotRousedFor(t *testing.T) {
	s := newScene(t)
	s.objects = append(s.objects, s.newPod("a-3"))
	s.look()
	if asked := s.callsOf("WriteEntry"); len(asked) > 0 {
		t.Errorf("asked %v", asked)
	}
}
