package runner

import (
	"context"
	"errors"
	"sync"

	"github.com/etcd-operator/etcd-operator/internal/archive"
	"github.com/etcd-operator/etcd-operator/internal/store"
	"github.com/etcd-operator/etcd-operator/internal/task"
)

// readers is how many manifests are read at a time.
const readers = 8

// check tries the store and tells what lies in it, by name.
func check(ctx context.Context, j job) (task.Done, error) {
	var checked task.Checked
	if j.Check.Write {
		report := store.Check(ctx, j.where.Store, j.Now)
		kept, problems := tolerate(report.Problems)
		if len(problems) > 0 {
			return task.Done{}, errors.Join(problems...)
		}
		checked.Skew, checked.Kept = report.Skew, kept
	}
	listing, err := archive.List(ctx, j.where, "")
	if err != nil {
		return task.Done{}, err
	}
	found := readAll(ctx, j.where, listing.Backups)
	if err := ctx.Err(); err != nil {
		return task.Done{}, err
	}
	for _, f := range listing.Foreign {
		found = append(found, foreign(f))
	}
	for _, f := range found {
		checked.Stored += f.Backup.Stored
		if err := j.say.line(task.Line{Found: &f}); err != nil {
			return task.Done{}, err
		}
	}
	checked.Backups, checked.Unknown = len(found), listing.Unknown
	if j.Check.Sweep && checked.Kept == "" {
		if checked.Swept, err = j.sweep(ctx, listing.Torn); err != nil {
			return task.Done{}, err
		}
	}
	return task.Done{Check: &checked}, nil
}

// tolerate tells that the store refuses to delete from all other problems: backups can be made and restored without, and it is
// how people keep them from whoever gets hold of the keys.
func tolerate(problems []error) (kept string, others []error) {
	for _, problem := range problems {
		var e *store.Error
		if errors.As(problem, &e) && e.Do == "delete" && (e.Kind == store.Forbidden || e.Kind == store.Locked) {
			kept = e.Error()
			continue
		}
		others = append(others, problem)
	}
	return kept, others
}

// readAll reads the manifests of folders, some at a time, and keeps their order.
func readAll(ctx context.Context, where objects, folders []archive.Entry) []task.Found {
	found := make([]task.Found, len(folders))
	turns := make(chan struct{}, readers)
	var wait sync.WaitGroup
	for i, entry := range folders {
		turns <- struct{}{}
		wait.Go(func() {
			found[i] = describe(ctx, where, entry)
			<-turns
		})
	}
	wait.Wait()
	return found
}

// describe says what a folder holds, also if its manifest cannot be believed.
func describe(ctx context.Context, where objects, entry archive.Entry) task.Found {
	found := task.Found{Path: entry.Folder.String()}
	m, err := archive.ReadManifest(ctx, where, entry.Folder)
	if err != nil {
		found.Problem = err.Error()
		found.Backup = task.Facts{
			ID: entry.Folder.ID, Namespace: entry.Folder.Namespace, Cluster: entry.Folder.Cluster, Stored: entry.Bytes, StartedAt: entry.Newest,
		}
		return found
	}
	found.Backup = factsOf(m)
	return found
}

func foreign(f archive.Foreign) task.Found {
	taken := f.Taken
	if taken.IsZero() {
		taken = f.Object.Modified
	}
	return task.Found{
		Path: f.Object.Name, Program: string(f.Program),
		Problem: "this version lists backups of other programs, and cannot restore them yet",
		Backup:  task.Facts{Revision: f.Revision, Stored: f.Object.Size, StartedAt: taken},
	}
}

// sweep deletes what torn uploads have left, once nobody can be writing to it any more: by the store's own clock, which the newest
// object of all shows at least.
func (j job) sweep(ctx context.Context, torn []archive.Entry) (int, error) {
	swept := 0
	for _, entry := range torn {
		if j.Now().Sub(entry.Newest) < task.SweepAfter {
			continue
		}
		err := j.clear(ctx, entry.Folder.String()+"/")
		if err != nil && !errors.Is(err, store.Locked) { // what is locked is swept when the lock has ended
			return swept, err
		}
		if err == nil {
			swept++
		}
	}
	return swept, nil
}

// clear deletes every object of a folder that has no manifest.
func (j job) clear(ctx context.Context, folder string) error {
	for object, err := range j.where.List(ctx, folder) {
		if err != nil {
			return err
		}
		if err := j.where.Delete(ctx, object.Name); err != nil {
			return err
		}
	}
	return nil
}
