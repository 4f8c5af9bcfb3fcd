// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/plugin/screen"
)

// watch shows clusters again whenever something changes, until the context ends. An API server that does not answer ends nothing.
func (a *app) watch(ctx context.Context, k *Kubernetes, names []string, asJSON bool) error {
	var last []screen.Status
	drawn := false
	for {
		all, err := look(ctx, k, names)
		switch {
		case ctx.Err() != nil: // what was seen meanwhile may be half of it
		case isFinal(err):
			return err
		case err != nil:
			a.note("%v; trying again", err)
			drawn = false // the line above is in the place of the screen
		case a.Width > 0 && !asJSON: // ages go on
			a.draw(k, all, drawn)
			drawn = true
		case last == nil || !reflect.DeepEqual(all, last):
			if !asJSON {
				a.say("at %s", a.Now().UTC().Format(time.RFC3339))
			}
			if err := a.show(k, all, asJSON, len(names) > 0); err != nil {
				return err
			}
			last = all
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(a.Look):
		}
	}
}

// What a terminal obeys: it clears the screen, goes to its first line, and clears what is left of a line or below.
const (
	clearScreen = "\x1b[2J"
	goHome      = "\x1b[H"
	clearLine   = "\x1b[K\n"
	clearBelow  = "\x1b[J"
)

// draw shows clusters in the place of what was drawn before. What does not fit on the screen is left out, and said to be.
func (a *app) draw(k *Kubernetes, all []screen.Status, again bool) {
	a.exit = Done
	for _, s := range all {
		if !s.Healthy {
			a.exit = Unwell
		}
	}
	text := a.text(all)
	if len(all) == 0 {
		text = "there is no EtcdCluster in namespace " + k.Namespace
	}
	if !again {
		_, _ = fmt.Fprint(a.file, clearScreen)
	}
	_, _ = fmt.Fprint(a.file, goHome)
	for _, line := range fitting(text, a.Width, a.Height) {
		_, _ = fmt.Fprint(a.Out, line)
		_, _ = fmt.Fprint(a.file, clearLine)
	}
	_, _ = fmt.Fprint(a.file, clearBelow)
}

// fitting are the lines of a text that fit on a screen, with its last line free for the cursor.
func fitting(text string, width, height int) []string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if more := len(lines) - (height - 1); height > 2 && more > 0 {
		lines = append(lines[:height-2], fmt.Sprintf("and %d more lines: without --watch all are shown", more+1))
	}
	for i, line := range lines {
		if all := []rune(line); len(all) > width {
			lines[i] = string(all[:width])
		}
	}
	return lines
}
