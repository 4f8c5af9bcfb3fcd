package controllers

import (
	"net/http"
	"sync/atomic"
	"time"
)

// nearly is how far two clocks may be apart and count as one: what an answer of the API server
// takes on its way, and the second to which it gives the time.
const nearly = 10 * time.Second

// A serverClock knows by how much the clock of this machine is ahead of the API server's, which
// sends its own with each answer (Date, RFC 9110). A wrong clock alone must not have a volume
// deleted or a member replaced.
type serverClock struct {
	now   func() time.Time
	isOff atomic.Int64
}

// ahead is 0 if the clock of this machine is right, or behind.
func (s *serverClock) ahead() time.Duration { return max(s.off(), 0) }

// off is by how much the clock of this machine is ahead, and negative if it is behind.
func (s *serverClock) off() time.Duration { return time.Duration(s.isOff.Load()) }

// behind is 0 if the clock of this machine is right, or ahead.
func (s *serverClock) behind() time.Duration { return max(-s.off(), 0) }

// later is the time by whichever clock is ahead. Certificates are made by it: those that live for minutes would have expired for others
// before they are made by a clock that is behind.
func (s *serverClock) later() time.Time { return s.now().Add(s.behind()) }

func (s *serverClock) hear(date string) {
	sent, err := http.ParseTime(date)
	if err != nil {
		return
	}
	off := s.now().Sub(sent)
	if off.Abs() < nearly {
		off = 0
	}
	s.isOff.Store(int64(off))
}

// wrap has it hear the date of each answer.
func (s *serverClock) wrap(inner http.RoundTripper) http.RoundTripper { return dated{inner, s} }

type dated struct {
	http.RoundTripper
	clock *serverClock
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
