// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restoring

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// ofPrefix is a restore of a prefix that waits to be confirmed.
func ofPrefix(change func(*er)) *er {
	r := at(5, func(r *er) {
		r.Namespace = "shop"
		r.Spec = v1beta1.EtcdRestoreSpec{Cluster: "a", Store: "offsite", Prefix: "/it's/", Target: &v1beta1.RestoreTarget{Revision: 42}}
		r.Status.Preview = &v1beta1.RestorePreview{
			Backup: "b1", Revision: 42, Confirm: "a@50->42/0123",
			Changes: &v1beta1.KeyChanges{
				Revision: 50, Created: 3, Updated: 2, Deleted: 1, Unchanged: ptr.To[int64](7), Leased: 1,
				Examples: []string{`create "/it's/a"`, `delete "/it's/b"`},
			},
		}
		change(r)
	})
	return &r
}

// TestPrefixWords: how many keys would be changed, some of them, and what undo needs.
func TestPrefixWords(t *testing.T) {
	words := Words(ofPrefix(func(*er) {}), now)
	for _, want := range []string{
		`Keys of EtcdCluster a below "/it's/" would become as backup b1 has them`, "compared   with the keys of revision 50",
		"create     3", "update     2", "delete     1", "unchanged  7", "1 had a lease", `create "/it's/a"`, "and 4 more",
		"kubectl etcd undo a -n shop",
	} {
		if !strings.Contains(words, want) {
			t.Errorf("%q is not in:\n%s", want, words)
		}
	}
	if words := Words(ofPrefix(func(r *er) { r.Spec.SkipSafetyBackup = true }), now); !strings.Contains(words, "cannot be undone") {
		t.Error(words)
	}
}

// TestPrefixCommand: it confirms the same request.
func TestPrefixCommand(t *testing.T) {
	const want = `kubectl etcd restore a -n shop --store offsite --to-revision 42 --prefix '/it'\''s/' --confirm 'a@50->42/0123'`
	if got := Command(ofPrefix(func(*er) {})); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestPrefixResult: what was done, and how it is undone.
func TestPrefixResult(t *testing.T) {
	r := ofPrefix(func(r *er) { r.Status.Message, r.Status.SafetyBackup = "3 keys created", "r-safety" })
	if got := Result(r); !strings.Contains(got, "3 keys created; 'kubectl etcd undo a -n shop'") {
		t.Error(got)
	}
	r.Spec.Undo = true
	if got := Result(r); strings.Contains(got, "kubectl etcd undo") {
		t.Error(got)
	}
}
