package controllers

import (
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/users"
)

// TestUsersArePaused: a Certificate that a policy changes back is asked for less and less often, and so is a cluster that does not answer;
// another user that waits is looked at as soon as the first one was.
func TestUsersArePaused(t *testing.T) {
	asks := func(name string) users.Task {
		return users.Task{Name: name, Steps: []users.Step{users.AskForCertificate{}}}
	}
	silent := func(name string) users.Task { return users.Task{Name: name, Then: users.Verdict{Unread: true}} }
	l := &authCache{}
	for _, look := range []struct {
		tasks   []users.Task
		atLeast time.Duration
	}{
		{[]users.Task{asks("a")}, issuedSoon},
		{[]users.Task{asks("a")}, 2 * issuedSoon},
		{[]users.Task{asks("a")}, 4 * issuedSoon},
		{[]users.Task{asks("a"), asks("b")}, issuedSoon},
		{[]users.Task{silent("a")}, unaskedAgain},
		{[]users.Task{silent("a")}, 2 * unaskedAgain},
		{[]users.Task{silent("a")}, 4 * unaskedAgain},
		{[]users.Task{silent("a")}, slowestLook},
		{[]users.Task{silent("a")}, slowestLook},
	} {
		p := &userRun{view: users.View{Cluster: &v1alpha1.EtcdCluster{}}, work: users.Work{Users: look.tasks}}
		result, err := p.result(nil, l.times(p.inTheWay()))
		if got := result.RequeueAfter; err != nil || got < look.atLeast || got > look.atLeast*3/2 {
			t.Errorf("%+v: looks again after %s, want %s", look.tasks, got, look.atLeast)
		}
	}
}
