// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package log_test

import (
	"github.com/klauspost/compress/zstd"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

// unpacked are the records of a segment.
func unpacked(s log.Segment) ([]byte, error) {
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	return decoder.DecodeAll(s.Content[int64(len(s.Content))-s.Header.Stored:], nil)
}

// packed is a segment of records.
func packed(h log.Header, raw []byte) (log.Segment, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return log.Segment{}, err
	}
	content := encoder.EncodeAll(raw, nil)
	h.Size, h.Stored = int64(len(raw)), int64(len(content))
	return log.Segment{Header: h, Content: content}, nil
}
