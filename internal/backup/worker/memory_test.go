// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestMemoryLimit(t *testing.T) {
	for content, want := range map[string]int64{
		"201326592\n": 100663296, "max\n": math.MaxInt64, "": math.MaxInt64, "0": math.MaxInt64, "-1": math.MaxInt64,
	} {
		if got := MemoryLimit(content); got != want {
			t.Errorf("%q: %d, and it should be %d", content, got, want)
		}
	}
}

// What differs from its file, can be written to or is of no file must stay.
func TestUnchanged(t *testing.T) {
	const mappings = `00400000-02bf8000 r-xp 00000000 fe:00 9988175                            /ko-app/etcd-operator
Size:              40928 kB
Private_Clean:     31852 kB
Private_Dirty:         0 kB
VmFlags: rd ex mr mw me
02bf8000-059e7000 r--p 027f8000 fe:00 9988175                            /ko-app/etcd-operator
Private_Dirty:         8 kB
059e7000-05aec000 rw-p 055e7000 fe:00 9988175                            /ko-app/etcd-operator
Private_Dirty:         0 kB
05aec000-05b3c000 r--p 00000000 00:00 0
Private_Dirty:         0 kB
05b3c000-05b4c000 r--p 00000000 00:00 0                                  [vvar]
Private_Dirty:         0 kB
05b4c000-05b5c000 r--p 00000000 fe:00 9988176                            /lib/some.so
Private_Dirty:         0 kB
x-y r--p 00000000 fe:00 9988176                                          /lib/other.so
Private_Dirty:         0 kB
`
	want := []mapping{{0x400000, 0x2bf8000}, {0x5b4c000, 0x5b5c000}}
	if got := unchanged(strings.NewReader(mappings)); !slices.Equal(got, want) {
		t.Errorf("%x, and it should be %x", got, want)
	}
	if got := unchanged(strings.NewReader("")); len(got) > 0 {
		t.Errorf("%x", got)
	}
}

// TestForgetStart: pages of a file that were only read are given back, and what is read again is the same.
func TestForgetStart(t *testing.T) {
	const size = 8 << 20
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, bytes.Repeat([]byte("etcd"), size/4), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Sync(); err != nil { // else Linux counts what has yet to be written as changed
		t.Fatal(err)
	}
	pages, err := syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Munmap(pages) }() // the process ends soon
	read := func() int { return bytes.Count(pages, []byte("etcd")) }
	if read() != size/4 || resident(t, path) != size {
		t.Fatalf("of %d bytes that were read %d are in memory: the test shows nothing", size, resident(t, path))
	}
	mappings, err := os.Open(MappingsFile)
	if err != nil {
		t.Fatal(err)
	}
	defer mappings.Close()
	ForgetStart(mappings)
	if left := resident(t, path); left > 0 {
		t.Errorf("%d bytes are still in memory", left)
	}
	if read() != size/4 {
		t.Error("what is read again is something else")
	}
}

// resident is how many bytes of a file that is mapped this process has in memory.
func resident(t *testing.T, path string) (bytes int) {
	t.Helper()
	mappings, err := os.ReadFile(MappingsFile)
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(mappings), path+"\n")
	_, after, has := strings.Cut(after, "\nRss:")
	if _, err := fmt.Sscanf(after, "%d kB", &bytes); err != nil || !found || !has {
		t.Fatalf("%s is not mapped: %v", path, err)
	}
	return bytes << 10
}
