// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"net"
	"strconv"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
)

// Speed adds to a snapshot how fast members are, by what they count themselves. A member that does not tell is no error.
func (o *Observer) Speed(ctx context.Context, s *facts.Snapshot) error {
	timed := facts.Timed(*s)
	if len(timed) == 0 {
		return nil
	}
	each(s.Answers, func(a *facts.Answer) {
		for _, m := range timed {
			if m.Name == a.Member {
				o.timings(ctx, a, m)
			}
		}
	})
	return o.backingUp(ctx, s)
}

func (o *Observer) timings(ctx context.Context, a *facts.Answer, m cluster.Member) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	if timings, err := o.Timings(ctx, metricsOf(m)); err == nil {
		a.Timings = &timings
	}
}

// metricsOf is where a member serves its metrics.
func metricsOf(m cluster.Member) string {
	return net.JoinHostPort(m.Pod.Address, strconv.Itoa(v1beta1.MetricsPort))
}
