// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// TestFault27CorruptMember is what etcd does while the alarm CORRUPT is raised, on which the
// replacement of a member whose data differs relies: it refuses writes, also after that member
// is gone, until the alarm is disarmed; it serves reads and changes its membership; and hashes
// at one revision show whose data differs.
func TestFault27CorruptMember(t *testing.T) {
	ofVersions(t, process.Versions, func(t *testing.T, version string) {
		c := process.Run(t, version, 3)
		ctx := t.Context()
		c.Lead("m1")
		want(t, "writing", c.Member("m1").Put(ctx, "key", "the-value-of-all"), nil)
		revision := c.Status("m1").Revision
		c.Until("m3 to have it", func(ctx context.Context) error {
			if has, err := c.Member("m3").Holds(ctx, "key"); err != nil || !has {
				return errors.Join(errors.New("it has not"), err)
			}
			return nil
		})
		odd := c.Status("m3").MemberID
		c.Member("m3").Terminate()
		c.Member("m3").Rewrite("the-value-of-all", "the-value-of-one")
		c.Member("m3").Start(version, c.Joins("existing", "m1", "m2", "m3")...)
		c.Serves("m3")
		want(t, "raising the alarm", c.Member("m1").Raise(ctx, odd), nil)

		refuses := func() {
			t.Helper()
			if err := c.Member("m1").Put(ctx, "key", "other"); err == nil || !strings.Contains(err.Error(), "corrupt cluster") {
				t.Errorf("a write ends with %v", err)
			}
			if alarms := c.Status("m1").Alarms; !slices.Equal(alarms, []etcd.Alarm{{MemberID: odd, Kind: "CORRUPT"}}) {
				t.Errorf("alarms: %+v, errors %q", alarms, c.Status("m1").Errors)
			}
		}
		refuses()
		want(t, "reading", c.Client("m2").Read(ctx), nil)
		sums := map[string]etcd.Hash{}
		for _, name := range []string{"m1", "m2", "m3"} {
			sums[name] = must(c.Client(name).HashKV(ctx, revision))(t)
		}
		if sums["m1"] != sums["m2"] || sums["m1"].Sum == sums["m3"].Sum || sums["m1"].Compacted != sums["m3"].Compacted {
			t.Errorf("hashes: %+v", sums)
		}

		want(t, "moving leadership", c.Client("m1").MoveLeader(ctx, c.Status("m2").MemberID), nil)
		eventuallyReady(t, "m3 to be removed", func() error { return c.Client("m2").Remove(ctx, odd) })
		c.Member("m3").Stop()
		refuses()
		want(t, "disarming", c.Client("m2").Disarm(ctx, etcd.Alarm{MemberID: odd, Kind: "CORRUPT"}), nil)
		want(t, "disarming again", c.Client("m2").Disarm(ctx, etcd.Alarm{MemberID: odd, Kind: "CORRUPT"}), nil)
		want(t, "writing again", c.Member("m1").Put(ctx, "key", "after"), nil)
		if alarms := c.Status("m1").Alarms; len(alarms) > 0 {
			t.Errorf("alarms: %+v", alarms)
		}
		if _, err := c.Client("m1").HashKV(ctx, c.Status("m1").Revision+100); err == nil {
			t.Error("a hash of what is not written yet")
		}
	})
}
