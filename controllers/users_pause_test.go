package controllers

import (
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/access"
)

// TestUsersArePaused: a Certificate that a policy changes back is asked for less and less often, and so is a cluster that does not answer;
// another user that waits is looked at as soon as the first one was.
func TestUsersArePaused(t *testing.T) {
	asks := func(name string) access.Task {
		return access.Task{Name: name, Steps: []access.Step{access.AskForCertificate{}}}
	}
	silent := func(name string) access.Task { return access.Task{Name: name, Then: access.Verdict{Unread: true}} }
	l := &ledger{}
	for _, look := range []struct {
		tasks   []access.Task
		atLeast time.Duration
	}{
		{[]access.Task{asks("a")}, issuedSoon},
		{[]access.Task{asks("a")}, 2 * issuedSoon},
		{[]access.Task{asks("a")}, 4 * issuedSoon},
		{[]access.Task{asks("a"), asks("b")}, issuedSoon},
		{[]access.Task{silent("a")}, unaskedAgain},
		{[]access.Task{silent("a")}, 2 * unaskedAgain},
		{[]access.Task{silent("a")}, 4 * unaskedAgain},
		{[]access.Task{silent("a")}, slowestLook},
		{[]access.Task{silent("a")}, slowestLook},
	} {
		p := &pass{view: access.View{Cluster: &v1alpha1.EtcdCluster{}}, work: access.Work{Users: look.tasks}}
		result, err := p.result(nil, l.times(p.inTheWay()))
		if got := result.RequeueAfter; err != nil || got < look.atLeast || got > look.atLeast*3/2 {
			t.Errorf("%+v: looks again after %s, want %s", look.tasks, got, look.atLeast)
		}
	}
}
