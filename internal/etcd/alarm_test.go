// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"slices"
	"testing"
)

// TestAlarmsAreParsed: of etcd 3.5 and 3.6, which end with a space, of 3.7, which may have
// two between its parts, and of one that is no member's. What else a status complains of is none.
func TestAlarmsAreParsed(t *testing.T) {
	got := AlarmsIn([]string{
		"etcdserver: no leader", "memberID:17 alarm:NOSPACE ", "memberID:18446744073709551615  alarm:CORRUPT", "alarm:CORRUPT ",
		"storage says alarm:CORRUPT of memberID:17", "",
	})
	if want := []Alarm{{17, "NOSPACE"}, {1<<64 - 1, "CORRUPT"}, {0, "CORRUPT"}}; !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
