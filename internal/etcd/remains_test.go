// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestRemains: a member that waits for a quorum reports what it has by its metrics.
func TestRemains(t *testing.T) {
	for text, want := range map[string]Remains{
		"# HELP x\netcd_debugging_mvcc_current_revision 1234\netcd_server_proposals_applied_total 5678\n": {1234, 5678, 0},
		"etcd_server_proposals_applied_total 1.2345678e+07\netcd_debugging_mvcc_current_revision 1.1e+07": {11_000_000, 12_345_678, 0},
		"etcd_network_known_peers{Local=\"a\",Remote=\"a\"} 1\netcd_network_known_peers{Local=\"a\",Remote=\"b\"} 1\n" +
			"etcd_network_known_peers{Local=\"a\",Remote=\"c\"} 0\n# HELP etcd_network_known_peers{} 1\n" +
			"etcd_debugging_mvcc_current_revision 1\netcd_server_proposals_applied_total 2\n": {1, 2, 2},
		"etcd_debugging_mvcc_current_revision 1\n":                                           {},
		"etcd_debugging_mvcc_current_revision 1\netcd_server_proposals_applied_total 0\n":    {},
		"etcd_debugging_mvcc_current_revision many\netcd_server_proposals_applied_total 7\n": {},
		"": {},
	} {
		got, err := parseRemains(strings.NewReader(text))
		if got != want || (err != nil) != (want == Remains{}) {
			t.Errorf("%q: got %+v, %v, want %+v", text, got, err, want)
		}
	}
}

// TestRemainsAreReadFromThereOnly: what answers on the port can neither redirect the operator
// nor fill its memory.
func TestRemainsAreReadFromThereOnly(t *testing.T) {
	const good = "etcd_debugging_mvcc_current_revision 1\netcd_server_proposals_applied_total 2\n"
	asked := 0
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = w.Write([]byte(good))
	}))
	defer elsewhere.Close()
	for what, test := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"metrics":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(good)) }, ""},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) }, "302 Found"},
		"no end": {func(w http.ResponseWriter, r *http.Request) {
			for line := []byte(good); r.Context().Err() == nil; {
				if _, err := w.Write(line); err != nil {
					return
				}
			}
		}, "more than 4194304 bytes"},
		"a line without end": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(good + strings.Repeat("x", longestMetrics/2)))
		}, "token too long"},
	} {
		t.Run(what, func(t *testing.T) {
			server := httptest.NewServer(test.answer)
			defer server.Close()
			_, err := ReadRemains(t.Context(), server.Listener.Addr().String())
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want %q", err, test.want)
			}
		})
	}
	if asked > 0 {
		t.Errorf("%d times asked elsewhere", asked)
	}
}
