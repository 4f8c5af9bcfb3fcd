// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// interval is the least time between two lines of progress; a rate is that of the last window.
const (
	interval = time.Second
	window   = 5 * time.Second
)

// progressWriter writes lines, from any goroutine.
type progressWriter struct {
	lock  sync.Mutex
	out   io.Writer
	now   func() time.Time
	doing string    // the message of the last progress
	noted string    // what is reported beside every progress; empty: nothing
	last  time.Time // when a line of progress was written
	marks []mark    // of the last window
}

type mark struct {
	at   time.Time
	read int64
}

func newProgressWriter(out io.Writer, now func() time.Time) *progressWriter {
	return &progressWriter{out: out, now: now}
}

func (s *progressWriter) line(l jobspec.Line) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	return l.Write(s.out)
}

// raw writes what is a line already.
func (s *progressWriter) raw(line []byte) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	if _, err := s.out.Write(line); err != nil {
		return fmt.Errorf("write line: %w", err)
	}
	return nil
}

// isEarly says whether the last line was written a moment ago, unless the clock was set back.
func (s *progressWriter) isEarly(now time.Time) bool {
	since := now.Sub(s.last)
	return since >= 0 && since < interval
}

// progress reports how far a Job is, at most once a second. A failure to report is no reason to end.
func (s *progressWriter) progress(read, total int64, message string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	now := s.now()
	if s.isEarly(now) {
		return
	}
	if message != s.doing {
		s.doing, s.marks = message, nil // a rate is that of one thing
	}
	s.last = now
	if s.noted != "" {
		message += "; " + s.noted
	}
	line := jobspec.Line{Progress: &jobspec.Progress{Read: read, Total: total, Rate: s.rate(now, read), Message: message}}
	_ = line.Write(s.out)
}

// logged reports how far a log is, at most once a second.
func (s *progressWriter) logged(message string, l jobspec.Logged) {
	s.lock.Lock()
	defer s.lock.Unlock()
	now := s.now()
	if s.isEarly(now) {
		return
	}
	s.last = now
	_ = jobspec.Line{Progress: &jobspec.Progress{Message: message, Follow: &l}}.Write(s.out) // a failure to report is no reason to end
}

// note reports a text from now on beside the progress.
func (s *progressWriter) note(text string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.noted = text
}

// rate is in bytes a second; 0 while it is not known.
func (s *progressWriter) rate(now time.Time, read int64) int64 {
	s.marks = append(s.marks, mark{now, read})
	for len(s.marks) > 2 && now.Sub(s.marks[0].at) > window {
		s.marks = s.marks[1:]
	}
	first := s.marks[0]
	passed := now.Sub(first.at)
	if passed <= 0 || read < first.read {
		return 0
	}
	return int64(float64(read-first.read) / passed.Seconds())
}
