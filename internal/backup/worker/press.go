package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

const (
	// refill is how often what has become free is filled again.
	refill = 200 * time.Millisecond
	// busyWriters write at once, each busyPiece and a sync, over busyFile again and again.
	busyWriters, busyPiece, busyFile = 4, 64 << 10, 16 << 20
)

// pieces by which a disk is filled, the largest first; the last one is the least that a file system has room for.
var pieces = []int64{1 << 30, 64 << 20, 1 << 20, 4 << 10}

// press fills the disk below a folder, or keeps it busy, until the Job is stopped or its time is up. To be stopped is no failure. Its files
// have no name: the kernel frees them when the process ends, however that is.
func press(ctx context.Context, folder string, order jobspec.PressOrder) error {
	ctx, cancel := context.WithTimeout(ctx, order.Lasts)
	defer cancel()
	if order.Fill {
		return fill(ctx, folder)
	}
	var all sync.WaitGroup
	ended := make(chan error, busyWriters)
	for range busyWriters {
		all.Go(func() { ended <- keepBusy(ctx, folder) })
	}
	all.Wait()
	close(ended)
	var err error
	for one := range ended {
		err = errors.Join(err, one)
	}
	return err
}

// nameless is a file that has no name any more.
func nameless(folder string) (*os.File, error) {
	file, err := os.CreateTemp(folder, ".drill-")
	if err != nil {
		return nil, fmt.Errorf("make a file on the volume: %w", err)
	}
	if err := os.Remove(file.Name()); err != nil {
		_ = file.Close() // the other error says more
		return nil, fmt.Errorf("make a file on the volume: %w", err)
	}
	return file, nil
}

func fill(ctx context.Context, folder string) error {
	file, err := nameless(folder)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // nothing in it counts
	again := time.NewTicker(refill)
	defer again.Stop()
	for size := int64(0); ; {
		for _, piece := range pieces {
			if size, err = extend(ctx, file, size, piece); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
		}
	}
}

// extend takes pieces of the disk until there is no room for another one, or the context ends, and says how large the file is then.
func extend(ctx context.Context, file *os.File, size, piece int64) (int64, error) {
	for ctx.Err() == nil {
		err := reserve(file, size, piece)
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
			return size, nil
		}
		if err != nil {
			return size, fmt.Errorf("fill the volume: %w", err)
		}
		size += piece
	}
	return size, nil
}

func keepBusy(ctx context.Context, folder string) error {
	file, err := nameless(folder)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // nothing in it counts
	piece := make([]byte, busyPiece)
	for at := int64(0); ctx.Err() == nil; at = (at + busyPiece) % busyFile {
		if _, err := file.WriteAt(piece, at); err != nil {
			return fmt.Errorf("keep the disk busy: %w", err)
		}
		if err := file.Sync(); err != nil {
			return fmt.Errorf("keep the disk busy: %w", err)
		}
	}
	return nil
}

// reserve takes a part of a file from the disk, by writing it where the file system cannot do so at once.
func reserve(file *os.File, from, size int64) error {
	err := syscall.Fallocate(int(file.Fd()), 0, from, size) //nolint:gosec // a descriptor is small
	if errors.Is(err, syscall.EOPNOTSUPP) {
		return writeZeros(file, from, size)
	}
	return err //nolint:wrapcheck // the caller says what was tried
}

// writeZeros fills a part of a file, in pieces that fit into memory.
func writeZeros(file *os.File, from, size int64) error {
	const most = 1 << 20
	zeros := make([]byte, min(size, most))
	for end := from + size; from < end; from += int64(len(zeros)) {
		if _, err := file.WriteAt(zeros, from); err != nil {
			return err //nolint:wrapcheck // the caller says what was tried
		}
	}
	return nil
}
