package etcd

import (
	"strings"
	"testing"
)

// TestRemains: a member that waits for a quorum tells what it has by its metrics.
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
