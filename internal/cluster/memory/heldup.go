// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// heldUpAfter is how long a member that is to be defragmented may wait for its restart: ten times what another one may be away for its own.
const heldUpAfter = 10 * restartTime

// chosen is the member that is to be defragmented, since this process knows of it.
type chosen struct {
	of    cluster.Defragmenting
	since time.Time
}

// mark says of a member that it waits for its restart for too long.
func (c *chosen) mark(v cluster.View, now time.Time) {
	if is := v.Record.Defragmenting; is != c.of {
		*c = chosen{is, now}
	}
	for i := range v.Members {
		m := &v.Members[i]
		m.HeldUp = m.Name == c.of.Member && m.Pod.UID == c.of.Pod && now.Sub(c.since) >= heldUpAfter
	}
}
