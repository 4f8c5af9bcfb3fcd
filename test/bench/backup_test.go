// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

func TestDocumentsAreTheSameInEachRun(t *testing.T) {
	sum := sha256.Sum256([]byte(document(7)))
	if got := hex.EncodeToString(sum[:8]); got != "615c49f61fb9684b" {
		t.Errorf("document 7 has the sum %s: results are not to be compared with earlier ones", got)
	}
	if document(7) == document(8) {
		t.Error("two documents are the same")
	}
	for _, number := range []uint64{0, 1, 1 << 30} {
		if got := len(document(number)); got != documentSize {
			t.Errorf("document %d has %d bytes, want %d", number, got, documentSize)
		}
	}
}

// TestHalfOfADocumentIsRandom: what is left of them is what is left of the random half, which as
// base64 has six bits in each byte, and little more.
func TestHalfOfADocumentIsRandom(t *testing.T) {
	var all bytes.Buffer
	for i := range uint64(500) {
		all.WriteString(document(i))
	}
	encoder, err := zstd.NewWriter(io.Discard, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		t.Fatal(err)
	}
	left := float64(len(encoder.EncodeAll(all.Bytes(), nil))) / float64(all.Len())
	if left < 0.36 || left > 0.48 {
		t.Errorf("zstd leaves %.2f of the documents", left)
	}
	_, secret, _ := strings.Cut(document(3), `{"key":"`)
	secret, _, _ = strings.Cut(secret, `"`)
	if raw, err := base64.StdEncoding.DecodeString(secret); err != nil || len(raw) != documentSize/2/4*3 {
		t.Errorf("%d random bytes (%v), want %d", len(raw), err, documentSize/2/4*3)
	}
}

func TestPutsNumberTheirKeys(t *testing.T) {
	all := puts(14, 17)
	if len(all) != 3 || string(all[0].KeyBytes()) != documentKey(14) || string(all[2].ValueBytes()) != document(16) {
		t.Errorf("%d puts, from %s", len(all), all[0].KeyBytes())
	}
}

func TestOrdersBackup(t *testing.T) {
	store := v1beta1.EtcdBackupStoreSpec{Volume: &v1beta1.VolumeStore{}}
	text := jobspec.Order{Verb: jobspec.Backup, Store: store, Backup: &jobspec.BackupOrder{ID: "one"}}.Encode()
	unpack := jobspec.Order{Verb: jobspec.Unpack, Store: store, Trial: &jobspec.TrialOrder{Path: "v1/one"}}.Encode()
	line := func(arguments ...string) []byte { return []byte(strings.Join(arguments, "\x00") + "\x00") }
	for _, c := range []struct {
		line []byte
		want bool
	}{
		{line("/etcd-operator", "task", text), true},
		{line("/etcd-operator", "task", strings.ReplaceAll(text, "one", "another")), false},
		{line("/etcd-operator", "task", unpack), false},
		{line("grep", "one"), false},
		{line("sh", "-c", "echo "+text), false},
		{nil, false}, // a kernel thread
	} {
		if got := ordersBackup(c.line, "one"); got != c.want {
			t.Errorf("%q orders it: %t", c.line, got)
		}
	}
}

func TestMebibytes(t *testing.T) {
	if got, ok := mebibytes("98304 kB"); got != 96 || !ok {
		t.Errorf("got %v, %t", got, ok)
	}
	for _, text := range []string{"", "unknown", "7", "seven kB"} {
		if got, ok := mebibytes(text); ok {
			t.Errorf("%q are %v MiB", text, got)
		}
	}
}

func TestPeakOfNobody(t *testing.T) {
	end := followPeak(t.Context(), "no-such-backup")
	time.Sleep(2 * peakPause)
	if got := end(); got != 0 {
		t.Errorf("%v MiB of a process that is not there", got)
	}
}

func TestWithin(t *testing.T) {
	begin := time.Now()
	at := func(ms, took int, failed bool) foregroundWrite {
		return foregroundWrite{due: begin.Add(time.Duration(ms) * time.Millisecond), took: time.Duration(took) * time.Millisecond, failed: failed}
	}
	all := []foregroundWrite{at(9, 1, true), at(10, 2, false), at(15, 500, true), at(20, 3, false), at(21, 1, true)}
	took, failed := within(all, begin.Add(10*time.Millisecond), begin.Add(20*time.Millisecond))
	if !slices.Equal(took, sample{2, 500, 3}) || failed != 1 {
		t.Errorf("got %v with %d that failed", took, failed)
	}
}

func TestPartSizes(t *testing.T) {
	for bytes, want := range map[int64][]int64{0: nil, 3: {3}, 8: {8}, 19: {8, 8, 3}} {
		if got := partSizes(bytes, 8); !slices.Equal(got, want) {
			t.Errorf("%d bytes are %v, want %v", bytes, got, want)
		}
	}
}

func TestRateRowsCompareWithTheSlowestStage(t *testing.T) {
	rows := rateRows("backup-x", sample{5, 6, 5}, []sample{{1, 1, 1}, {4, 4, 9}, {3, 8, 3}}, sample{80, 97, 90})
	var names []string
	for _, r := range rows {
		names = append(names, r.Name)
	}
	if want := []string{"backup-x", "backup-x-snapshot", "backup-x-pack", "backup-x-sink", "backup-x-memory"}; !slices.Equal(names, want) {
		t.Fatalf("rows %v, want %v", names, want)
	}
	if *rows[0].Floor != 4 || *rows[0].Ratio != 1.25 || rows[0].verdict() != "met" {
		t.Errorf("beside %v: %v, %s", *rows[0].Floor, *rows[0].Ratio, rows[0].verdict())
	}
	if rows[4].Measured != 97 || rows[4].verdict() != "**missed**" {
		t.Errorf("memory %v: %s", rows[4].Measured, rows[4].verdict())
	}
}

func TestFolderIn(t *testing.T) {
	local := &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{
		PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/here"}},
	}}
	if got, err := folderIn(local); got != "/here" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := folderIn(&corev1.PersistentVolume{}); err == nil {
		t.Error("a volume of a network has a folder on this machine")
	}
}

func TestSinkAlonePutsEverything(t *testing.T) {
	folder := t.TempDir()
	const size = 20 << 20
	if took, err := sinkAlone(context.Background(), folder, size); err != nil || took <= 0 {
		t.Fatalf("took %s: %v", took, err)
	}
	files, err := filepath.Glob(filepath.Join(folder, "sink", "*.part"))
	var total int64
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if err != nil || len(files) != 3 || total != size {
		t.Errorf("%d files of %d bytes (%v), want 3 of %d", len(files), total, err, size)
	}
}
