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
	// pieces are written to fill a disk: large ones, and then such as the least that a file system has room for.
	largePiece, smallPiece = 1 << 20, 4 << 10
	// refill is how often what has become free is filled again.
	refill = 200 * time.Millisecond
	// busyWriters write at once, each busyPiece and a sync, over busyFile again and again.
	busyWriters, busyPiece, busyFile = 4, 64 << 10, 16 << 20
)

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
	for {
		for _, size := range []int{largePiece, smallPiece} {
			if err := appendUntilFull(ctx, file, make([]byte, size)); err != nil {
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

// appendUntilFull writes pieces until there is no room for one, or the context ends.
func appendUntilFull(ctx context.Context, file *os.File, piece []byte) error {
	for ctx.Err() == nil {
		_, err := file.Write(piece)
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("fill the volume: %w", err)
		}
	}
	return nil
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
