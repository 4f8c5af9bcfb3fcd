// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package volumes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Snapshot copies a volume to a file, which is what a crash would leave of it at this moment: the kernel holds up what writes to it.
func (s Store) Snapshot(ctx context.Context, name, file string) error {
	if _, mounted := device(s.Path(name)); !mounted {
		return fmt.Errorf("volume %s is not mounted", name)
	}
	if err := run(ctx, "fsfreeze", "--freeze", s.Path(name)); err != nil {
		return err
	}
	err := copied(ctx, s.file(name), file)
	// Whatever has happened: who writes waits until then.
	return errors.Join(err, run(context.WithoutCancel(ctx), "fsfreeze", "--unfreeze", s.Path(name)))
}

// Copy makes and mounts a volume with the content of such a file; again is harmless.
func (s Store) Copy(ctx context.Context, from, name string, size int64) error {
	if _, err := os.Stat(s.file(name)); err == nil {
		return s.Mount(ctx, name)
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return err
	}
	if err := copied(ctx, from, s.file(name)); err != nil {
		return err
	}
	if err := s.Mount(ctx, name); err != nil {
		return err
	}
	return s.Grow(ctx, name, size)
}

// copied copies a file, and what is not written of it takes no room. It appears when all of it is there.
func copied(ctx context.Context, from, to string) error {
	fresh := filepath.Join(filepath.Dir(to), "."+filepath.Base(to)+".new")
	if err := run(ctx, "cp", "--sparse=always", "--reflink=auto", from, fresh); err != nil {
		return errors.Join(err, os.Remove(fresh))
	}
	return os.Rename(fresh, to)
}
