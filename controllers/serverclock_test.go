package controllers

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestFault38ClockAheadOfTheServer: by how much follows from each answer; a moment counts for
// nothing, nor does an answer without a date.
func TestFault38ClockAheadOfTheServer(t *testing.T) {
	clock := &serverClock{now: func() time.Time { return noon }}
	var date string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header()["Date"] = []string{date} }))
	defer server.Close()
	http := &http.Client{Transport: clock.wrap(server.Client().Transport)}
	for _, test := range []struct {
		says       string
		ahead, off time.Duration
	}{
		{at(-time.Hour), time.Hour, time.Hour},
		{"no date", time.Hour, time.Hour},
		{at(-9 * time.Second), 0, 0},
		{at(-10 * time.Second), 10 * time.Second, 10 * time.Second},
		{at(time.Hour), 0, -time.Hour},
		{at(9 * time.Second), 0, 0},
	} {
		date = test.says
		answer, err := http.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if want := clock.now().Add(test.ahead - test.off); !clock.later().Equal(want) {
			t.Errorf("the server says %q: the later time is %s, want %s", test.says, clock.later(), want)
		}
		if ahead, off := clock.ahead(), clock.off(); ahead != test.ahead || off != test.off {
			t.Errorf("the server says %q: ahead by %s and off by %s, want %s and %s", test.says, ahead, off, test.ahead, test.off)
		}
	}
}

func at(after time.Duration) string { return noon.Add(after).UTC().Format(http.TimeFormat) }
