// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
)

// benchDatabase is about 100 MB of what a cluster keeps of Pods; zstd makes an eighth of it.
func benchDatabase(b *testing.B) []byte {
	b.Helper()
	random := rand.New(rand.NewPCG(1, 1))
	database, _ := makeDatabaseOf(b, 48_000, func() []byte {
		var value []byte
		for len(value) < 900 {
			value = fmt.Appendf(value, `{"name":"pod-%x","uid":"%016x%016x","node":"node-%d","phase":"Running"}`,
				random.Uint32N(1<<20), random.Uint64(), random.Uint64(), random.IntN(100))
		}
		return value
	})
	return database
}

// BenchmarkWrite is beside what its parts take alone.
func BenchmarkWrite(b *testing.B) {
	snapshot := snapshotOf(benchDatabase(b))
	recipient, _ := newKey(b)
	for _, recipients := range [][]string{nil, {recipient}} {
		b.Run(fmt.Sprintf("encrypted=%t", recipients != nil), func(b *testing.B) {
			b.SetBytes(int64(len(snapshot)))
			b.ReportAllocs()
			for b.Loop() {
				m := must(archive.Write(b.Context(), newMemory(), bytes.NewReader(snapshot), job("a1", 0, recipients...)))(b)
				b.ReportMetric(float64(m.Database.Size)/float64(m.StoredBytes), "times-smaller")
			}
		})
	}
	b.Run("sha256 alone", func(b *testing.B) {
		b.SetBytes(int64(len(snapshot)))
		for b.Loop() {
			_ = sha256.Sum256(snapshot)
		}
	})
	b.Run("zstd alone", func(b *testing.B) {
		b.SetBytes(int64(len(snapshot)))
		for b.Loop() {
			encoder := must(zstd.NewWriter(io.Discard, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
				zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true)))(b)
			_ = must(encoder.Write(snapshot))(b)
			_ = encoder.Close() // io.Discard never fails
		}
	})
}

func BenchmarkRead(b *testing.B) {
	database := benchDatabase(b)
	recipient, identity := newKey(b)
	store := newMemory()
	for id, recipients := range map[string][]string{"plain": nil, "secret": {recipient}} {
		m := backup(b, store, id, database, 0, recipients...)
		b.Run(id, func(b *testing.B) {
			b.SetBytes(int64(len(database)))
			b.ReportAllocs()
			for b.Loop() {
				reader := must(archive.Open(b.Context(), store, m, identity, nil))(b)
				_ = must(io.Copy(io.Discard, reader))(b)
				_ = reader.Close() // it has no error
			}
		})
	}
}
