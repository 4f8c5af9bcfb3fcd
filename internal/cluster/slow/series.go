// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package slow

import (
	"math"
	"time"
)

const (
	// apart is how many times more than before a member is slower than its peers, and slower how many times slower than it was itself. Five
	// times is beyond what noise, spikes and a backup by another program do to one of them.
	apart  = 5.0
	slower = 2.0

	// Many times slower than usual is acted on soon, and less than that after minutes: a leader that is ten times slower is to be left
	// within a minute.
	grave         = 5.0
	graveAfter    = 20 * time.Second
	anythingAfter = 3 * time.Minute
	// several is how many more looks have to show it than not.
	several = 3
	// wellFor is how long a member has to be well before it is no longer slow.
	wellFor = 10 * time.Minute
	// settles is within which time what is usual follows what a member shows while it is well.
	settles = 6 * time.Hour
)

// series is one signal of one member.
type series struct {
	usual float64   // that it shows while it is well; 0: it is not known
	last  time.Time // when that was last brought nearer to what it shows

	bad       int // looks that have shown it slow, less those that have not
	grave     int // looks in a row that have shown it many times slower
	badSince  time.Time
	goodSince time.Time

	since       time.Time // when it was found slow; zero if it is not
	value, then float64   // what it showed then, and what was usual
}

// begin takes what the member has shown since its process started, if nothing is known of it: what was so from the start is no change.
func (s *series) begin(usual float64) {
	if s.usual == 0 && !math.IsNaN(usual) {
		s.usual = usual
	}
}

// look takes what the member and its peers show, and what is usual for these.
func (s *series) look(at time.Time, value, peers, usualPeers, floor float64) {
	nothing := floor / 1000 // none of them may count nothing
	ratio, usualRatio := value/max(peers, nothing), max(s.usual, nothing)/max(usualPeers, nothing)
	least := apart * usualRatio
	if !s.since.IsZero() {
		least /= 2 // what was found slow is well if it is clearly better
	}
	isBad := value >= floor && value >= slower*s.usual && ratio >= least
	if s.grave++; !isBad || value < grave*s.usual {
		s.grave = 0
	}
	if isBad {
		s.noteBad(at)
	} else {
		s.noteGood(at, value)
	}
	if !isBad || !s.since.IsZero() || s.bad < several {
		return
	}
	after := anythingAfter
	if s.grave >= several {
		after = graveAfter
	}
	if at.Sub(s.badSince) >= after {
		s.since, s.value, s.then = at, value, s.usual
	}
}

func (s *series) noteBad(at time.Time) {
	if s.bad == 0 && s.since.IsZero() {
		s.badSince = at
	}
	s.bad = min(s.bad+1, 2*several)
	if s.bad >= several { // one look alone says no more than noise
		s.goodSince = time.Time{}
	}
}

// noteGood brings what is usual nearer to the value. What is slow never becomes that.
func (s *series) noteGood(at time.Time, value float64) {
	if s.goodSince.IsZero() {
		s.goodSince = at
	}
	s.bad = max(s.bad-1, 0)
	if s.bad == 0 && at.Sub(s.goodSince) >= wellFor {
		s.since = time.Time{}
	}
	if s.bad == 0 && s.since.IsZero() {
		if !s.last.IsZero() {
			s.usual += (value - s.usual) * min(at.Sub(s.last).Seconds()/settles.Seconds(), 1)
		}
		s.last = at
	}
}
