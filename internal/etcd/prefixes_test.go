// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bytes"
	"testing"
)

// TestPrefixOf: two parts of a path that begins with a slash, as Kubernetes has them, the first of another path, and of names what is
// before a number.
func TestPrefixOf(t *testing.T) {
	for key, want := range map[string]string{
		"/registry/pods/default/web": "/registry/pods/", "/registry/namespaces": "/registry/", "app/users/12": "app/", "key000123": "key",
		"user:12": "user", "0b5e-f00": "0", "name": "name", "/name": "/name", "/": "/", "a": "a", "\xff\xff": "\xff\xff",
	} {
		if got := prefixOf(key); got != want {
			t.Errorf("%q has the prefix %q, want %q", key, got, want)
		}
	}
	for prefix, want := range map[string]string{"a/": "a0", "a\xff": "b", "\xff\xff": "\x00"} {
		if got := after(prefix); !bytes.Equal(got, []byte(want)) {
			t.Errorf("after %q is %q, want %q", prefix, got, want)
		}
	}
}
