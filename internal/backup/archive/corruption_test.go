// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
)

// world is two backups of a cluster, once plain and once encrypted, with all that can be mixed up.
type world struct {
	store    *memory // backups plain, plain2, secret, secret2
	database []byte  // of plain and secret
	identity []byte
	wrong    []byte // identity of another
	later    map[string][]byte
}

const testPart = 4 << 10

func newWorld(t *testing.T) world {
	recipient, identity := newKey(t)
	_, wrong := newKey(t)
	w := world{store: newMemory(), identity: identity, wrong: wrong}
	w.database, _ = makeDatabase(t, 1, 150)
	newer, _ := makeDatabase(t, 2, 150)
	backup(t, w.store, "plain", w.database, testPart)
	backup(t, w.store, "secret", w.database, testPart, recipient)
	backup(t, w.store, "plain2", newer, testPart)
	backup(t, w.store, "secret2", newer, testPart, recipient)
	later := newMemory()
	backup(t, later, "plain", newer, testPart)
	backup(t, later, "secret", newer, testPart, recipient)
	w.later = later.objects
	return w
}

// damage is one thing that goes wrong in a store.
type damage struct {
	store    *memory
	random   *rand.Rand
	folder   archive.Folder
	other    archive.Folder // of another backup of the same cluster
	manifest archive.Manifest
	world    world
	identity []byte
	part     int // which was damaged; -1: none
}

func (d *damage) object(n int) string { return d.folder.Object(archive.PartName(n)) }

// some chooses a part, and says that it is the damaged one.
func (d *damage) some() string {
	d.part = d.random.IntN(len(d.manifest.Parts))
	return d.object(d.part)
}

func (d *damage) flip(name string) {
	content := bytes.Clone(d.store.objects[name])
	content[d.random.IntN(len(content))] ^= 1 << d.random.IntN(8)
	d.store.objects[name] = content
}

// reseal writes the manifest again, with a sha256 that is right.
func (d *damage) reseal(t *testing.T, change func(*archive.Manifest)) {
	m := d.manifest
	m.Parts = append([]archive.Part(nil), m.Parts...)
	change(&m)
	d.store.objects[d.folder.Manifest()] = must(m.Encode())(t)
}

// fit makes a part of the manifest fit what is in the store.
func (d *damage) fit(m *archive.Manifest, n int) {
	content := d.store.objects[d.object(n)]
	sum := sha256.Sum256(content)
	m.StoredBytes += int64(len(content)) - m.Parts[n].Size
	m.Parts[n] = archive.Part{Name: archive.PartName(n), Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
}

// kinds of damage. The first ones are of one part, which its sha256 shows before a byte of it is used.
var kinds = []struct {
	name string
	do   func(*testing.T, *damage)
}{
	{"bit of a part", func(_ *testing.T, d *damage) { d.flip(d.some()) }},
	{"part cut", func(_ *testing.T, d *damage) {
		name := d.some()
		d.store.objects[name] = d.store.objects[name][:d.random.IntN(len(d.store.objects[name]))]
	}},
	{"part missing", func(_ *testing.T, d *damage) { delete(d.store.objects, d.some()) }},
	{"bytes appended to a part", func(_ *testing.T, d *damage) {
		name := d.some()
		d.store.objects[name] = append(bytes.Clone(d.store.objects[name]), make([]byte, 1+d.random.IntN(testPart))...)
	}},
	{"zstd frame appended", func(t *testing.T, d *damage) {
		d.part = len(d.manifest.Parts) - 1
		d.store.objects[d.object(d.part)] = append(bytes.Clone(d.store.objects[d.object(d.part)]), frame(t, []byte("more"))...)
	}},
	{"part of another backup", func(_ *testing.T, d *damage) {
		d.part = d.random.IntN(min(len(d.manifest.Parts), 25))
		d.store.objects[d.object(d.part)] = d.store.objects[d.other.Object(archive.PartName(d.part))]
	}},
	{"parts swapped", func(_ *testing.T, d *damage) {
		d.part = d.random.IntN(len(d.manifest.Parts) - 1)
		second := d.part + 1 + d.random.IntN(len(d.manifest.Parts)-d.part-1)
		a, b := d.object(d.part), d.object(second)
		d.store.objects[a], d.store.objects[b] = d.store.objects[b], d.store.objects[a]
	}},
	{"old manifest over new data", func(_ *testing.T, d *damage) {
		d.part = 0
		for name, content := range d.world.later {
			if strings.HasPrefix(name, d.folder.String()+"/") && name != d.folder.Manifest() {
				d.store.objects[name] = content
			}
		}
	}},
	{"age header damaged", func(_ *testing.T, d *damage) {
		d.part = 0
		content := bytes.Clone(d.store.objects[d.object(0)])
		content[d.random.IntN(200)] ^= 1 << d.random.IntN(8)
		d.store.objects[d.object(0)] = content
	}},

	{"manifest of another backup", func(_ *testing.T, d *damage) {
		d.store.objects[d.folder.Manifest()] = d.store.objects[d.other.Manifest()]
	}},
	{"manifest missing", func(_ *testing.T, d *damage) { delete(d.store.objects, d.folder.Manifest()) }},
	{"bit of the manifest", func(_ *testing.T, d *damage) { d.flip(d.folder.Manifest()) }},
	{"manifest cut", func(_ *testing.T, d *damage) {
		name := d.folder.Manifest()
		d.store.objects[name] = d.store.objects[name][:d.random.IntN(len(d.store.objects[name]))]
	}},
	{"line of the manifest twice", func(_ *testing.T, d *damage) {
		lines := strings.SplitAfter(string(d.store.objects[d.folder.Manifest()]), "\n")
		n := 1 + d.random.IntN(len(lines)-3)
		lines[n] += lines[n]
		d.store.objects[d.folder.Manifest()] = []byte(strings.Join(lines, ""))
	}},
	{"manifest lies about itself", func(t *testing.T, d *damage) {
		lies := []func(*archive.Manifest){
			func(m *archive.Manifest) { m.ID = "other" },
			func(m *archive.Manifest) { m.Namespace = "other" },
			func(m *archive.Manifest) { m.Format = 2 },
			func(m *archive.Manifest) { m.Recoveries = 1 },
			func(m *archive.Manifest) { m.Recoveries, m.Format = -1, 2 },
			func(m *archive.Manifest) { m.StoredBytes++ },
			func(m *archive.Manifest) { m.Parts = m.Parts[1:] },
			func(m *archive.Manifest) { m.Parts[0].Name = "../plain2/000000.part" },
			func(m *archive.Manifest) { m.Parts[0].Size = 1 << 40 },
			func(m *archive.Manifest) { m.Parts[1].SHA256 = "" },
			func(m *archive.Manifest) { m.Compression = "none" },
			func(m *archive.Manifest) { m.CompactRevision = m.Revision + 1 },
			func(m *archive.Manifest) { m.Database.Size = -4096 },
			func(m *archive.Manifest) { m.Database.Size = 1 << 40 },
			func(m *archive.Manifest) { m.Encryption = &archive.Encryption{Format: "rot13"} },
		}
		d.reseal(t, lies[d.random.IntN(len(lies))])
	}},

	// A manifest was made that fits what is in the store.
	{"last parts left out", func(t *testing.T, d *damage) {
		keep := 1 + d.random.IntN(len(d.manifest.Parts)-1)
		d.reseal(t, func(m *archive.Manifest) {
			m.Parts, m.StoredBytes = m.Parts[:keep], int64(keep)*testPart
		})
	}},
	{"another size of the database", func(t *testing.T, d *damage) {
		d.reseal(t, func(m *archive.Manifest) { m.Database.Size += 4096 * (1 - 2*int64(d.random.IntN(2))) })
	}},
	{"another database", func(t *testing.T, d *damage) {
		other := must(archive.ReadManifest(t.Context(), d.world.store.copy(), d.other))(t)
		d.reseal(t, func(m *archive.Manifest) { m.Database.SHA256 = other.Database.SHA256 })
	}},
	{"bit of a part, and its sha256 fits", func(t *testing.T, d *damage) {
		name := d.some()
		d.flip(name)
		n := d.part
		d.part = -1
		d.reseal(t, func(m *archive.Manifest) { d.fit(m, n) })
	}},
	{"zstd frame appended, and its sha256 fits", func(t *testing.T, d *damage) {
		n := len(d.manifest.Parts) - 1
		more := frame(t, bytes.Repeat([]byte{0}, 1+d.random.IntN(1<<20)))
		d.store.objects[d.object(n)] = append(bytes.Clone(d.store.objects[d.object(n)]), more...)
		d.reseal(t, func(m *archive.Manifest) { d.fit(m, n) })
	}},
	{"said to be plain, or encrypted", func(t *testing.T, d *damage) {
		d.reseal(t, func(m *archive.Manifest) {
			if m.Encryption != nil {
				m.Encryption = nil
				return
			}
			m.Encryption = &archive.Encryption{Format: "age", Recipients: []string{"age1"}}
		})
	}},
	{"wrong key", func(_ *testing.T, d *damage) {
		d.identity = [][]byte{nil, d.world.wrong, []byte("AGE-SECRET-KEY-1NONE")}[d.random.IntN(3)]
	}},
}

const onePart = 9 // how many of the kinds are of one part

// frame is a whole zstd stream.
func frame(t *testing.T, content []byte) []byte {
	encoder := must(zstd.NewWriter(nil))(t)
	defer func() { _ = encoder.Close() }() // its output is discarded
	return encoder.EncodeAll(content, nil)
}

// Whatever happens to a backup, no reader sees an end without an error. What the manifest or the sum of a part can
// show is reported before a byte of that part was used.
func TestThousandDamagesAreFound(t *testing.T) {
	number := 1000
	if testing.Short() { // with the race detector: ten of each kind
		number = 10 * len(kinds)
	}
	w := newWorld(t)
	found := map[string]int{}
	for seed := range number {
		random := rand.New(rand.NewPCG(uint64(seed), 28))
		kind := seed % len(kinds)
		name := kinds[kind].name
		d := &damage{store: w.store.copy(), random: random, world: w, identity: w.identity, part: -1}
		d.folder, d.other = folder("plain"), folder("plain2")
		if random.IntN(2) == 0 || name == "wrong key" || name == "age header damaged" {
			d.folder, d.other = folder("secret"), folder("secret2")
		}
		d.manifest = must(archive.ReadManifest(t.Context(), w.store, d.folder))(t)
		kinds[kind].do(t, d)
		d.store.opened = nil

		got, err := restore(t.Context(), d.store, d.folder, d.identity)
		if err == nil {
			t.Errorf("seed %d: %s was not found", seed, name)
			continue
		}
		if leavesSum(t, d) == nil {
			t.Errorf("seed %d: %s was not found by the sum of the database", seed, name)
			continue
		}
		found[name]++
		if !bytes.HasPrefix(w.database, got) && kind < onePart {
			t.Errorf("seed %d: %s: bytes were read that are not of the database", seed, name)
		}
		if kind < onePart {
			d.isFoundInTime(t, fmt.Sprintf("seed %d: %s", seed, name), got, err)
		}
		if strings.HasPrefix(name, "manifest ") && len(d.store.opened) > 0 {
			t.Errorf("seed %d: %s: parts were read: %v", seed, name, d.store.opened)
		}
	}
	total := 0
	for _, kind := range kinds {
		t.Logf("%4d of %d  %s", found[kind.name], (number+len(kinds)-1)/len(kinds), kind.name)
		total += found[kind.name]
	}
	t.Logf("%d of %d damages found", total, number)
}

// leavesSum reads as a restore does, which hashes the database where it writes it.
func leavesSum(t *testing.T, d *damage) error {
	t.Helper()
	m, err := archive.ReadManifest(t.Context(), d.store, d.folder)
	if err != nil {
		return err
	}
	reader, err := archive.Open(t.Context(), d.store, m, d.identity, nil)
	if err != nil {
		return err
	}
	defer reader.Close() //nolint:errcheck // it has no error
	reader.LeaveSum()
	sum := sha256.New()
	if _, err := io.Copy(sum, reader); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != m.Database.SHA256 {
		return errors.New("the database has another sha256")
	}
	return nil
}

// isFoundInTime: the error names the part, and nothing of it was used.
func (d *damage) isFoundInTime(t *testing.T, what string, got []byte, err error) {
	t.Helper()
	var bad *archive.CorruptError
	var missing *archive.MissingPartError
	switch {
	case errors.As(err, &bad) && bad.Object == d.object(d.part):
	case errors.As(err, &missing) && missing.Part == d.object(d.part):
	default:
		t.Errorf("%s in part %d: %v", what, d.part, err)
	}
	if d.manifest.Encryption != nil {
		return
	}
	var before bytes.Buffer
	for n := range d.part {
		before.Write(d.world.store.objects[d.object(n)])
	}
	decoder := must(zstd.NewReader(&before, zstd.WithDecoderConcurrency(1)))(t)
	defer decoder.Close()
	most, _ := io.ReadAll(decoder) // it is cut
	if len(got) > len(most) {
		t.Errorf("%s in part %d: %d bytes were read, and the parts before have %d", what, d.part, len(got), len(most))
	}
}

// Nothing of what a stream unpacks to beyond the database's size is handed out, be it ever so large.
func TestBombIsStopped(t *testing.T) {
	store := newMemory()
	database, _ := makeDatabase(t, 1, 20)
	m := backup(t, store, "a1", database, 1<<20)
	var bomb bytes.Buffer
	encoder := must(zstd.NewWriter(&bomb))(t)
	for range 64 {
		_ = must(encoder.Write(make([]byte, 1<<20)))(t)
	}
	if err := encoder.Close(); err != nil {
		t.Fatal(err)
	}
	d := damage{store: store, folder: folder("a1"), manifest: m}
	store.objects[d.object(0)] = bomb.Bytes()
	d.reseal(t, func(m *archive.Manifest) { d.fit(m, 0) })
	got, err := restore(t.Context(), store, d.folder, nil)
	if !errors.Is(err, archive.ErrTooLarge) || int64(len(got)) > m.Database.Size {
		t.Errorf("%d bytes of 64 MiB, %v", len(got), err)
	}
}

// What the store cannot give says nothing of the backup: it is not called corrupt.
func TestStoreFailsWhileReading(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"plain", "secret"} {
		store := w.store.copy()
		away := errors.New("connection refused")
		store.before = func(call int, _ string) error {
			if call > 7 {
				return away
			}
			return nil
		}
		_, err := restore(t.Context(), store, folder(id), w.identity)
		var bad *archive.CorruptError
		if !errors.Is(err, away) || errors.As(err, &bad) {
			t.Errorf("%s: %v", id, err)
		}
	}
}
