// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package clock

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// TestFault38ClockAheadOfTheServer: by how much follows from each answer; a moment counts for
// nothing, nor does an answer without a date.
func TestFault38ClockAheadOfTheServer(t *testing.T) {
	clock := &Server{Now: func() time.Time { return noon }}
	var date string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header()["Date"] = []string{date} }))
	defer server.Close()
	http := &http.Client{Transport: clock.Wrap(server.Client().Transport)}
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
		if want := clock.Now().Add(test.ahead - test.off); !clock.Later().Equal(want) {
			t.Errorf("the server says %q: the later time is %s, want %s", test.says, clock.Later(), want)
		}
		if ahead, off := clock.Ahead(), clock.Off(); ahead != test.ahead || off != test.off {
			t.Errorf("the server says %q: ahead by %s and off by %s, want %s and %s", test.says, ahead, off, test.ahead, test.off)
		}
	}
}

func at(after time.Duration) string { return noon.Add(after).UTC().Format(http.TimeFormat) }
