// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

const mi = 1 << 20

var half = Progress{What: "backup b1", Read: 512 * mi, Total: 1024 * mi, Percent: 50, Rate: 4 * mi, Message: "it is written"}

// TestBarFits: a bar has per cent, rate and how long it takes, and never breaks the line.
func TestBarFits(t *testing.T) {
	want := "backup b1 [====================                    ]  50 %  512Mi of 1Gi, 4Mi/s, 3m left  it is written"
	if is := Bar(half, 120); is != want {
		t.Errorf("bar:\n%s\nwanted:\n%s", is, want)
	}
	for width := 2; width < 130; width++ {
		if is := utf8.RuneCountInString(Bar(half, width)); is > width {
			t.Errorf("a bar for %d characters has %d", width, is)
		}
	}
	if is := Bar(half, 50); strings.Contains(is, "[") {
		t.Errorf("there is no room for a bar: %s", is)
	}
}

// TestLines are what a log has: without a total only what is done, without a rate no guess.
func TestLines(t *testing.T) {
	tests := map[string]Progress{
		"backup b1: 50 %, 512Mi of 1Gi, 4Mi/s, 3m left: it is written": half,
		"backup b1: 100 %, 1Gi of 1Gi":                                 {What: "backup b1", Read: 1024 * mi, Total: 1024 * mi, Percent: 100},
		"backup b1: waiting for a member":                              {What: "backup b1", Message: "waiting for a member"},
		"backup b1: 99 %, 1014Mi of 1Gi, 4Mi/s, 3s left": {
			What: "backup b1", Read: 1014 * mi, Total: 1024 * mi, Percent: 99, Rate: 4 * mi,
		},
	}
	for want, p := range tests {
		if is := Line(p); is != want {
			t.Errorf("line %q, wanted %q", is, want)
		}
	}
	near, far := half, half
	near.Percent, far.Percent = 59, 60
	if Stage(half) != Stage(near) || Stage(half) == Stage(far) {
		t.Error("a log has one line for each tenth")
	}
}

// TestOfBackup: without a Job that runs, the phase says how far it is.
func TestOfBackup(t *testing.T) {
	b := &v1beta1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Name: "b1"}}
	b.Status.Phase = v1beta1.BackupPending
	if is := Line(OfBackup(b)); is != "backup b1: pending" {
		t.Errorf("line %q", is)
	}
	b.Status.Progress = &v1beta1.BackupProgress{
		Read: ptr.To(resource.MustParse("512Mi")), Total: ptr.To(resource.MustParse("1Gi")), Rate: ptr.To(resource.MustParse("4Mi")),
		Percent: 50, Message: "it is written",
	}
	if OfBackup(b) != half {
		t.Errorf("progress %+v", OfBackup(b))
	}
}
