// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

// TestTLSIsRecorded: the status says by which mode members are found, from the first look at a cluster that has formed, and keeps older
// operators away while that changes.
func TestTLSIsRecorded(t *testing.T) {
	c, v := formed(), healthy()
	c.Spec.TLS.Mode, c.Status.TLS = v1beta1.TLSDisabled, nil
	status := report.Status(c, v, plan.Done{}, nil)
	if got := status.TLS; got == nil || *got != (v1beta1.TLSStatus{Mode: v1beta1.TLSDisabled, Phase: v1beta1.TLSStable}) {
		t.Fatalf("%+v", got)
	}
	if got := report.Status(unformed(), unseen, plan.Done{}, nil).TLS; got != nil {
		t.Errorf("before it has formed: %+v", got)
	}
	v.TLS = cluster.TLSChange{Wanted: true, At: 1_000}
	for _, want := range []struct {
		mode     v1beta1.TLSMode
		phase    v1beta1.TLSPhase
		switched bool
		event    string
	}{
		{v1beta1.TLSDisabled, v1beta1.TLSAdvertised, false, "TLSChanging"},
		{v1beta1.TLSDisabled, v1beta1.TLSBoth, false, "TLSServingBoth"},
		{v1beta1.TLSEnabled, v1beta1.TLSBoth, true, "TLSSwitched"},
		{v1beta1.TLSEnabled, v1beta1.TLSAdvertised, true, "TLSWindowEnded"},
		{v1beta1.TLSEnabled, v1beta1.TLSStable, false, "TLSChanged"},
	} {
		step := plan.RecordTLS(v, v.Record.TLS.Toward(true, v.TLS.At))
		c.Status = status
		status = report.Status(c, v, step, nil)
		v.Record.TLS = v.Record.TLS.Toward(true, v.TLS.At)
		got := status.TLS
		if got.Mode != want.mode || got.Phase != want.phase || (got.SwitchedAt != nil) != want.switched {
			t.Errorf("%s: %+v, want %+v", step, got, want)
		}
		if event := plan.KindOf(step).Event; event != want.event {
			t.Errorf("%s: event %s, want %s", step, event, want.event)
		}
		if keepsAway := status.Format == v1beta1.FormatSwitchingTLS; keepsAway != (want.phase != v1beta1.TLSStable) {
			t.Errorf("%s: format %d", step, status.Format)
		}
	}
}
