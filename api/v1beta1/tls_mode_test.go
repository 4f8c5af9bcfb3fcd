// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package v1beta1_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

var windows = []refusal{
	{
		name: "a window that ends before it begins", bad: "{tls: {clientWindow: -1s}}", good: "{tls: {clientWindow: 0s}}",
		says: "spec.tls.clientWindow|from 0s to 168h",
	},
	{
		name: "a window of more than a week", bad: "{tls: {clientWindow: 169h}}", good: "{tls: {clientWindow: 168h}}",
		says: "spec.tls.clientWindow|from 0s to 168h",
	},
}

// TestTLSModeOfAClusterThatHasFormed: it may be changed once the status says by which mode members are found, and back meanwhile; what
// needs TLS goes first.
func TestTLSModeOfAClusterThatHasFormed(t *testing.T) {
	for from, to := range map[string]string{"{}": "{tls: {mode: Disabled}}", "{tls: {mode: Disabled}}": "{}"} {
		t.Run(from, func(t *testing.T) {
			name := "forms-" + map[bool]string{true: "on", false: "off"}[to == "{}"]
			c := create(t, name, from)
			wantRefused(t, tryUpdate(t, name, to), "before it has formed", "spec.tls", "tls.mode can be changed only once the cluster has formed")
			c.Status.TLS = &v1beta1.TLSStatus{Mode: v1beta1.TLSMode(c.TLSMode()), Phase: v1beta1.TLSStable}
			wantAccepted(t, server.Status().Update(t.Context(), c), "its status")
			wantAccepted(t, tryUpdate(t, name, to), to)
			wantAccepted(t, tryUpdate(t, name, from), from)
			wantRefused(t, tryUpdate(t, name, "{auth: {enabled: true}, tls: {mode: Disabled}}"), "with authentication", "auth.enabled needs")
			c = get(t, name)
			c.Status.TLS = &v1beta1.TLSStatus{Mode: "Optional", Phase: "Elsewhere"}
			wantRefused(t, server.Status().Update(t.Context(), c), "a status of no known mode", "status.tls.mode", "status.tls.phase")
		})
	}
}
