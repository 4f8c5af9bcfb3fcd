// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// expiryWarningFraction is the part of its life (one sixth) that a certificate has left when a missing renewal is reported: half of what
// tools leave that renew at two thirds, as cert-manager does.
const expiryWarningFraction = 6

// Certificates say whether external certificates serve, what members go on with if not, and of all when they end.
func (h KeyMaterial) Certificates(c *v1beta1.EtcdCluster, now time.Time) cluster.Certificates {
	status := cluster.Certificates{External: c.CertificateSecrets() != nil}
	status.Begin, status.End = h.life()
	if !status.External {
		return status
	}
	var faults []string
	for i, t := range h.external {
		if t.secret == "" {
			continue
		}
		begin, end, err := h.acceptance(c, part(i), now)
		reason, because := "", ""
		var rejected *pki.Rejection
		switch {
		case errors.As(err, &rejected):
			reason, because = string(rejected.Defect), rejected.Because
		case now.After(end.Add(-end.Sub(begin) / expiryWarningFraction)):
			reason = v1beta1.ReasonEndsSoon
			because = fmt.Sprintf("its certificate, or an authority above it, ends on %s, and still serves: renew it, or look at what is "+
				"to renew it", end.UTC().Format(time.RFC3339))
		default:
			continue
		}
		if status.Reason == "" || status.Reason == v1beta1.ReasonEndsSoon {
			status.Reason = reason
		}
		faults = append(faults, "Secret "+t.secret+": "+because)
	}
	if expiry := h.expiry(c, now); expiry != "" {
		faults = append(faults, expiry)
		if status.Reason == "" || status.Reason == v1beta1.ReasonEndsSoon {
			status.Reason = v1beta1.ReasonExpired
		}
	}
	status.Fault = strings.Join(faults, "; ")
	status.Lacking = !h.hasCertificates(c, now)
	if status.End != 0 {
		status.Until = time.Unix(status.End, 0).UTC().Format(time.RFC3339)
	}
	status.Request = h.unmet(c, now)
	return status
}

// life is when the first of those certificates ends that members have, and when that one began, in seconds since 1970; 0 if there are none.
func (h KeyMaterial) life() (begin, end int64) {
	servers, known := h.Server.End()
	peers, both := h.Peer.End()
	if !known || !both {
		return 0, 0
	}
	first, ends := h.Server, servers
	if peers.Before(servers) {
		first, ends = h.Peer, peers
	}
	began, _ := first.Begin()
	return began.Unix(), ends.Unix()
}

// unmet is the request to rotate an external authority; empty if there is none, or if it has ended and so is replaced by request.
func (h KeyMaterial) unmet(c *v1beta1.EtcdCluster, now time.Time) string {
	for _, name := range Authorities(c) {
		a, asked := h.of(c, name), requestOf(c, name)
		if asked != "" && asked != a.Request && !h.isOver(c, name, now) {
			return asked
		}
	}
	return ""
}
