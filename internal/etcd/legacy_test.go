// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// TestOldEntries: a leader of 3.6 gives a new member of 3.7 what it has in its log of 3.5, on
// which that panics. Not so if it has written a snapshot since, which a snapshot count of 1
// makes it do.
func TestOldEntries(t *testing.T) {
	for count, joins := range map[string]bool{"10000": false, "1": true} {
		t.Run(count, func(t *testing.T) {
			ofVersions(t, process.Versions[2:], func(t *testing.T, newest string) {
				m := &mixed{Cluster: process.Run(t, process.Versions[0], 1), t: t, members: []string{"m1"}}
				m.Member("m1").Terminate()
				m.Member("m1").Start(process.Versions[1], append(m.Joins("existing", "m1"), "--snapshot-count="+count)...)
				m.Serves("m1")
				eventually(t, "m1 to be of its own version", func() error { return isOfItsVersion(t, m.Client("m1")) })
				learner := m.add("m2")
				if joins {
					m.comesAndGoes("m2", newest, learner)
				} else {
					m.endsInVain("m2", newest, "unmarshal should never fail")
				}
			})
		})
	}
}
