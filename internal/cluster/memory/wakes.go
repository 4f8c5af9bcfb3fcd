// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// wakePause is between two entries that are written because members do not answer.
const wakePause = 500 * time.Millisecond

// wakes is when the last such entry was written, by this process. It is zero while all answer.
type wakes time.Time

func (w *wakes) note(v cluster.View, now time.Time) {
	if _, due := v.NeedsNoopProposal(); due {
		*w = wakes(now)
	}
}

func (w *wakes) mark(v cluster.View, now time.Time) {
	waits := false
	for i := range v.Members {
		if cluster.IsUnresponsive(v.Members[i]) {
			waits = true
			v.Members[i].ProposalSent = now.Sub(time.Time(*w)) < wakePause
		}
	}
	if !waits {
		*w = wakes{}
	}
}
