// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"context"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// Check does bbolt's own check of a database: that each page is reachable or free, and never both,
// and that keys are in order. found is called with each fault, as they are found; faults there are
// the reason of no error. An error means that the check could not be done, or not to its end.
//
// It takes some 100 bytes of memory for each page, 25 MiB for a database of 1 GiB. When the context
// ends, Check ends; what it began stays in memory until bbolt is through.
func Check(ctx context.Context, path string, found func(fault error)) error {
	if err := verifyPages(ctx, path); err != nil {
		return fmt.Errorf("check database: %w", err)
	}
	db, err := bolt.Open(path, 0, &bolt.Options{ReadOnly: true, Timeout: lockTimeout})
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	tx, err := db.Begin(false)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	faults := tx.Check()
	done := func() error {
		for range faults { // bbolt reads the file until it has reported all
		}
		if err := tx.Rollback(); err != nil {
			return fmt.Errorf("close database: %w", err)
		}
		return db.Close()
	}
	for {
		select {
		case fault, more := <-faults:
			if !more {
				return done()
			}
			found(fault)
		case <-ctx.Done():
			go func() { _ = done() }() // the file was only read
			return fmt.Errorf("check database: %w", ctx.Err())
		}
	}
}
