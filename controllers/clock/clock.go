// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clock knows by how much the clock of this machine and that of the API server differ.
//
// It must never ask the API server for that: each answer has the time.
package clock

import (
	"net/http"
	"sync/atomic"
	"time"
)

// nearly is how far two clocks may be apart and count as one: what an answer of the API server
// takes on its way, and the second to which it gives the time.
const nearly = 10 * time.Second

// A Server knows by how much the clock of this machine is ahead of the API server's, which
// sends its own with each answer (Date, RFC 9110). A wrong clock alone must not have a volume
// deleted or a member replaced.
type Server struct {
	Now func() time.Time // the clock of this machine

	isOff atomic.Int64
}

// Ahead is 0 if the clock of this machine is right, or behind.
func (s *Server) Ahead() time.Duration { return max(s.Off(), 0) }

// Off is by how much the clock of this machine is ahead, and negative if it is behind.
func (s *Server) Off() time.Duration { return time.Duration(s.isOff.Load()) }

// Behind is 0 if the clock of this machine is right, or ahead.
func (s *Server) Behind() time.Duration { return max(-s.Off(), 0) }

// Later is the time by whichever clock is ahead. Certificates are made by it: those that live for minutes would have expired for others
// before they are made by a clock that is behind.
func (s *Server) Later() time.Time { return s.Now().Add(s.Behind()) }

func (s *Server) hear(date string) {
	sent, err := http.ParseTime(date)
	if err != nil {
		return
	}
	off := s.Now().Sub(sent)
	if off.Abs() < nearly {
		off = 0
	}
	s.isOff.Store(int64(off))
}

// Wrap has it hear the date of each answer.
func (s *Server) Wrap(inner http.RoundTripper) http.RoundTripper { return dated{inner, s} }

type dated struct {
	http.RoundTripper
	clock *Server
}

func (d dated) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := d.RoundTripper.RoundTrip(request)
	if err == nil {
		d.clock.hear(answer.Header.Get("Date"))
	}
	return answer, err //nolint:wrapcheck // it is the transport's own
}

// WrappedRoundTripper is asked for by client-go, which looks for the connections underneath.
func (d dated) WrappedRoundTripper() http.RoundTripper { return d.RoundTripper }
