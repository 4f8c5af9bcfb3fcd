// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// TestPrefixes: of a real etcd, the largest first, counted whole and measured by a sample.
func TestPrefixes(t *testing.T) {
	ofVersions(t, process.Versions, func(t *testing.T, version string) {
		c := process.Run(t, version, 1)
		c.Serves("m1")
		m := c.Client("m1")
		put := func(format string, count, size int) {
			t.Helper()
			var keys []etcd.KeyValue
			for i := range count {
				keys = append(keys, etcd.KeyValue{Key: fmt.Appendf(nil, format, i), Value: bytes.Repeat([]byte("x"), size)})
			}
			if _, _, err := m.PutMissing(t.Context(), keys); err != nil {
				t.Fatal(err)
			}
		}
		put("/registry/pods/default/%d", 100, 1000)
		put("/registry/events/%d", 20, 20000)
		put("job%d", 10, 10)
		all, whole, err := m.Prefixes(t.Context())
		if err != nil || !whole || len(all) != 3 {
			t.Fatalf("%+v, whole %t: %v", all, whole, err)
		}
		for i, want := range []etcd.Prefix{{"/registry/events/", 20, 400000}, {"/registry/pods/", 100, 102000}, {"job", 10, 140}} {
			if got := all[i]; got.Prefix != want.Prefix || got.Keys != want.Keys || got.Bytes < want.Bytes || got.Bytes > want.Bytes*11/10 {
				t.Errorf("%+v, want about %+v", got, want)
			}
		}
		for i := range 10 {
			put(fmt.Sprintf("%d%%d/", i), 100, 1)
		}
		put("%c/", 100, 1) // so that there are more prefixes than are looked at
		for i := range 3 {
			put(fmt.Sprintf("p%c%%d/x", 'a'+i), 100, 1)
		}
		if all, whole, err := m.Prefixes(t.Context()); err != nil || whole || len(all) != 200 {
			t.Errorf("%d prefixes, whole %t: %v", len(all), whole, err)
		}
	})
}
