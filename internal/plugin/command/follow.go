// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/etcd-operator/etcd-operator/internal/plugin/progress"
)

// progressState is what a look at long work finds.
type progressState struct {
	progress.Progress
	ended   bool
	problem string // why it ended badly; empty if it ended well
	result  string // what there is now
}

// follow watches long work until it ends, and shows its progress. goesOn says what happens to it when the command ends earlier; then
// the returned state has not ended.
func (a *app) follow(ctx context.Context, limit time.Duration, goesOn string, look func(context.Context) (progressState, error),
) (progressState, error) {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	shown := display{app: a}
	defer shown.end()
	for {
		seen, err := look(ctx)
		switch {
		case ctx.Err() != nil: // what was seen meanwhile may be half of it
		case isFinal(err):
			return progressState{}, err
		case err != nil:
			seen.Progress = progress.Progress{What: "the API server", Message: err.Error() + "; trying again"}
			shown.show(seen.Progress)
		case seen.ended:
			return seen, nil
		default:
			shown.show(seen.Progress)
		}
		select {
		case <-ctx.Done():
			shown.end()
			a.stop(ctx, limit, goesOn)
			return progressState{}, nil
		case <-time.After(a.Look):
		}
	}
}

// isFinal says whether another try would end in the same way.
func isFinal(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
}

// finish says how it ended.
func (a *app) finish(seen progressState, err error) error {
	if err != nil || !seen.ended {
		return err
	}
	if seen.problem != "" {
		a.note("%s failed: %s", seen.What, seen.problem)
		a.exit = Unwell
		return nil
	}
	a.say("%s", seen.result)
	return nil
}

func (a *app) stop(ctx context.Context, limit time.Duration, goesOn string) {
	a.exit = Unfinished
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		a.note("not finished after %s; %s", limit, goesOn)
		return
	}
	a.note("no longer waiting; %s", goesOn)
}

// display shows how far work is: a bar that is drawn again, or a line whenever something else is to say.
type display struct {
	*app
	stage string
	drawn int // characters of the bar
}

func (d *display) show(p progress.Progress) {
	if d.BarWidth == 0 {
		if stage := progress.Stage(p); stage != d.stage {
			d.stage = stage
			d.note("%s", progress.Line(p))
		}
		return
	}
	bar := progress.Bar(p, d.BarWidth-1) // a full last column breaks the line in some terminals
	length := utf8.RuneCountInString(bar)
	_, _ = fmt.Fprint(d.bar, "\r")
	_, _ = fmt.Fprint(d.Err, bar, strings.Repeat(" ", max(0, d.drawn-length)))
	d.drawn = length
}

// end leaves the last bar where it is, and moves below it.
func (d *display) end() {
	if d.drawn > 0 {
		_, _ = fmt.Fprintln(d.Err)
		d.drawn = 0
	}
}
