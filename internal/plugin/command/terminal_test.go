// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"strings"
	"testing"
)

// TestEscapesAreStripped: a foreign message cannot clear the screen, set a title or turn text around.
func TestEscapesAreStripped(t *testing.T) {
	var out bytes.Buffer
	said := "a\x1b[2Jb\x1b]52;c;eA==\x07c\u202ed\u009b1me ü\n\tf\r"
	for control := range rune(' ') {
		if control != '\n' && control != '\t' {
			said += string(control)
		}
	}
	said += "\x7f\u2028"
	if n, err := (printable{&out}).Write([]byte(said)); err != nil || n != len(said) {
		t.Fatal(n, err)
	}
	if got, want := out.String(), "a[2Jb]52;c;eA==cd1me ü\n\tf"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestReturnIsTheBarsOwn: a message cannot write over the line that it stands in; the bar is drawn again in its own.
func TestReturnIsTheBarsOwn(t *testing.T) {
	w := newWorld(t, cluster("a", available), store("s"))
	said := *running.DeepCopy()
	said.Progress.Message = "lost\rwell"
	for name, width := range map[string]int{"b1": 0, "b2": 200} {
		w.operator, w.width = stages(said, verified), width
		wantExit(t, w.run(t.Context(), "backup", "a", "--store", "s", "--name", name, "--wait"), Done)
		if text := w.err.String(); strings.Contains(text, "\r") != (width > 0) || !strings.Contains(text, "lostwell") {
			t.Errorf("width %d: %q", width, text)
		}
	}
}
