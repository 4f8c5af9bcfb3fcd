// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
)

// A manifest of format 1 stays readable, byte by byte. This file never changes: a format that differs has another number.
func TestManifestOfFormat1(t *testing.T) {
	content := must(os.ReadFile(filepath.Join("testdata", "manifest-1.json")))(t)
	f := archive.Folder{Namespace: "shop", Cluster: "orders", ID: "5c1d7a52-7d7b-4f0e-9d8f-0a6f3e1b2c4d"}
	m := must(archive.ParseManifest(f, content))(t)
	if again := must(m.Encode())(t); !bytes.Equal(again, content) {
		t.Errorf("written again it is\n%s", again)
	}
	if m.Folder() != f || m.Revision != 48210 || *m.Keys != 7000 || m.HashKV.CompactRevision != 40000 || len(m.Parts) != 2 {
		t.Errorf("%+v", m)
	}
}

// TestManifestWithRecoveries: operators that do not know the number say so, and do not take the manifest for a damaged one.
func TestManifestWithRecoveries(t *testing.T) {
	content := must(os.ReadFile(filepath.Join("testdata", "manifest-1.json")))(t)
	f := archive.Folder{Namespace: "shop", Cluster: "orders", ID: "5c1d7a52-7d7b-4f0e-9d8f-0a6f3e1b2c4d"}
	m := must(archive.ParseManifest(f, content))(t)
	m.Format, m.Recoveries = 2, 3
	if again := must(archive.ParseManifest(f, must(m.Encode())(t)))(t); again.Recoveries != 3 || again.Format != 2 {
		t.Errorf("%+v", again)
	}
	for _, format := range []int{1, 2} {
		m.Format, m.Recoveries = format, int64(2-format)
		if _, err := archive.ParseManifest(f, must(m.Encode())(t)); err == nil {
			t.Errorf("format %d with %d recoveries is read", format, m.Recoveries)
		}
	}
}

func TestManifestsThatAreRefused(t *testing.T) {
	content := string(must(os.ReadFile(filepath.Join("testdata", "manifest-1.json")))(t))
	f := archive.Folder{Namespace: "shop", Cluster: "orders", ID: "5c1d7a52-7d7b-4f0e-9d8f-0a6f3e1b2c4d"}
	tests := []struct {
		name, old, new string
		want           string
	}{
		{"newer format", `"format": 1`, `"format": 3`, "has format 3, and this operator reads format 2: restore it by operator v0.5.0 or newer"},
		{"unknown field", `"format": 1,`, `"format": 1, "tier": "gold",`, `unknown field "tier"`},
		{"another number", `"revision": 48210`, `"revision": 48211`, "its sha256 is not the one that it names"},
		{"another name of a field", `"revision"`, `"Revision"`, "its sha256 is not the one that it names"},
		{"other spaces", `  "format"`, ` "format"`, "its sha256 is not the one that it names"},
		{"no JSON", `{`, ``, "it is no JSON"},
		{"more behind it", "}\n", "}\n{}\n", "it is no JSON"},
	}
	for _, test := range tests {
		if !strings.Contains(content, test.old) {
			t.Fatalf("%s: %q is not in the manifest", test.name, test.old)
		}
		at := strings.LastIndex(content, test.old)
		if test.old == "{" {
			at = 0
		}
		changed := content[:at] + test.new + content[at+len(test.old):]
		_, err := archive.ParseManifest(f, []byte(changed))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if _, err := archive.ParseManifest(archive.Folder{Namespace: "shop", Cluster: "orders", ID: "other"}, []byte(content)); !errors.Is(
		err, archive.ErrForeign) {
		t.Errorf("manifest in another folder: %v", err)
	}
}

func TestNames(t *testing.T) {
	f := archive.Folder{Namespace: "shop", Cluster: "orders.eu", ID: "5c1d"}
	if f.Manifest() != "v1/shop/orders.eu/5c1d/manifest.json" || f.Object(archive.PartName(7)) != "v1/shop/orders.eu/5c1d/000007.part" {
		t.Errorf("%s, %s", f.Manifest(), f.Object(archive.PartName(7)))
	}
	if got, name, ok := archive.ParseName(f.Object("000007.part")); !ok || got != f || name != "000007.part" {
		t.Errorf("%+v, %s, %t", got, name, ok)
	}
	for _, name := range []string{
		"", "v1", "v1/", "v1/a/b/c", "v1/a/b/c/", "v2/a/b/c/manifest.json", "v1/a/b/c/d/manifest.json", "v1/a/../c/manifest.json",
		"v1/a//c/manifest.json", "v1/A/b/c/manifest.json", "v1/a/b/-c/manifest.json", "/v1/a/b/c/manifest.json",
	} {
		if f, _, ok := archive.ParseName(name); ok {
			t.Errorf("%q is in %s", name, f)
		}
	}
}
