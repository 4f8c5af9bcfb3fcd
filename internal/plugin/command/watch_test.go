// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// TestWatch: on a pipe one block for each change, with its time, also across an API server that does not answer. Ctrl-C ends it, with the
// exit code of what was shown last.
func TestWatch(t *testing.T) {
	degraded := condition(v1beta1.ConditionDegraded, metav1.ConditionTrue, v1beta1.ReasonMemberDown)
	for last, want := range map[string]int{"Healthy": Done, "MemberDown": Unwell} {
		w := newWorld(t, cluster("a"))
		ctx, stop := context.WithCancel(t.Context())
		looks := 0
		w.operator = func(o client.Object) error {
			c, is := o.(*v1beta1.EtcdCluster)
			if !is {
				return nil
			}
			looks++
			switch {
			case looks == 3:
				return errors.New("connection refused")
			case looks > 8:
				stop()
			case looks > 4 && last == "MemberDown":
				c.Status.Conditions = []metav1.Condition{available, degraded}
			case looks > 4:
				c.Status.Conditions = []metav1.Condition{available}
			}
			return nil
		}
		wantExit(t, w.run(ctx, "status", "a", "--watch"), want)
		wantText(t, &w.out, "at 2026-11-24T12:00:00Z\ndefault/a: Unknown", last)
		wantText(t, &w.err, "connection refused; trying again")
		if blocks := strings.Count(w.out.String(), "at 2026"); blocks != 2 {
			t.Errorf("%d blocks", blocks)
		}
	}
}

// TestWatchEnds: where no try would help.
func TestWatchEnds(t *testing.T) {
	wantExit(t, newWorld(t).run(t.Context(), "status", "none", "-w"), Failed)
}

// TestWatchInPlace: on a terminal the screen is drawn again from its first line, and nothing that an object says moves the cursor.
func TestWatchInPlace(t *testing.T) {
	hostile := available
	hostile.Message = "\x1b[2Jgone"
	w := newWorld(t, cluster("a", hostile))
	w.columns, w.lines = 30, 8
	ctx, stop := context.WithCancel(t.Context())
	looks := 0
	w.operator = func(client.Object) error {
		if looks++; looks > 2 {
			stop()
		}
		return nil
	}
	wantExit(t, w.run(ctx, "status", "a", "-w"), Done)
	text := w.out.String()
	if strings.Count(text, clearScreen) != 1 || strings.Count(text, goHome) != 2 || strings.Count(text, clearBelow) != 2 {
		t.Errorf("%q", text)
	}
	wantText(t, &w.out, "default/a: Healthy", "[2Jgone")
}

// TestFitting: no line is longer than the screen is wide, and what does not fit below is said to be there.
func TestFitting(t *testing.T) {
	if is := fitting("one\ntwo\nthree\n", 4, 4); !slices.Equal(is, []string{"one", "two", "thre"}) {
		t.Errorf("%q", is)
	}
	if is := fitting("one\ntwo\nthree\nfour\n", 9, 4); !slices.Equal(is, []string{"one", "two", "and 2 mor"}) {
		t.Errorf("%q", is)
	}
}
