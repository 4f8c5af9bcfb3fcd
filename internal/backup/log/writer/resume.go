// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package writer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

// Store holds whole objects. It is a part of objectstore.Store.
type Store interface {
	// Put creates an object. An object of that name with the same content is success; one with other content is an fs.ErrExist.
	Put(ctx context.Context, name string, content []byte) error
	// Get is an object of at most limit bytes; one that is not there is an fs.ErrNotExist.
	Get(ctx context.Context, name string, limit int64) ([]byte, error)
	// Names are those of all objects below a folder, sorted.
	Names(ctx context.Context, folder string) iter.Seq2[string, error]
}

// end is where the log in a store ends.
type end struct {
	segment *log.Segment // nil: there is none
	last    *log.Event   // of the segment; without key and value if it is encrypted
}

// findEnd reads the newest segment. What is before it is not looked at: that it follows was seen by its writer.
func findEnd(ctx context.Context, store Store, f log.Folder) (end, error) {
	newest := ""
	for name, err := range store.Names(ctx, f.String()+"/") {
		if err != nil {
			return end{}, fmt.Errorf("list the log: %w", err)
		}
		if found, _, ok := log.ParseName(name); ok && found == f {
			newest = name
		}
	}
	if newest == "" {
		return end{}, nil
	}
	content, err := store.Get(ctx, newest, log.MaxStored)
	if errors.Is(err, fs.ErrNotExist) {
		return end{}, fmt.Errorf("read the end of the log: %s was deleted meanwhile", newest)
	}
	if err != nil {
		return end{}, fmt.Errorf("read the end of the log: %w", err)
	}
	return parseEnd(f, newest, content)
}

func parseEnd(f log.Folder, name string, content []byte) (end, error) {
	s, err := log.Parse(name, content)
	if err != nil {
		return end{}, fmt.Errorf("read the end of the log: %w", err)
	}
	if _, err := log.Prove(f, []log.Listed{{Object: name, Size: int64(len(content)), Header: s.Header}}); err != nil {
		return end{}, fmt.Errorf("read the end of the log: %w", err)
	}
	e := end{segment: &s}
	if last, isEncrypted := s.Header.Outline(); isEncrypted {
		e.last = &last
		return e, nil
	}
	for batch, err := range s.Batches(name) {
		if err != nil {
			return end{}, fmt.Errorf("read the end of the log: %w", err)
		}
		last := batch.Events[len(batch.Events)-1]
		e.last = &last
	}
	return e, nil
}
