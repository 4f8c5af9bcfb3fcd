// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"
)

func TestMakeReplacesTheMembers(t *testing.T) {
	path := database(t, func(s etcdStore) { s.put("a", "1") })
	edit(t, path, func(tx *bolt.Tx) error {
		return errors.Join(
			tx.Bucket(bucketMembers).Put([]byte("1f"), []byte(`{"id":31,"name":"old","peerURLs":["http://old:2380"]}`)),
			tx.Bucket(bucketMembersRemoved).Put([]byte("2f"), []byte("removed")),
		)
	})
	snapshot := content(t, path)
	o := options(t, snapshot)
	o.InitialCluster["m2"] = "http://127.0.0.2:2380"
	makes(t, o, snapshot)

	info := inspects(t, databaseOf(o))
	if len(info.Members) != 2 {
		t.Fatalf("members: %+v", info.Members)
	}
	for _, m := range info.Members {
		url := o.InitialCluster[m.Name]
		if m.ID != must(MemberID(url, o.Token))(t) || !slices.Equal(m.PeerURLs, []string{url}) || m.Learner {
			t.Errorf("member %+v", m)
		}
	}
	edit(t, databaseOf(o), func(tx *bolt.Tx) error {
		if name, _ := tx.Bucket(bucketMembersRemoved).Cursor().First(); name != nil {
			t.Errorf("%s is still known as removed", name)
		}
		return nil
	})
}

func TestMakeBumpsTheRevision(t *testing.T) {
	snapshot := small(t)
	before := inspects(t, write(t, snapshot))
	o := options(t, snapshot)
	o.BumpRevision, o.MarkCompacted = 1000, true
	makes(t, o, snapshot)
	after := inspects(t, databaseOf(o))
	if after.Revision != before.Revision+1000 || after.CompactRevision != after.Revision || after.ScheduledCompaction != after.Revision {
		t.Errorf("before %+v, after %+v", before, after)
	}
	if after.Keys != before.Keys {
		t.Errorf("%d keys, then %d", before.Keys, after.Keys)
	}
	if found, _ := etcdsHash(t, databaseOf(o)); found != after.HashKV {
		t.Errorf("hash %+v; etcd has %+v", after.HashKV, found)
	}
}

// TestMakeKeepsEtcdsSumOut: a snapshot as etcd sends it has the sum at its end.
func TestMakeKeepsEtcdsSumOut(t *testing.T) {
	db := small(t)
	sum := sha256.Sum256(db)
	snapshot := append(slices.Clone(db), sum[:]...)
	o := options(t, db)
	o.Size = int64(len(snapshot))
	makes(t, o, snapshot)
	if err := Check(t.Context(), databaseOf(o), func(fault error) { t.Error(fault) }); err != nil {
		t.Error(err)
	}
	snapshot[len(snapshot)-1]++
	o.Folder = t.TempDir()
	if err := Make(t.Context(), o, bytes.NewReader(snapshot)); !as[*HashError](err) {
		t.Errorf("with another sum at its end: %v", err)
	}
}

func TestMakeRefuses(t *testing.T) {
	db := small(t)
	changed := slices.Clone(db)
	changed[len(changed)-1]++
	for name, c := range map[string]struct {
		options func(*Options)
		stream  io.Reader
		is      func(error) bool
	}{
		"a shorter stream":      {stream: bytes.NewReader(db[:len(db)-1]), is: as[*SizeError]},
		"an empty stream":       {stream: bytes.NewReader(nil), is: as[*SizeError]},
		"a longer stream":       {stream: io.MultiReader(bytes.NewReader(db), strings.NewReader("x")), is: as[*SizeError]},
		"an endless stream":     {stream: io.MultiReader(bytes.NewReader(db), endless{}), is: as[*SizeError]},
		"a stream that breaks":  {stream: iotest.TimeoutReader(bytes.NewReader(db)), is: is(iotest.ErrTimeout)},
		"other content":         {stream: bytes.NewReader(changed), is: as[*HashError]},
		"something else":        {stream: strings.NewReader(strings.Repeat("something else ", len(db))), is: as[*DamagedError]},
		"a volume without room": {options: func(o *Options) { o.Size = 1 << 60 }, stream: unread{t}, is: as[*RoomError]},
		"a member of none":      {options: func(o *Options) { o.Member = "m9" }, stream: unread{t}, is: isError},
		"a path for a name":     {options: func(o *Options) { o.Name = "../data" }, stream: unread{t}, is: isError},
		"the working folder":    {options: func(o *Options) { o.Name = restoring }, stream: unread{t}, is: isError},
		"a bump without mark":   {options: func(o *Options) { o.BumpRevision = 1 }, stream: unread{t}, is: isError},
		"a mark without bump":   {options: func(o *Options) { o.MarkCompacted = true }, stream: unread{t}, is: isError},
		"a version of nothing":  {options: func(o *Options) { o.Minor = "latest" }, stream: unread{t}, is: isError},
		"a size of nothing":     {options: func(o *Options) { o.Size = 0 }, stream: unread{t}, is: isError},
		"a URL without a port":  {options: func(o *Options) { o.InitialCluster["m1"] = "http://m1" }, stream: unread{t}, is: isError},
		"its own sum, and proven": {
			options: func(o *Options) { o.Size, o.OwnSum, o.Proven = o.Size+sumSize, true, true }, stream: unread{t}, is: isError,
		},
		"a bump past all numbers": {
			options: func(o *Options) { o.BumpRevision, o.MarkCompacted = 1<<62, true }, stream: bytes.NewReader(db), is: isError,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, db)
			if c.options != nil {
				c.options(&o)
			}
			if err := Make(t.Context(), o, c.stream); !c.is(err) {
				t.Errorf("%v", err)
			} else {
				t.Log(err)
			}
			nothing(t, o.Folder)
		})
	}
}

func TestMakeRefusesDatabases(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*bolt.Tx) error
		is     func(error) bool
	}{
		"of a newer storage version": {set(bucketMeta, keyStorageVersion, "3.8.0"), as[*VersionError]},
		"of a newer cluster version": {set(bucketCluster, keyClusterVersion, "3.8.0"), as[*VersionError]},
		"with the alarm CORRUPT":     {set(bucketAlarm, alarm(t, etcdserverpb.AlarmType_CORRUPT), ""), as[*CorruptError]},
		"with what is no alarm":      {set(bucketAlarm, []byte{0xff}, ""), as[*DamagedError]},
		"with what is no revision":   {set(bucketKey, []byte("zzz"), ""), as[*DamagedError]},
		"without keys":               {func(tx *bolt.Tx) error { return tx.DeleteBucket(bucketKey) }, as[*DamagedError]},
	} {
		t.Run(name, func(t *testing.T) {
			path := database(t, func(s etcdStore) { s.put("a", "1") })
			edit(t, path, c.change)
			db := content(t, path)
			o := options(t, db)
			if err := Make(t.Context(), o, bytes.NewReader(db)); !c.is(err) {
				t.Errorf("%v", err)
			} else {
				t.Log(err)
			}
			nothing(t, o.Folder)
		})
	}
}

func TestMakeDropsNoSpaceOnly(t *testing.T) {
	for _, drop := range []bool{true, false} {
		path := database(t, func(s etcdStore) { s.put("a", "1") })
		edit(t, path, set(bucketAlarm, alarm(t, etcdserverpb.AlarmType_NOSPACE), ""))
		db := content(t, path)
		o := options(t, db)
		o.DropNoSpaceAlarm = drop
		makes(t, o, db)
		if alarms := inspects(t, databaseOf(o)).Alarms; (len(alarms) == 0) != drop {
			t.Errorf("drop %v: alarms %+v", drop, alarms)
		}
	}
}

// TestMakeDisablesAuth only where it is asked to: a member that is restored so by mistake would let everybody in.
func TestMakeDisablesAuth(t *testing.T) {
	path := database(t, func(s etcdStore) { s.put("a", "1") })
	edit(t, path, set(bucketAuth, keyAuthEnabled, "\x01"))
	db := content(t, path)
	for _, disable := range []bool{true, false} {
		o := options(t, db)
		o.DisableAuth = disable
		makes(t, o, db)
		if info := inspects(t, databaseOf(o)); info.AuthEnabled == disable {
			t.Errorf("disable %v: authentication is enabled: %v", disable, info.AuthEnabled)
		}
		o.DisableAuth = !disable
		var exists *ExistsError
		if err := Make(t.Context(), o, bytes.NewReader(db)); !errors.As(err, &exists) {
			t.Errorf("made with DisableAuth %v, and taken for one without: %v", disable, err)
		}
	}
}

// TestMakeTwice: a Job may run again after it has succeeded, also when its store is gone by then.
func TestMakeTwice(t *testing.T) {
	db := small(t)
	o := options(t, db)
	makes(t, o, db)
	before := content(t, databaseOf(o))
	if err := Make(t.Context(), o, unread{t}); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(before, content(t, databaseOf(o))) {
		t.Error("the second Make changed the database")
	}
	other := o
	other.Token = "restore-2"
	err := Make(t.Context(), other, unread{t})
	var exists *ExistsError
	if !errors.As(err, &exists) {
		t.Fatal(err)
	}
	if want := must(ClusterID(o.InitialCluster, o.Token))(t); exists.ClusterID != want {
		t.Errorf("%v, want cluster %x", exists, want)
	}
	other = o
	other.BumpRevision, other.MarkCompacted = 1, true
	if err := Make(t.Context(), other, unread{t}); !as[*ExistsError](err) {
		t.Errorf("with another revision: %v", err)
	}
}

// TestMakeTouchesNothingThatIsThere: not even an empty folder, or a file.
func TestMakeTouchesNothingThatIsThere(t *testing.T) {
	db := small(t)
	for name, prepare := range map[string]func(path string) error{
		"an empty folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"a file":          func(path string) error { return os.WriteFile(path, []byte("mine"), 0o600) },
		"a data directory": func(path string) error {
			return os.MkdirAll(filepath.Join(path, "member", "wal"), 0o700)
		},
		"a link to nowhere": func(path string) error { return os.Symlink("nowhere", path) },
	} {
		o := options(t, db)
		path := filepath.Join(o.Folder, o.Name)
		if err := prepare(path); err != nil {
			t.Fatal(err)
		}
		before := must(os.Lstat(path))(t)
		if err := Make(t.Context(), o, unread{t}); !as[*ExistsError](err) {
			t.Errorf("%s: %v", name, err)
		}
		if after := must(os.Lstat(path))(t); !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
			t.Errorf("%s was touched", name)
		}
	}
}

// TestMakeBeginsAgain: what an earlier try left is deleted, whatever it is.
func TestMakeBeginsAgain(t *testing.T) {
	db := small(t)
	o := options(t, db)
	rest := filepath.Join(o.Folder, restoring, o.Name, "member", "wal")
	if err := os.MkdirAll(rest, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(rest, "0000000000000000-0000000000000000.wal"), []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	makes(t, o, db)
	if entries := must(os.ReadDir(o.Folder))(t); len(entries) != 1 {
		t.Errorf("beside the data directory: %v", entries)
	}
}

// TestMakeExcludesOthers: of two in one folder, the later one fails and changes nothing.
func TestMakeExcludesOthers(t *testing.T) {
	db := small(t)
	o := options(t, db)
	stream := &during{Reader: bytes.NewReader(db), do: func() {
		if err := Make(t.Context(), o, unread{t}); !as[*BusyError](err) {
			t.Errorf("the later one: %v", err)
		}
	}}
	if err := Make(t.Context(), o, stream); err != nil {
		t.Error(err)
	}
	inspects(t, databaseOf(o))
}

func TestMakeEndsWithItsContext(t *testing.T) {
	db := small(t)
	o := options(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	stream := &during{Reader: bytes.NewReader(db), do: cancel}
	if err := Make(ctx, o, io.MultiReader(iotest.OneByteReader(stream))); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	nothing(t, o.Folder)
}

// TestMakeSyncsAll: before the rename every file and every folder, after what is in it; then what
// was renamed, in its place.
func TestMakeSyncsAll(t *testing.T) {
	db := small(t)
	o := options(t, db)
	var steps []string
	if err := create(t.Context(), o, bytes.NewReader(db), func(step string) { steps = append(steps, step) }); err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(o.Folder, restoring)
	renamed := slices.Index(steps, "rename "+o.Name)
	at := func(path string) int { return slices.Index(steps, "synced "+path) }
	files := 0
	err := filepath.WalkDir(filepath.Join(o.Folder, o.Name), func(path string, _ os.DirEntry, err error) error {
		files++
		path = filepath.Join(work, strings.TrimPrefix(path, o.Folder))
		if synced := at(path); synced < 0 || synced > renamed || synced > at(filepath.Dir(path)) {
			t.Errorf("%s is step %d of %d", path, synced, renamed)
		}
		return err
	})
	if err != nil || files < 8 {
		t.Errorf("%d files: %v", files, err)
	}
	if at(o.Folder) < renamed {
		t.Error("the rename is not synced")
	}
}

// write keeps a database in a file.
func write(t testing.TB, database []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	if err := os.WriteFile(path, database, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func set(bucket, key []byte, value string) func(*bolt.Tx) error {
	return func(tx *bolt.Tx) error { return tx.Bucket(bucket).Put(key, []byte(value)) }
}

func alarm(t testing.TB, kind etcdserverpb.AlarmType) []byte {
	t.Helper()
	return must(proto.Marshal(&etcdserverpb.AlarmMember{MemberID: 31, Alarm: kind}))(t)
}

// as says whether an error is of a type, and is for tables.
func as[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

func is(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
func isError(err error) bool           { return err != nil }

// unread is a stream that must not be read.
type unread struct{ t testing.TB }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the stream was read")
	return 0, io.ErrUnexpectedEOF
}

// endless is a stream without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// during does something once, after the first bytes were read.
type during struct {
	io.Reader
	do func()
}

func (d *during) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p[:min(len(p), 4096)])
	if d.do != nil {
		do := d.do
		d.do = nil
		do()
	}
	return n, err
}
