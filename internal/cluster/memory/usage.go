// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"fmt"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/scale"
)

// resizeAgain is for how long a Pod is not asked again to have what Kubernetes has refused it.
const resizeAgain = time.Hour

// usage is what members have used, and what Kubernetes has refused to give them, by the names of Pods.
type usage struct {
	watch   scale.Watch
	refused map[string]refusal
}

type refusal struct {
	at    time.Time
	of    specVersion       // a change of it is tried at once
	size  cluster.Computing // what was refused
	words string
}

// Load adds how much members use of what they have, and for how long that has been much, if they were asked for it.
func (m *Cluster) Load(a cluster.Autoscale, v cluster.View, now time.Time) cluster.Autoscale {
	if a.Wanted && len(v.Usages) > 0 {
		m.usage.watch.Add(&a, scale.Look{At: now, Members: v.Count(cluster.IsVoter), Usages: v.Usages})
	}
	return a
}

// ResizeRefused says why Kubernetes refuses a Pod what it is given beyond the spec; empty if it does not, if it is to be asked again, or if
// members are to have another size by now.
func (m *Cluster) ResizeRefused(v cluster.View, pod string, now time.Time) string {
	r := m.usage.refused[pod]
	if r.size != v.Record.Scaled.Computing || r.of != specVersionOf(v) || now.Sub(r.at) >= resizeAgain {
		return ""
	}
	return r.words
}

func (u *usage) note(v cluster.View, step plan.Step, e Ending, now time.Time) {
	resize, is := step.(plan.ResizePod)
	if !is || e.Denied == "" {
		return
	}
	if u.refused == nil {
		u.refused = map[string]refusal{}
	}
	words := fmt.Sprintf("Kubernetes refuses to resize pod %s: %s", resize.Name, e.Denied)
	u.refused[resize.Name] = refusal{now, specVersionOf(v), v.Record.Scaled.Computing, words}
}
