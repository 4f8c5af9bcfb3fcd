// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package version_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

type hop = cluster.Target

// cases is the table of every rule. Versions are as the user and etcd write them;
// barred is what the refusal must say, its parts split by "|".
var cases = []struct {
	name      string
	wanted    string
	running   string
	downgrade string
	custom    bool
	want      hop
	barred    string
}{
	{name: "nothing runs", wanted: "3.6.9", want: hop{Version: "3.6.9"}},
	{name: "nothing runs, custom image", wanted: "3.6.9", custom: true, want: hop{Version: "3.6.9"}},

	{name: "there already", wanted: "3.6.16", running: "3.6.16 3.6.16", want: hop{Version: "3.6.16"}},
	{name: "patch up", wanted: "3.6.16", running: "3.6.0 3.6.9", want: hop{Version: "3.6.16"}},
	{name: "patch down", wanted: "3.6.0", running: "3.6.16", want: hop{Version: "3.6.0"}},
	{name: "patch down below what 3.6 asks for", wanted: "3.5.11", running: "3.5.35", want: hop{Version: "3.5.11"}},
	{name: "patch newer than known", wanted: "3.6.99", running: "3.6.16", want: hop{Version: "3.6.99"}},
	{name: "patch, custom image", wanted: "3.6.0", running: "3.6.16", custom: true, want: hop{Version: "3.6.0"}},

	{name: "minor up", wanted: "3.6.16", running: "3.5.26 3.5.35", want: hop{Version: "3.6.16"}},
	{name: "minor up to an old patch", wanted: "3.6.0", running: "3.5.26", want: hop{Version: "3.6.0"}},
	{name: "minor up, custom image", wanted: "3.6.16", running: "3.5.26", custom: true, want: hop{Version: "3.6.16"}},
	{name: "minor up, one has gone", wanted: "3.6.16", running: "3.6.16 3.5.35 3.5.35", want: hop{Version: "3.6.16"}},
	{name: "minor up, one has gone to another patch", wanted: "3.6.16", running: "3.5.35 3.6.0", want: hop{Version: "3.6.16"}},
	{name: "minor up to the second", wanted: "3.7.3", running: "3.6.11", want: hop{Version: "3.7.3"}},
	{name: "from a minor that is not known", wanted: "3.5.35", running: "3.4.37", want: hop{Version: "3.5.35"}},

	{name: "fault 43: zombie members", wanted: "3.6.16", running: "3.5.25", want: hop{Version: "3.5.35"}},
	{name: "fault 43: one is too old", wanted: "3.6.16", running: "3.5.35 3.5.9 3.5.26", want: hop{Version: "3.5.35"}},
	{name: "fault 43: a newer patch runs", wanted: "3.6.16", running: "3.5.9 3.5.40", want: hop{Version: "3.5.40"}},
	{name: "fault 43: the way has begun", wanted: "3.6.16", running: "3.5.9 3.6.16", want: hop{Version: "3.5.35"}},
	{
		name: "fault 43: custom image", wanted: "3.6.16", running: "3.5.25", custom: true, want: hop{Version: "3.5.25"},
		barred: "from 3.5.25 to 3.6.16 leads over 3.5.35|spec.image holds only 3.6.16|set spec.version to 3.5.35",
	},
	{name: "3.6 too old for 3.7", wanted: "3.7.3", running: "3.6.10", want: hop{Version: "3.6.16"}},

	{name: "two minors up", wanted: "3.7.3", running: "3.5.35", want: hop{Version: "3.6.16"}},
	{name: "two minors up, from below 3.5.26", wanted: "3.7.3", running: "3.5.20", want: hop{Version: "3.5.35"}},
	{name: "two minors up, first hop not finished", wanted: "3.7.3", running: "3.6.16 3.5.35", want: hop{Version: "3.6.16"}},
	{name: "two minors up, a newer patch runs", wanted: "3.7.3", running: "3.6.20 3.5.35", want: hop{Version: "3.6.20"}},
	{name: "two minors up, first hop done", wanted: "3.7.3", running: "3.6.16", want: hop{Version: "3.7.3"}},
	{name: "two minors up, into the known", wanted: "3.6.16", running: "3.4.37", want: hop{Version: "3.5.35"}},
	{
		name: "two minors up, through the unknown", wanted: "3.6.16", running: "3.3.27", want: hop{Version: "3.3.27"},
		barred: "from 3.3.27 to 3.6.16 leads over 3.4|bring the members to 3.5.35 by hand",
	},
	{
		name: "two minors up, custom image", wanted: "3.7.3", running: "3.5.35", custom: true, want: hop{Version: "3.5.35"},
		barred: "leads over 3.6.16|spec.image holds only 3.7.3|or remove spec.image",
	},
	{
		name: "two minors up, custom image, first hop not finished", wanted: "3.7.3", running: "3.6.16 3.5.35", custom: true,
		want: hop{Version: "3.6.16"}, barred: "leads over 3.6.16",
	},

	{name: "minor down", wanted: "3.5.35", running: "3.6.16 3.6.0", want: hop{Version: "3.5.35", Downgrade: "3.5"}},
	{name: "minor down, enabled", wanted: "3.5.35", running: "3.6.16", downgrade: "3.5", want: hop{Version: "3.5.35"}},
	{
		name: "minor down, one has gone", wanted: "3.5.35", running: "3.6.16 3.5.35", downgrade: "3.5",
		want: hop{Version: "3.5.35", Cancel: true},
	},
	{name: "minor down, all have gone", wanted: "3.6.16", running: "3.6.16", downgrade: "3.6", want: hop{Version: "3.6.16", Cancel: true}},
	{name: "minor down, custom image", wanted: "3.6.9", running: "3.7.3", custom: true, want: hop{Version: "3.6.9", Downgrade: "3.6"}},
	{name: "update rolled back", wanted: "3.5.35", running: "3.6.16 3.5.35", want: hop{Version: "3.5.35"}},
	{name: "update rolled back to another patch", wanted: "3.6.0", running: "3.7.3 3.6.16", want: hop{Version: "3.6.0"}},
	{name: "update to the unknown rolled back", wanted: "3.7.3", running: "3.8.0 3.7.3", want: hop{Version: "3.7.3"}},
	{
		name: "two minors down", wanted: "3.5.35", running: "3.7.3", want: hop{Version: "3.7.3"},
		barred: "members run 3.7.3|one minor version at a time|set spec.version to 3.6.16 first|to 3.5.35 when all",
	},
	{
		name: "two minors down, first not finished", wanted: "3.5.35", running: "3.7.3 3.6.20", downgrade: "3.6",
		want: hop{Version: "3.6.20", Cancel: true},
	},
	{
		name: "an update that has not come to its end is rolled back on the way down", wanted: "3.5.35",
		running: "3.6.11 3.6.12 3.7.3", want: hop{Version: "3.6.12"},
	},
	{
		name: "with an image of one's own it is said", wanted: "3.5.35", running: "3.6.12 3.7.3", custom: true,
		want: hop{Version: "3.7.3"}, barred: "leads over 3.6.12|spec.image holds only 3.5.35|remove spec.image",
	},
	{
		name: "down from the unknown", wanted: "3.7.3", running: "3.8.0", want: hop{Version: "3.8.0"},
		barred: "members run 3.8.0|no way down",
	},

	{name: "downgrade called off", wanted: "3.6.16", running: "3.6.16", downgrade: "3.5", want: hop{Version: "3.6.16", Cancel: true}},
	{
		name: "downgrade called off after one has gone", wanted: "3.6.16", running: "3.6.16 3.5.35", downgrade: "3.5",
		want: hop{Version: "3.6.16", Cancel: true},
	},
	{
		name: "downgrade called off, further up", wanted: "3.7.3", running: "3.6.16", downgrade: "3.5",
		want: hop{Version: "3.7.3", Cancel: true},
	},
	{name: "downgrade done, one more", wanted: "3.5.35", running: "3.6.16", downgrade: "3.6", want: hop{Version: "3.5.35", Cancel: true}},
	{
		name: "downgrade called off, but the way up leads over its target", wanted: "3.6.16", running: "3.6.16 3.5.20", downgrade: "3.5",
		want: hop{Version: "3.5.35", Cancel: true},
	},

	{
		name: "unknown: 3.4", wanted: "3.4.37", running: "3.5.35",
		want: hop{Version: "3.5.35"}, barred: `"3.4.37" is not known|3.5, 3.6 or 3.7, such as 3.7.3`,
	},
	{name: "unknown: 3.8", wanted: "3.8.0", running: "3.7.3", want: hop{Version: "3.7.3"}, barred: `"3.8.0" is not known`},
	{name: "unknown: 4.0", wanted: "4.0.0", running: "3.6.16 3.7.3", want: hop{Version: "3.7.3"}, barred: `"4.0.0" is not known`},
	{name: "unknown: 4.6", wanted: "4.6.0", running: "3.6.16", want: hop{Version: "3.6.16"}, barred: `"4.6.0" is not known`},
	{name: "unknown, nothing runs", wanted: "3.8.0", barred: `"3.8.0" is not known`},
	{
		name: "unknown, during a downgrade", wanted: "3.8.0", running: "3.6.9 3.7.3", downgrade: "3.6",
		want: hop{Version: "3.6.9"}, barred: "not known",
	},
	{name: "not full", wanted: "3.6", running: "3.6.16", want: hop{Version: "3.6.16"}, barred: `"3.6" is not known|a full version`},
	{name: "no version", wanted: "latest", running: "3.6.16", want: hop{Version: "3.6.16"}, barred: `"latest" is not known`},

	{
		name: "garbled", wanted: "3.6.16", running: "3.6.9 custom 3.6.10", want: hop{Version: "3.6.10"},
		barred: `members run "custom"|set spec.version and spec.image back`,
	},
	{name: "a pre-release", wanted: "3.7.3", running: "3.7.0-rc.0", want: hop{Version: "3.7.0-rc.0"}, barred: `"3.7.0-rc.0"|3.7.3`},
	{name: "unknown", wanted: "3.7.3", running: "?", want: hop{Version: "?"}, barred: `members run "?"`},
	{
		name: "three minors", wanted: "3.7.3", running: "3.7.3 3.5.35 3.6.16 3.6.16", want: hop{Version: "3.7.3"},
		barred: "members run 3.5.35, 3.6.16 and 3.7.3|two neighbouring",
	},
	{
		name: "minors that are not neighbours", wanted: "3.5.35", running: "3.7.3 3.5.35",
		want: hop{Version: "3.7.3"}, barred: "3.5.35 and 3.7.3",
	},
	{name: "another major", wanted: "3.6.16", running: "2.6.0", want: hop{Version: "2.6.0"}, barred: "members run 2.6.0"},
	{name: "a newer major", wanted: "3.6.16", running: "3.6.16 4.6.0", want: hop{Version: "4.6.0"}, barred: "3.6.16 and 4.6.0"},
}

func TestNext(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			running := strings.Fields(c.running)
			before := slices.Clone(running)
			got := version.Next(c.wanted, running, c.downgrade, c.custom)
			if (got.NoUpgradePath == "") != (c.barred == "") {
				t.Fatalf("barred: %q, want %q", got.NoUpgradePath, c.barred)
			}
			for _, part := range strings.Split(c.barred, "|") {
				if !strings.Contains(got.NoUpgradePath, part) {
					t.Errorf("barred: %q lacks %q", got.NoUpgradePath, part)
				}
			}
			got.NoUpgradePath = ""
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			if !slices.Equal(running, before) {
				t.Errorf("the caller's list became %v", running)
			}
		})
	}
}

// TestUnknownVersionOfAMember: a member whose version could not be read holds every
// way up, because the slowest member decides.
func TestUnknownVersionOfAMember(t *testing.T) {
	got := version.Next("3.6.16", []string{"3.5.35", ""}, "", false)
	if got.Version != "3.5.35" || !strings.Contains(got.NoUpgradePath, `members run ""`) {
		t.Errorf("got %+v", got)
	}
}

// TestWake: members whose cluster was not seen to run start with no other minor version than
// the newest that one of them had.
func TestWake(t *testing.T) {
	for _, c := range []struct{ to, had, want string }{
		{"3.6.16", "", "3.6.16"},
		{"3.6.16", "3.6.11 3.6.11", "3.6.16"},
		{"3.6.11", "3.6.16", "3.6.11"},
		{"3.6.16", "3.5.35 3.5.35", "3.5.35"},
		{"3.6.16", "3.7.3", "3.7.3"},
		{"3.6.16", "3.6.11 3.5.35", "3.6.16"},
		{"3.5.35", "3.5.30 3.6.11 3.5.35", "3.6.11"},
	} {
		had := strings.Fields(c.had)
		if got := version.Wake(c.to, had); got != c.want || !slices.Equal(had, strings.Fields(c.had)) {
			t.Errorf("to %s from %v: got %s, want %s", c.to, had, got, c.want)
		}
	}
}
