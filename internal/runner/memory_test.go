package runner

import (
	"math"
	"os"
	"slices"
	"strings"
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

// The process goes on as before: what it needs is read again.
func TestForgetStart(t *testing.T) {
	mappings, err := os.Open(MappingsFile)
	if err != nil {
		t.Skip(err)
	}
	defer mappings.Close()
	ForgetStart(mappings)
	t.Run("a test runs", TestMemoryLimit)
}
