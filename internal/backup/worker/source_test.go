// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// member is one that answers: m1 has the ID 1, and so on. Number 1 leads.
func member(number, applied uint64, changes ...func(*candidate)) candidate {
	c := candidate{
		member: jobspec.Member{Name: fmt.Sprintf("m%d", number), ID: fmt.Sprint(number)},
		status: etcd.Status{ClusterID: 0xc1, MemberID: number, LeaderID: 1, RaftAppliedIndex: applied},
	}
	for _, change := range changes {
		change(&c)
	}
	return c
}

func TestRank(t *testing.T) {
	silent := func(c *candidate) { c.err = errors.New("connection refused") }
	learner := func(c *candidate) { c.status.Learner = true }
	alone := func(c *candidate) { c.status.LeaderID = 0 }
	stranger := func(c *candidate) { c.status.ClusterID = 0xc2 }
	successor := func(c *candidate) { c.member.ID = "9" }
	corrupt := func(c *candidate) { c.status.Alarms = []etcd.Alarm{{MemberID: 3, Kind: "CORRUPT"}} }
	full := func(c *candidate) { c.status.Alarms = []etcd.Alarm{{MemberID: 3, Kind: "NOSPACE"}} }
	leads := func(c *candidate) { c.status.LeaderID = c.status.MemberID }
	for name, c := range map[string]struct {
		all   []candidate
		want  string
		unfit string
	}{
		"a follower before the leader": {[]candidate{member(1, 9), member(2, 5)}, "m2 m1", ""},
		"the leader, if nobody else can": {
			[]candidate{member(1, 9), member(2, 5, silent)}, "m1", "m2: it refuses connections: connection refused",
		},
		"the one that has applied most":    {[]candidate{member(1, 9), member(2, 5), member(3, 8)}, "m3 m2 m1", ""},
		"by name where both have the same": {[]candidate{member(3, 8), member(2, 8), member(1, 9)}, "m2 m3 m1", ""},
		"no learner":                       {[]candidate{member(1, 9), member(2, 9, learner)}, "m1", "m2: it is a learner"},
		"nobody that knows no leader":      {[]candidate{member(2, 9, alone)}, "", "m2: it knows no leader"},
		"nobody of another cluster":        {[]candidate{member(2, 9, stranger)}, "", "m2: it is a member of cluster c2, not of c1"},
		"nobody that is another member":    {[]candidate{member(2, 9, successor)}, "", "m2: it is member 2, not 9"},
		"nobody while data differs":        {[]candidate{member(2, 9, corrupt)}, "", "m2: etcd has raised the alarm CORRUPT"},
		"also where no room is left":       {[]candidate{member(2, 9, full)}, "m2", ""},
		"two that believe to lead":         {[]candidate{member(2, 9, leads), member(3, 5)}, "m3 m2", ""},
		"nobody at all":                    {nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(c.all)
			fit, unfit := rank(c.all, "c1")
			var names []string
			for _, one := range fit {
				names = append(names, one.member.Name)
			}
			if got := strings.Join(names, " "); got != c.want {
				t.Errorf("%q, and it should be %q", got, c.want)
			}
			if words := fmt.Sprint(oneLine(unfit)); c.unfit != "" && !strings.HasPrefix(words, c.unfit) || (len(unfit) > 0) != (c.unfit != "") {
				t.Errorf("%s", words)
			}
			if !slices.EqualFunc(before, c.all, func(a, b candidate) bool { return a.member == b.member }) {
				t.Error("what was asked is in another order")
			}
		})
	}
	if fit, _ := rank([]candidate{member(2, 9, stranger)}, ""); len(fit) != 1 {
		t.Error("a cluster whose ID is not known yet cannot be backed up")
	}
}

// What broke off is the member's fault, unless the store says that it was its own.
func TestBlame(t *testing.T) {
	s := source{candidate: member(2, 9)}
	if s.blame(nil) != nil {
		t.Error("success is an error")
	}
	if err := s.blame(errors.New("x")); failure(err).Reason != jobspec.MemberFailed || !strings.HasPrefix(err.Error(), "m2: x") {
		t.Error(err)
	}
}

// TestLogAsksFollowersForHashes: a member holds up writes while it hashes, so that it is no leader where a follower answers, and has little
// data.
func TestLogAsksFollowersForHashes(t *testing.T) {
	o := &jobspec.FollowOrder{ClusterID: "c1", HashBelow: 256 << 20}
	large := func(c *candidate) { c.status.DBSize = 257 << 20 }
	for what, c := range map[string]struct {
		all  []candidate
		want string
	}{
		"a follower":             {[]candidate{member(1, 9), member(2, 5)}, "m2"},
		"the leader alone":       {[]candidate{member(1, 9)}, "m1"},
		"one that has grown":     {[]candidate{member(1, 9, large), member(2, 5, large)}, ""},
		"nobody, as none answer": {nil, ""},
	} {
		if found, err := hashedBy(c.all, o); found.member.Name != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v", what, found.member.Name, err)
		}
	}
}
