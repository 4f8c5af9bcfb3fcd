// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/objectstore"
)

// rules are what every store does, whatever its provider. Each test has an empty one.
var rules = []struct {
	name string
	test func(*testing.T, objectstore.Store)
}{
	{"what is written is read", writtenIsRead},
	{"the largest object is written by one request", largestObject},
	{"the same content again is success", sameAgain},
	{"a name is never written over", neverOver},
	{"of many writers of a name one wins", oneWins},
	{"what is not there is not found", notThere},
	{"a small object is not read when it is large", limited},
	{"a large object is read piece by piece", pieces},
	{"the first bytes are read alone", heads},
	{"a listing is sorted, complete, and knows sizes and times", listing},
	{"folders are those right below", folders},
	{"what is deleted is gone, and its folder", deletion},
	{"a listing has many pages", pages},
	{"names that mean something elsewhere are refused", names},
	{"empty and too large objects are refused", sizes},
	{"a caller who gives up gets their own reason back", givingUp},
	{"a check passes, and leaves nothing behind", check},
}

// conforms holds a store to the rules. The function opens one below a prefix.
func conforms(t *testing.T, open func(*testing.T, string) objectstore.Store) {
	t.Helper()
	for n, rule := range rules {
		t.Run(rule.name, func(t *testing.T) { rule.test(t, open(t, fmt.Sprintf("rule-%d/of/many", n))) })
	}
	t.Run("prefixes keep apart", func(t *testing.T) {
		one, other := open(t, "apart/one"), open(t, "apart/one-more")
		put(t, one, "a", "1")
		put(t, other, "a", "2")
		put(t, other, "b", "3")
		wantNames(t, one, "", "a")
		wantContent(t, one, "a", "1")
		wantNames(t, open(t, "apart"), "", "one-more/a", "one-more/b", "one/a")
	})
}

func writtenIsRead(t *testing.T, s objectstore.Store) {
	put(t, s, "v1/default/example/manifest.json", "content")
	wantContent(t, s, "v1/default/example/manifest.json", "content")
}

func largestObject(t *testing.T, s objectstore.Store) {
	content := noise(objectstore.MaxObject)
	must(t, s.Put(t.Context(), "large", content))
	got, err := s.Get(t.Context(), "large", objectstore.MaxObject)
	must(t, err)
	if !bytes.Equal(got, content) {
		t.Error("the content is another one")
	}
}

func sameAgain(t *testing.T, s objectstore.Store) {
	put(t, s, "a", "content")
	put(t, s, "a", "content")
	wantContent(t, s, "a", "content")
}

func neverOver(t *testing.T, s objectstore.Store) {
	put(t, s, "a", "content")
	for _, other := range []string{"Content", "conten", "content and more"} {
		wantKind(t, s.Put(t.Context(), "a", []byte(other)), objectstore.Exists)
	}
	wantContent(t, s, "a", "content")
}

func oneWins(t *testing.T, s objectstore.Store) {
	const writers = 8
	var group sync.WaitGroup
	results := make([]error, writers)
	for n := range writers {
		group.Go(func() { results[n] = s.Put(t.Context(), "a", fmt.Appendf(nil, "writer %d", n)) })
	}
	group.Wait()
	winner := -1
	for n, err := range results {
		switch {
		case err == nil && winner >= 0:
			t.Errorf("writers %d and %d won", winner, n)
		case err == nil:
			winner = n
		default:
			wantKind(t, err, objectstore.Exists)
		}
	}
	wantContent(t, s, "a", fmt.Sprintf("writer %d", winner))
}

func notThere(t *testing.T, s objectstore.Store) {
	put(t, s, "folder/a", "content")
	for _, name := range []string{"b", "folder/b", "folder"} {
		_, err := s.Get(t.Context(), name, 10)
		wantKind(t, err, objectstore.NotFound)
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("want an fs.ErrNotExist, got %v", err)
		}
		_, err = s.Open(t.Context(), name)
		wantKind(t, err, objectstore.NotFound)
	}
	must(t, s.Delete(t.Context(), "b"))
	must(t, s.Delete(t.Context(), "elsewhere/b"))
	must(t, s.Delete(t.Context(), "folder")) // which is no object
	wantContent(t, s, "folder/a", "content")
	wantNames(t, s, "elsewhere/")
}

func limited(t *testing.T, s objectstore.Store) {
	put(t, s, "a", "content")
	_, err := s.Get(t.Context(), "a", 6)
	wantKind(t, err, objectstore.TooLarge)
	_, err = s.Get(t.Context(), "a", 7)
	must(t, err)
}

func heads(t *testing.T, s objectstore.Store) {
	put(t, s, "a", "content")
	for bytes, want := range map[int64]string{3: "con", 7: "content", 100: "content"} {
		if got, err := s.Head(t.Context(), "a", bytes); err != nil || string(got) != want {
			t.Errorf("%d bytes are %q: %v", bytes, got, err)
		}
	}
	_, err := s.Head(t.Context(), "missing", 3)
	wantKind(t, err, objectstore.NotFound)
}

func pieces(t *testing.T, s objectstore.Store) {
	for _, size := range []int{4<<20 - 1, 4 << 20, 9<<20 + 1} {
		name, content := fmt.Sprintf("of-%d", size), noise(size)
		must(t, s.Put(t.Context(), name, content))
		reader, err := s.Open(t.Context(), name)
		must(t, err)
		got, err := io.ReadAll(reader)
		must(t, errors.Join(err, reader.Close()))
		if !bytes.Equal(got, content) {
			t.Errorf("%s: %d bytes of other content", name, len(got))
		}
	}
}

func listing(t *testing.T, s objectstore.Store) {
	for _, name := range []string{"a/c/d", "a/b", "a-b", "b", "a/b.json"} {
		put(t, s, name, name)
	}
	wantNames(t, s, "", "a-b", "a/b", "a/b.json", "a/c/d", "b")
	wantNames(t, s, "a/", "a/b", "a/b.json", "a/c/d")
	for o, err := range s.List(t.Context(), "a/") {
		must(t, err)
		if o.Size != int64(len(o.Name)) {
			t.Errorf("%s has %d bytes", o.Name, o.Size)
		}
		if age := time.Since(o.Modified); age < -time.Minute || age > time.Hour {
			t.Errorf("%s was written at %s", o.Name, o.Modified)
		}
	}
	for _, err := range s.List(t.Context(), "a") {
		wantKind(t, err, objectstore.Invalid)
	}
}

func folders(t *testing.T, s objectstore.Store) {
	for _, name := range []string{"a/1/x", "a/1/y", "a/1/z/z", "a/2/x", "a/x", "a-b/x", "b"} {
		put(t, s, name, "content")
	}
	wantFolders(t, s, "", "a-b/", "a/")
	wantFolders(t, s, "a/", "a/1/", "a/2/")
	wantFolders(t, s, "a/2/")
	wantFolders(t, s, "elsewhere/")
}

func deletion(t *testing.T, s objectstore.Store) {
	put(t, s, "a/b/c", "content")
	put(t, s, "d", "content")
	must(t, s.Delete(t.Context(), "a/b/c"))
	must(t, s.Delete(t.Context(), "a/b/c"))
	wantNames(t, s, "", "d")
	wantFolders(t, s, "")
	put(t, s, "a/b/c", "other content")
	wantContent(t, s, "a/b/c", "other content")
}

func pages(t *testing.T, s objectstore.Store) {
	const objects, writers = 1020, 4
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for n := w; n < objects; n += writers {
				if err := s.Put(t.Context(), fmt.Sprintf("%d/%05d", n%2, n), []byte("content")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if got := listed(t, s, ""); len(got) != objects {
		t.Errorf("%d of %d objects", len(got), objects)
	}
	wantFolders(t, s, "", "0/", "1/")
}

func names(t *testing.T, s objectstore.Store) {
	long := strings.Repeat("a", 800)
	for _, name := range []string{"", ".", "..", "/a", "a/", "a//b", "../a", "a/../b", "a/.b", "A", "a b", "a~", "ü", "a\\b", long} {
		wantKind(t, s.Put(t.Context(), name, []byte("content")), objectstore.Invalid)
		wantKind(t, s.Delete(t.Context(), name), objectstore.Invalid)
	}
	for _, name := range []string{"", ".", "..", "/a", "a/", "a//b", "../a", "a/../b", "a\\b", "a\nb"} {
		_, err := s.Get(t.Context(), name, 10)
		wantKind(t, err, objectstore.Invalid)
		for _, err := range s.List(t.Context(), name+"/") {
			wantKind(t, err, objectstore.Invalid)
		}
	}
	_, err := s.Get(t.Context(), "Full-00000000-00000042-1518427675.gz", 10)
	wantKind(t, err, objectstore.NotFound) // a foreign name may be asked for
}

func sizes(t *testing.T, s objectstore.Store) {
	wantKind(t, s.Put(t.Context(), "a", nil), objectstore.Invalid)
	wantKind(t, s.Put(t.Context(), "a", make([]byte, objectstore.MaxObject+1)), objectstore.Invalid)
	wantNames(t, s, "")
}

func givingUp(t *testing.T, s objectstore.Store) {
	put(t, s, "a", "content")
	reader, err := s.Open(t.Context(), "a")
	must(t, err)
	must(t, reader.Close())
	reason := errors.New("the Job ends")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	_, read := s.Get(ctx, "a", 10)
	var list error
	for _, list = range s.List(ctx, "") {
		break
	}
	for _, err := range []error{s.Put(ctx, "b", []byte("content")), read, list} {
		if !errors.Is(err, reason) {
			t.Errorf("%v", err)
		}
	}
	wantNames(t, s, "", "a")
}

func check(t *testing.T, s objectstore.Store) {
	report := objectstore.Check(t.Context(), s, time.Now)
	want := objectstore.Report{Reachable: true, Writable: true, Conditional: true, Readable: true, Deletable: true}
	if !report.OK() || !reflect.DeepEqual(report, want) {
		t.Errorf("%+v", report)
	}
	wantNames(t, s, "")

	ahead := func() time.Time { return time.Now().Add(time.Hour) }
	if skew := objectstore.Check(t.Context(), s, ahead).Skew; skew > -59*time.Minute || skew < -61*time.Minute {
		t.Errorf("the store's clock is %s ahead", skew)
	}
}

func put(t *testing.T, s objectstore.Store, name, content string) {
	t.Helper()
	must(t, s.Put(t.Context(), name, []byte(content)))
}

func wantContent(t *testing.T, s objectstore.Store, name, want string) {
	t.Helper()
	got, err := s.Get(t.Context(), name, 1000)
	if err != nil || string(got) != want {
		t.Errorf("%s is %q, want %q; %v", name, got, want, err)
	}
}

func wantNames(t *testing.T, s objectstore.Store, folder string, want ...string) {
	t.Helper()
	if got := listed(t, s, folder); !reflect.DeepEqual(got, want) {
		t.Errorf("below %q is %q, want %q", folder, got, want)
	}
}

func listed(t *testing.T, s objectstore.Store, folder string) []string {
	t.Helper()
	var all []string
	for o, err := range s.List(t.Context(), folder) {
		must(t, err)
		all = append(all, o.Name)
	}
	return all
}

func wantFolders(t *testing.T, s objectstore.Store, folder string, want ...string) {
	t.Helper()
	var got []string
	for f, err := range s.Folders(t.Context(), folder) {
		must(t, err)
		got = append(got, f)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the folders below %q are %q, want %q", folder, got, want)
	}
}

func wantKind(t *testing.T, err error, want objectstore.Kind) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%v, want %s", err, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, c objectstore.Config) objectstore.Store {
	t.Helper()
	s, err := objectstore.Open(t.Context(), c)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// noise does not compress, and is the same for the same size.
func noise(size int) []byte {
	content := make([]byte, size)
	source := rand.NewChaCha8([32]byte{byte(size)})
	_, _ = source.Read(content) // which never fails
	return content
}
