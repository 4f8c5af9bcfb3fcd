// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package version_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

// wishes are what users may want; members may also run the others, from an earlier
// operator, by hand or with an image of their own.
var (
	wishes = []string{"3.5.20", "3.5.26", "3.5.35", "3.6.0", "3.6.16", "3.6.20", "3.7.0", "3.7.3"}
	runs   = append([]string{"3.4.37", "3.5.40", "3.6.10"}, wishes...)
)

// state is a cluster as etcd sees it: what its three members run, its cluster
// version, and the downgrade that is enabled.
type state struct {
	members   [3]string
	cluster   string
	downgrade string
}

func (s state) String() string {
	return fmt.Sprintf("%s, cluster version %s, downgrade %q", strings.Join(s.members[:], " "), s.cluster, s.downgrade)
}

// next asks for the next hop and holds it against what must never happen.
func (s state) next(t *testing.T, wanted string, custom bool) cluster.Target {
	t.Helper()
	hop := version.Next(wanted, s.members[:], s.downgrade, custom)
	at := fmt.Sprintf("%s, wanted %s, custom image %t: %+v", s, wanted, custom, hop)
	low, high := oldest(t, s.members[:]), newest(t, s.members[:])
	to := parse(t, hop.Version)
	if hop.NoUpgradePath != "" {
		if !slices.Contains(s.members[:], hop.Version) || hop.Cancel || hop.Downgrade != "" {
			t.Fatalf("barred, but something changes: %s", at)
		}
		return hop
	}
	switch {
	case hop.Cancel && (s.downgrade == "" || s.downgrade == to.Minor() && low.Minor() != s.downgrade):
		t.Fatalf("nothing to cancel: %s", at)
	case !hop.Cancel && low.Minor() == s.downgrade:
		t.Fatalf("no member may join, for nothing: %s", at)
	case hop.Downgrade != "" && (s.downgrade != "" || hop.Cancel):
		t.Fatalf("two downgrades at once: %s", at)
	case minorNumber(t, to)-minorNumber(t, low) > 1 || minorNumber(t, high)-minorNumber(t, to) > 1:
		t.Fatalf("a minor is skipped: %s", at)
	case minorNumber(t, to) > 5 && low.Minor() == "3.5" && low.Compare(parse(t, "3.5.26")) < 0:
		t.Fatalf("zombie members: %s", at)
	case minorNumber(t, to) > 6 && low.Minor() == "3.6" && low.Compare(parse(t, "3.6.11")) < 0:
		t.Fatalf("3.7 beside a 3.6 that is too old: %s", at)
	case custom && hop.Version != wanted:
		t.Fatalf("the image does not hold it: %s", at)
	case minorNumber(t, to) > minorNumber(t, parse(t, wanted)) && (to.Minor() != low.Minor() || low.Minor() == high.Minor()):
		t.Fatalf("up on the way down: %s", at)
	case minorNumber(t, to) < minorNumber(t, low) && s.downgrade != to.Minor() && hop.Downgrade != to.Minor() && !hop.Cancel:
		t.Fatalf("down without a downgrade: %s", at)
	}
	return hop
}

// obey does one thing that the hop asks for, as etcd lets it be done. which of the
// members goes first is up to the caller.
func (s state) obey(t *testing.T, hop cluster.Target, which int) state {
	t.Helper()
	before := s
	switch {
	case hop.Cancel:
		s.downgrade = ""
	case hop.Downgrade != "":
		if minorNumber(t, parse(t, hop.Downgrade+".0")) != minorNumber(t, parse(t, s.cluster+".0"))-1 {
			t.Fatalf("etcd refuses to enable the downgrade: %s: %+v", s, hop)
		}
		s.downgrade, s.cluster = hop.Downgrade, hop.Downgrade
	default:
		s.members[which] = hop.Version
		own, of := minorNumber(t, parse(t, hop.Version)), minorNumber(t, parse(t, s.cluster+".0"))
		if own < of {
			t.Fatalf("the member panics, it is older than the cluster: %s: %+v", before, hop)
		}
		if own > of+1 {
			t.Fatalf("the member has skipped a minor: %s: %+v", before, hop)
		}
	}
	return s.settle(t)
}

// settle is what etcd's leader does by itself: it ends a downgrade when all members
// run its target, and raises the cluster version to that of the oldest member.
func (s state) settle(t *testing.T) state {
	slices.Sort(s.members[:]) // states that differ in the order only are the same
	low, high := oldest(t, s.members[:]), newest(t, s.members[:])
	if low.Minor() == s.downgrade && high.Minor() == s.downgrade {
		s.downgrade = ""
	}
	if s.downgrade == "" && parse(t, s.cluster+".0").Compare(low) < 0 {
		s.cluster = low.Minor()
	}
	return s
}

// TestEveryWalk starts from every mix of members that etcd supports and follows
// every wish, changing it at every point, in every order of members.
func TestEveryWalk(t *testing.T) {
	seen := map[state]bool{}
	queue := starts(t)
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		if seen[s] {
			continue
		}
		seen[s] = true
		for _, wanted := range wishes {
			s.next(t, wanted, true)
			hop := s.next(t, wanted, false)
			if hop.NoUpgradePath != "" {
				continue
			}
			for which := range s.members {
				queue = append(queue, s.obey(t, hop, which))
			}
			arrives(t, s, wanted)
		}
	}
	if len(seen) < 300 {
		t.Errorf("the walk saw only %d states", len(seen))
	}
}

// arrives obeys every hop until all is as wanted. That takes at most three hops of
// three members each, one downgrade to cancel, one to enable and to cancel again. A way that is open
// at its start must not be barred later.
func arrives(t *testing.T, s state, wanted string) {
	t.Helper()
	start := s
	for range 3*3 + 3 {
		hop := s.next(t, wanted, false)
		if hop.NoUpgradePath != "" {
			t.Fatalf("%s to %s ends at %s: %s", start, wanted, s, hop.NoUpgradePath)
		}
		which := slices.IndexFunc(s.members[:], func(m string) bool { return m != hop.Version })
		if which < 0 && hop.Version == wanted && !hop.Cancel {
			return
		}
		s = s.obey(t, hop, max(which, 0))
	}
	if s.members != [3]string{wanted, wanted, wanted} {
		t.Fatalf("%s to %s has not arrived at %s", start, wanted, s)
	}
}

// starts are all mixes of three members, in the middle of an update, in the middle of
// a downgrade, or at rest.
func starts(t *testing.T) []state {
	var all []state
	for i, a := range runs {
		for j, b := range runs[i:] {
			for _, c := range runs[i+j:] {
				members := [3]string{a, b, c}
				low, high := oldest(t, members[:]), newest(t, members[:])
				if minorNumber(t, high)-minorNumber(t, low) > 1 {
					continue
				}
				all = append(all, state{members, low.Minor(), ""}.settle(t))
				if minorNumber(t, high) > 5 {
					lower := fmt.Sprintf("3.%d", minorNumber(t, high)-1)
					all = append(all, state{members, lower, lower}.settle(t))
				}
			}
		}
	}
	return all
}

func oldest(t *testing.T, members []string) version.Version { return sorted(t, members)[0] }
func newest(t *testing.T, members []string) version.Version {
	return sorted(t, members)[len(members)-1]
}

func sorted(t *testing.T, members []string) []version.Version {
	t.Helper()
	var all []version.Version
	for _, m := range members {
		all = append(all, parse(t, m))
	}
	slices.SortFunc(all, version.Version.Compare)
	return all
}

// minorNumber reads 6 out of 3.6.16, on its own so that the package is not its own judge.
func minorNumber(t *testing.T, v version.Version) int {
	t.Helper()
	var major, minor, patch int
	if _, err := fmt.Sscanf(v.String(), "%d.%d.%d", &major, &minor, &patch); err != nil {
		t.Fatal(err)
	}
	return minor
}
