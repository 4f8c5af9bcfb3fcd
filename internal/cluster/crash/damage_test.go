// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crash_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const page = 4096

// only finds the single file of a pattern below the data directory.
func only(t *testing.T, data, pattern string) string {
	t.Helper()
	found := all(t, data, pattern)
	if len(found) != 1 {
		t.Fatalf("%s: found %q", pattern, found)
	}
	return found[0]
}

func all(t *testing.T, data, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(data, "member", pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: found nothing (%v)", pattern, err)
	}
	return found
}

func logOf(t *testing.T, data string) string      { return only(t, data, "wal/*.wal") }
func databaseOf(t *testing.T, data string) string { return only(t, data, "snap/db") }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// edit changes a file in place, without its length.
func edit(t *testing.T, path string, change func(content []byte)) {
	t.Helper()
	content, err := os.ReadFile(path)
	check(t, err)
	change(content)
	check(t, os.WriteFile(path, content, 0o600))
}

func flip(content []byte) {
	for i := range content {
		content[i] ^= 0xff
	}
}

// span is where a record of the write-ahead log begins and ends.
type span struct{ from, to int }

func (s span) middle() int { return (s.from + s.to) / 2 }

// records reads the frames of a write-ahead log: eight bytes with the length of
// the record, and, in the highest byte, that of what fills it up to eight.
func records(content []byte) []span {
	var found []span
	for from := 0; from+8 <= len(content); {
		header := binary.LittleEndian.Uint64(content[from:])
		if header == 0 {
			break
		}
		to := from + 8 + int(header&(1<<56-1)) //nolint:gosec // files are smaller than that
		if header>>63 == 1 {
			to += int(header >> 56 & 7) //nolint:gosec // three bits
		}
		found = append(found, span{from, to})
		from = to
	}
	return found
}

// inRecord damages one record, counted from the end if negative.
func inRecord(t *testing.T, path string, number int, change func(content []byte, record span)) {
	t.Helper()
	edit(t, path, func(content []byte) {
		found := records(content)
		change(content, found[(number+len(found))%len(found)])
	})
}

// cutInRecord ends the file in the middle of a record.
func cutInRecord(t *testing.T, path string, number int) {
	t.Helper()
	var end int
	inRecord(t, path, number, func(_ []byte, record span) { end = record.middle() })
	check(t, os.Truncate(path, int64(end)))
}

// middleRecord is far from both ends of a log of so many keys.
const middleRecord = keys / 2

// flipKey damages a record that is long enough to hold a key, and in it not the
// length of a field: etcd takes that for a torn record.
func flipKey(t *testing.T, data string, which func(count int) int) {
	t.Helper()
	edit(t, logOf(t, data), func(content []byte) {
		long := slices.DeleteFunc(records(content), func(s span) bool { return s.to-s.from < 100 })
		record := long[which(len(long))]
		flip(content[record.middle() : record.middle()+1])
	})
}

func flipMiddleKey(t *testing.T, data string) {
	flipKey(t, data, func(count int) int { return count / 2 })
}

func flipLastKey(t *testing.T, data string) {
	flipKey(t, data, func(count int) int { return count - 1 })
}

func flipHead(t *testing.T, data string) {
	edit(t, logOf(t, data), func(content []byte) { flip(content[10:11]) })
}

func tearLastRecord(t *testing.T, data string) { cutInRecord(t, logOf(t, data), -1) }

// loseLastSectors is what a disk does that lost power: the last whole sectors
// were not written.
func loseLastSectors(t *testing.T, data string) {
	const sector = 512
	edit(t, logOf(t, data), func(content []byte) {
		found := records(content)
		end := found[len(found)-1].to
		clear(content[(end/sector-1)*sector : end])
	})
}

func cutMiddleRecord(t *testing.T, data string) { cutInRecord(t, logOf(t, data), middleRecord) }

func zeroMiddleOfLog(t *testing.T, data string) {
	inRecord(t, logOf(t, data), middleRecord, func(content []byte, record span) {
		clear(content[record.from : record.from+page])
	})
}

func emptyLog(t *testing.T, data string) { check(t, os.Truncate(logOf(t, data), 0)) }

// secondLog makes the log one of two files, of which it is the first.
func secondLog(t *testing.T, data string) (first string) {
	t.Helper()
	first = logOf(t, data)
	copyFile(t, first, filepath.Join(filepath.Dir(first), "0000000000000001-0000000000001000.wal"))
	return first
}

func tearFirstLog(t *testing.T, data string) { cutInRecord(t, secondLog(t, data), middleRecord) }
func loseFirstLog(t *testing.T, data string) { check(t, os.Remove(secondLog(t, data))) }
func nothing(*testing.T, string)             {}
func loseAll(t *testing.T, data string)      { check(t, os.RemoveAll(data)) }
func loseLog(t *testing.T, data string)      { check(t, os.Remove(logOf(t, data))) }
func loseLogs(t *testing.T, data string) {
	check(t, os.RemoveAll(filepath.Join(data, "member", "wal")))
}

// The two first pages are the roots of the database; the newer one counts.
func flipRoots(t *testing.T, data string) {
	edit(t, databaseOf(t, data), func(content []byte) {
		flip(content[16:80])
		flip(content[page+16 : page+80])
	})
}

func flipOlderRoot(t *testing.T, data string) {
	edit(t, databaseOf(t, data), func(content []byte) {
		transaction := func(root int) uint64 { return binary.LittleEndian.Uint64(content[root+16+48:]) }
		older := 0
		if transaction(page) < transaction(0) {
			older = page
		}
		flip(content[older+16 : older+80])
	})
}

func flipChecksums(t *testing.T, data string) {
	edit(t, databaseOf(t, data), func(content []byte) {
		flip(content[16+40 : 16+44])
		flip(content[page+16+40 : page+16+44])
	})
}

func zeroPages(t *testing.T, data string) {
	edit(t, databaseOf(t, data), func(content []byte) { clear(content[2*page:]) })
}

func flipPageHeaders(t *testing.T, data string) {
	edit(t, databaseOf(t, data), func(content []byte) {
		for from := 2 * page; from < len(content); from += page {
			flip(content[from : from+8])
		}
	})
}

// fillPages leaves the headers of pages as they are.
func fillPages(t *testing.T, data string) {
	edit(t, databaseOf(t, data), func(content []byte) {
		for from := 2 * page; from < len(content); from += page {
			copy(content[from+16:from+page], slices.Repeat([]byte{0xff}, page))
		}
	})
}

// leaves calls for every page that holds keys.
func leaves(content []byte, visit func(page []byte, count int)) {
	const leaf = 2
	for from := 2 * page; from < len(content); from += page {
		p := content[from : from+page]
		count := int(binary.LittleEndian.Uint16(p[10:]))
		if binary.LittleEndian.Uint64(p) == uint64(from/page) && binary.LittleEndian.Uint16(p[8:]) == leaf && count > 5 {
			visit(p, count)
		}
	}
}

func overwriteKeys(t *testing.T, data string) {
	edit(t, databaseOf(t, data), func(content []byte) {
		leaves(content, func(p []byte, _ int) { copy(p[page/2:], slices.Repeat([]byte{0xa5}, page/8)) })
	})
}

// flipValues finds keys by the length of a revision.
func flipValues(t *testing.T, data string) {
	const revision = 17
	edit(t, databaseOf(t, data), func(content []byte) {
		leaves(content, func(p []byte, count int) {
			for n := range count {
				element := p[16+16*n:]
				position, key := binary.LittleEndian.Uint32(element[4:]), binary.LittleEndian.Uint32(element[8:])
				if value := binary.LittleEndian.Uint32(element[12:]); key == revision && value > 50 {
					flip(element[position+key : position+key+6])
				}
			}
		})
	})
}

func cutDatabase(t *testing.T, data string)   { check(t, os.Truncate(databaseOf(t, data), 5*page)) }
func emptyDatabase(t *testing.T, data string) { check(t, os.Truncate(databaseOf(t, data), 0)) }
func loseDatabase(t *testing.T, data string)  { check(t, os.Remove(databaseOf(t, data))) }

func replaceDatabase(t *testing.T, data string) {
	check(t, os.WriteFile(databaseOf(t, data), slices.Repeat([]byte("not a database "), page), 0o600))
}

func flipSnapshots(t *testing.T, data string) {
	for _, path := range all(t, data, "snap/*.snap") {
		edit(t, path, func(content []byte) { flip(content[len(content)/2 : len(content)/2+4]) })
	}
}

func loseSnapshots(t *testing.T, data string) {
	for _, path := range all(t, data, "snap/*.snap") {
		check(t, os.Remove(path))
	}
}
