// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		only string
		want []string
	}{
		{"create", []string{"create", "create-auth"}},
		{"detect,restart", []string{"detect", "restart"}},
		{"gap-roll", []string{"gap-roll"}},
		{"replace-4GiB", []string{"replace-4GiB"}},
		{"replace", []string{"replace-100MiB", "replace-1GiB"}},
		{"takeover", []string{"takeover-planned", "takeover-kill"}},
		{"backup", []string{"backup-small", "backup-1GiB"}},
		{"restore", []string{"restore-1GiB", "restore-in-place-1GiB"}},
		{"gap-auth,users", []string{"gap-auth", "users"}},
	} {
		chosen, err := choose(c.only)
		var got []string
		for _, b := range chosen {
			got = append(got, b.name)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("-only %s chooses %v (%v), want %v", c.only, got, err, c.want)
		}
	}
}

func TestChooseLeavesOutWhatIsForRequests(t *testing.T) {
	all, err := choose("")
	if err != nil || len(all) != len(benchmarks)-6 {
		t.Errorf("by default %d of %d run (%v), want all but six", len(all), len(benchmarks), err)
	}
	for _, b := range all {
		if b.name == "pauses" || b.name == "adopt-256MiB" || strings.HasSuffix(b.name, "-4GiB") {
			t.Errorf("%s runs by default", b.name)
		}
	}
}

func TestChooseRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, name := range []string{"gaps", "rest", "creat"} {
		if chosen, err := choose(name); err == nil {
			t.Errorf("-only %s chooses %d benchmarks, want an error", name, len(chosen))
		}
	}
}
