// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// TestRescue: of members that were killed, the one whose log goes furthest has every write that was acknowledged, also those that its
// database does not have and those that it does not know to be committed. What it has is copied, and nothing of it changes.
func TestRescue(t *testing.T) {
	ofVersions(t, func(t *testing.T, version string) {
		c := process.Run(t, version, 3)
		c.Lead("m1")
		if _, err := Rescue(t.Context(), c.Member("m1").Data, t.TempDir(), func(Progress) {}); !isRunning(err) {
			t.Fatalf("the member runs: %v", err)
		}
		for i := range 120 { // more than --snapshot-count, so that the log does not begin at its beginning
			put(t, c, "m1", fmt.Sprintf("key-%03d", i))
		}
		c.Serves("m3") // two of three acknowledge a write: m3 may be behind
		c.Member("m3").Stop()
		put(t, c, "m1", "acknowledged-by-two")
		c.Member("m2").Stop()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if err := c.Member("m1").Put(ctx, "pending", "x"); err == nil {
			t.Fatal("wrote without a quorum")
		}
		c.Member("m1").Stop()

		copies, at := map[string]string{}, map[string]Position{}
		for _, name := range members(3) {
			copies[name] = filepath.Join(t.TempDir(), "data")
			before := content(t, filepath.Join(c.Member(name).Data, "member", "snap", "db"))
			for range 2 { // an earlier attempt has left a copy
				position, err := Rescue(t.Context(), c.Member(name).Data, copies[name], func(Progress) {})
				if err != nil {
					t.Fatal(err)
				}
				at[name] = position
			}
			if string(before) != string(content(t, filepath.Join(c.Member(name).Data, "member", "snap", "db"))) {
				t.Errorf("the data of %s has changed", name)
			}
		}
		if at["m1"].Index <= at["m2"].Index || at["m2"].Index <= at["m3"].Index || at["m1"].Term < at["m3"].Term {
			t.Errorf("logs go as far as %v", at)
		}
		for name, keys := range map[string]map[string]bool{
			"m1": {"key-000": true, "key-119": true, "acknowledged-by-two": true, "pending": true},
			"m2": {"key-119": true, "acknowledged-by-two": true, "pending": false},
			"m3": {"key-119": true, "acknowledged-by-two": false},
		} {
			m := c.Member(name)
			m.Data = copies[name]
			m.Start(version, "--force-new-cluster")
			for key, want := range keys {
				holds(t, c, name, key, want)
			}
			m.Stop()
		}
	})
}

func isRunning(err error) bool {
	running := (*RunningError)(nil)
	return errors.As(err, &running)
}

func put(t *testing.T, c *process.Cluster, name, key string) {
	t.Helper()
	c.Until("write "+key, func(ctx context.Context) error { return c.Member(name).Put(ctx, key, "x") })
}

func holds(t *testing.T, c *process.Cluster, name, key string, want bool) {
	t.Helper()
	var has bool
	c.Until(name+" to answer", func(ctx context.Context) (err error) {
		has, err = c.Member(name).Holds(ctx, key)
		return err
	})
	if has != want {
		t.Errorf("%s has %s: %t, want %t", name, key, has, want)
	}
}
