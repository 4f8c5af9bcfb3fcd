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

// Certificates say whether external certificates serve, and what members go on with if not.
func (h KeyMaterial) Certificates(c *v1beta1.EtcdCluster, now time.Time) cluster.Certificates {
	if c.CertificateSecrets() == nil {
		return cluster.Certificates{}
	}
	status := cluster.Certificates{External: true}
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
	status.Until = h.until()
	status.Request = h.unmet(c, now)
	return status
}

// until is when the first of those certificates ends that members have; empty if there are none.
func (h KeyMaterial) until() string {
	end, known := h.Server.End()
	peers, both := h.Peer.End()
	switch {
	case !known || !both:
		return ""
	case peers.Before(end):
		end = peers
	}
	return end.UTC().Format(time.RFC3339)
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
