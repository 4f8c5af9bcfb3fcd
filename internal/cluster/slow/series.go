package slow

import (
	"math"
	"time"
)

const (
	// keepEvery and keepFor bound the history: a value every ten minutes, of a day.
	keepEvery = 10 * time.Minute
	kept      = 144
	// enough is how many of them make a history, which takes two hours.
	enough = 12

	// withoutHistory is how many times slower than its peers a member is at least while nothing else is known. Machines and zones differ,
	// which only history shows.
	withoutHistory = 4.0
	// apart and spreads are how far the ratio of a member and its peers is above the median of that ratio: twice as much, and by that many
	// median absolute deviations. slower is how far the value is above its own median.
	apart   = 2.0
	spreads = 5.0
	slower  = 1.5

	// Many times slower than usual is acted on soon, and less than that after minutes: a leader that is ten times slower is to be left
	// within a minute.
	grave         = 5.0
	graveAfter    = 20 * time.Second
	anythingAfter = 3 * time.Minute
	// several is how many more looks have to show it than not.
	several = 3
	// wellFor is how long a member has to be well before it is no longer slow.
	wellFor = 10 * time.Minute

	// asBefore is by how much the beginning of what happens every day may differ from the days before: a backup by another program, for
	// example. It may last longer by half, and be twice as high.
	asBefore = time.Hour
	day      = 24 * time.Hour
	// shortest is how long what happens every day may always last, and longest what lasts too long for that.
	shortest = 5 * time.Minute
	longest  = 2 * time.Hour
	episodes = 16
)

// series is one signal of one member.
type series struct {
	values, ratios history
	last           time.Time // when the newest of them was kept

	bad       int // looks that have shown it slow, less those that have not
	grave     int // looks in a row that have shown it many times slower
	badSince  time.Time
	badUntil  time.Time
	peak      float64
	goodSince time.Time
	past      []episode // the oldest first

	since        time.Time // when it was found slow; zero if it is not
	value, usual float64   // then
}

// history is what was usual for a day.
type history struct {
	all            []float32 // the oldest first
	median, spread float64   // of all of them; the spread is the median absolute deviation
}

func (h *history) keep(value float64) {
	h.all = append(h.all, float32(value))
	h.all = h.all[max(0, len(h.all)-kept):]
	sorted := make([]float64, len(h.all))
	for i, v := range h.all {
		sorted[i] = float64(v)
	}
	h.median = median(sorted)
	for i, v := range h.all {
		sorted[i] = math.Abs(float64(v) - h.median)
	}
	h.spread = median(sorted)
}

// An episode is a time in which a member was slow.
type episode struct {
	began time.Time
	took  time.Duration
	peak  float64
}

func (s *series) look(at time.Time, value, peers, floor float64) {
	peers = max(peers, floor/1000) // none of them may be behind
	usual, isBad := s.judge(value, peers, floor)
	if s.grave++; !isBad || value < grave*usual {
		s.grave = 0
	}
	if isBad {
		s.noteBad(at, value)
	} else {
		s.noteGood(at, value, value/peers)
	}
	if !s.since.IsZero() || s.bad < several || s.isAsBefore(at) {
		return
	}
	after := anythingAfter
	if s.grave >= several {
		after = graveAfter
	}
	if isBad && at.Sub(s.badSince) >= after {
		s.since, s.value, s.usual = at, value, usual
	}
}

// judge says what would be usual, and whether the value is far above that and above the peers'.
func (s *series) judge(value, peers, floor float64) (usual float64, isBad bool) {
	if len(s.values.all) < enough {
		return peers, value >= floor && value >= withoutHistory*peers
	}
	ratio := value / peers
	return s.values.median, value >= floor && value >= slower*s.values.median && ratio >= apart*s.ratios.median &&
		ratio >= s.ratios.median+spreads*s.ratios.spread
}

func (s *series) noteBad(at time.Time, value float64) {
	if s.bad == 0 && s.since.IsZero() {
		s.badSince, s.peak = at, 0
	}
	s.bad = min(s.bad+1, 2*several)
	s.badUntil, s.peak = at, max(s.peak, value)
	if s.bad >= several { // one look alone says no more than noise
		s.goodSince = time.Time{}
	}
}

// noteGood keeps what is usual. What is slow never becomes that.
func (s *series) noteGood(at time.Time, value, ratio float64) {
	if s.goodSince.IsZero() {
		s.goodSince = at
	}
	if s.bad > 0 {
		if s.bad--; s.bad == 0 {
			s.end()
		}
	}
	if s.bad == 0 && at.Sub(s.goodSince) >= wellFor {
		s.since = time.Time{}
	}
	if s.bad == 0 && at.Sub(s.last) >= keepEvery {
		s.last = at
		s.values.keep(value)
		s.ratios.keep(ratio)
	}
}

// end remembers a time in which the member was slow, if it was short: it may come every day.
func (s *series) end() {
	e := episode{s.badSince, s.badUntil.Sub(s.badSince), s.peak}
	if n := len(s.past); n > 0 && s.badSince.Sub(s.past[n-1].began) < longest { // it has paused
		e = episode{s.past[n-1].began, s.badUntil.Sub(s.past[n-1].began), max(s.peak, s.past[n-1].peak)}
		s.past = s.past[:n-1]
	}
	if e.took > 0 && e.took < longest {
		s.past = append(s.past, e)
		s.past = s.past[max(0, len(s.past)-episodes):]
	}
}

// isAsBefore says whether the same happened at about this time on a day before.
func (s *series) isAsBefore(at time.Time) bool {
	for _, e := range s.past {
		since := s.badSince.Sub(e.began)
		apart := (since - since.Round(24*time.Hour)).Abs()
		if since > day/2 && apart <= asBefore && s.peak <= 2*e.peak && at.Sub(s.badSince) <= max(e.took*3/2, e.took+shortest) {
			return true
		}
	}
	return false
}
