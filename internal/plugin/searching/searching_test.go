// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package searching

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// TestMoments: a time, how long ago it was, or a revision.
func TestMoments(t *testing.T) {
	for since, want := range map[string]jobspec.SearchOrder{
		"":                                 {},
		"17":                               {From: 17},
		"2h30m":                            {Since: noon.Add(-150 * time.Minute)},
		"2026-11-28T11:00:00Z":             {Since: noon.Add(-time.Hour)},
		"2026-11-28T12:00:00.000001+01:00": {Since: noon.Add(-time.Hour + time.Microsecond)},
	} {
		o, problem := Keys{Key: "/a", HasKey: true, Since: since}.Search(&v1beta1.EtcdCluster{}, "c1-0", noon, true)
		if problem != "" || o.From != want.From || !o.Since.Equal(want.Since) {
			t.Errorf("%q: %+v, %s", since, o, problem)
		}
	}
	for _, wrong := range []string{"0", "-5", "-2h", "yesterday", "2026-11-28", "0001-01-01T00:00:00Z", "99999999999999999999"} {
		if _, problem := (Keys{Key: "/a", HasKey: true, Until: wrong}).Search(&v1beta1.EtcdCluster{}, "c1-0", noon, true); problem == "" {
			t.Errorf("%q is a moment", wrong)
		}
	}
}

// TestValuesAreOnOneLine, shortened, and nothing that a terminal obeys is in them.
func TestValuesAreOnOneLine(t *testing.T) {
	for value, want := range map[string]string{
		"":                            `""`,
		"plain":                       "plain",
		`{"a":1}`:                     `"{\"a\":1}"`,
		"two lines\nhere":             `"two lines\nhere"`,
		"\x1b]0;title\a":              `"\x1b]0;title\a"`,
		"k8s\x00\n\x0f":               `"k8s\x00\n\x0f"`,
		"\xff\xfe":                    `"\xff\xfe"`,
		strings.Repeat("x", 48):       strings.Repeat("x", 48),
		strings.Repeat("x", 49):       strings.Repeat("x", 48) + "…",
		strings.Repeat("äx", 20):      strings.Repeat("äx", 16) + "…",
		"x" + strings.Repeat("ä", 30): "x" + strings.Repeat("ä", 23) + "…",
	} {
		if got := shown([]byte(value)[:min(len(value), Shown)], len(value)); got != want {
			t.Errorf("%q is shown as %s, not as %s", value, got, want)
		}
	}
	long := strings.Repeat("k", 100)
	if row := Row(jobspec.Record{Key: []byte(long), Time: noon}); !strings.Contains(row, long+"  ") {
		t.Errorf("a key is shortened: %s", row)
	}
}
