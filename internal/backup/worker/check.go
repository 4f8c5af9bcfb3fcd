// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/objectstore"
)

const (
	// opensMost is of how many foreign objects one look reads the first bytes: 64 MiB at most.
	opensMost = 512
	// eachLine is how many names of objects a line has, which is 54 KiB.
	eachLine = 8000
)

// readers is how many manifests are read at a time.
const readers = 8

// check tries the store and reports what is in it, by name.
func check(ctx context.Context, j job) (jobspec.Done, error) {
	var checked jobspec.Checked
	if j.Check.Write {
		report := objectstore.Check(ctx, j.where.Store, j.Now)
		kept, problems := tolerate(report.Problems)
		if err := oneLine(problems); err != nil {
			return jobspec.Done{}, err
		}
		checked.Skew, checked.Kept = report.Skew, kept
	}
	listing, err := archive.List(ctx, j.where, "", archive.Look{
		Most: opensMost, Memory: j.Check.Memory, First: j.Check.First, IsDown: isDown,
	})
	if err != nil {
		return jobspec.Done{}, err
	}
	found, err := j.readAll(ctx, listing.Backups)
	if err != nil {
		return jobspec.Done{}, err
	}
	for _, f := range listing.Foreign {
		found = append(found, foreign(f))
	}
	for _, f := range found {
		checked.Stored += f.Backup.Stored
		if err := j.say.line(jobspec.Line{Found: &f}); err != nil {
			return jobspec.Done{}, err
		}
	}
	checked.Backups, checked.Unknown = len(found), listing.Unknown
	if err := j.sayLooked(listing, &checked); err != nil {
		return jobspec.Done{}, err
	}
	if j.Check.Sweep && checked.Kept == "" {
		checked.Swept, err = j.sweep(ctx, listing.Incomplete, j.storeClock(listing, checked.Skew).Add(-jobspec.SweepAfter))
	}
	return jobspec.Done{Check: &checked}, err
}

// tolerate separates a store's refusal to delete from all other problems: backups can be made and restored without deletion, and
// refusing it protects them if the keys are stolen.
func tolerate(problems []error) (kept string, others []error) {
	for _, problem := range problems {
		var e *objectstore.Error
		if errors.As(problem, &e) && e.Do == "delete" && (e.Kind == objectstore.Forbidden || e.Kind == objectstore.Locked) {
			kept = e.Error()
			continue
		}
		others = append(others, problem)
	}
	return kept, others
}

// readAll reads the manifests of folders, some at a time, and keeps their order. A backup that was deleted since it was
// listed is left out.
func (j job) readAll(ctx context.Context, folders []archive.Entry) ([]jobspec.Found, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	found := make([]jobspec.Found, len(folders))
	turns := make(chan struct{}, readers)
	var wait sync.WaitGroup
	for i, entry := range folders {
		turns <- struct{}{}
		wait.Go(func() {
			var err error
			if found[i], err = j.describe(ctx, entry); err != nil {
				cancel(err)
			}
			<-turns
		})
		if ctx.Err() != nil {
			break
		}
	}
	wait.Wait()
	return slices.DeleteFunc(found, func(f jobspec.Found) bool { return f.Path == "" }), context.Cause(ctx)
}

// describe says what a folder holds, also if its manifest cannot be believed. It is nothing if the manifest is gone. An
// error is one of the store's, which says nothing of the backup.
func (j job) describe(ctx context.Context, entry archive.Entry) (jobspec.Found, error) {
	m, err := archive.ReadManifest(ctx, j.where, entry.Folder)
	found := jobspec.Found{Path: entry.Folder.String(), Backup: factsOf(m)}
	switch {
	case err == nil && (entry.Objects <= len(m.Parts) || entry.Bytes < m.StoredBytes):
		found.Problem = fmt.Sprintf("parts of it are missing: its manifest names %d parts of %d bytes, and %d objects of %d bytes lie there; "+
			"restore another backup", len(m.Parts), m.StoredBytes, entry.Objects, entry.Bytes)
		return found, nil
	case err == nil:
		if f := &found.Backup; f.StartedAt.After(j.Now()) && !entry.Newest.After(j.Now()) {
			f.StartedAt = entry.Newest // the node that wrote it had a wrong clock
		}
		return found, nil
	case errors.Is(err, fs.ErrNotExist):
		return jobspec.Found{}, nil
	case ctx.Err() != nil || as[*objectstore.Error](err) && !isOfObject(objectstore.KindOf(err)):
		return jobspec.Found{}, err
	}
	found.Problem = failure(err).Message
	found.Backup = jobspec.Facts{
		ID: entry.Folder.ID, Namespace: entry.Folder.Namespace, Cluster: entry.Folder.Cluster, Stored: entry.Bytes, StartedAt: entry.Newest,
	}
	return found, nil
}

// isOfObject says whether a store that answers so could read another object even so.
func isOfObject(kind objectstore.Kind) bool {
	return slices.Contains([]objectstore.Kind{
		objectstore.Forbidden, objectstore.TooLarge, objectstore.Changed, objectstore.Invalid,
		objectstore.Unknown,
	}, kind)
}

// isDown says whether a store that answers so serves no other object either.
func isDown(err error) bool {
	down := []objectstore.Kind{
		objectstore.Unreachable, objectstore.Busy, objectstore.Slow, objectstore.NoBucket, objectstore.Skewed, objectstore.WrongRegion,
		objectstore.Untrusted,
	}
	return slices.Contains(down, objectstore.KindOf(err))
}

// sayLooked writes what is known of foreign objects. Where not all names are written, no foreign object counts as gone.
func (j job) sayLooked(listing archive.Listing, checked *jobspec.Checked) error {
	checked.Waiting, checked.Unread = listing.Waiting, listing.Unread
	if listing.Trouble != nil {
		checked.Trouble = failure(listing.Trouble).Message
	}
	lines := []jobspec.Looked{{Memory: listing.Memory}}
	for names := range slices.Chunk(listing.Unseen, eachLine*archive.NameSize) {
		lines = append(lines, jobspec.Looked{Unseen: names})
	}
	for _, line := range lines {
		if len(line.Memory)+len(line.Unseen) == 0 {
			continue
		}
		if err := j.say.line(jobspec.Line{Looked: &line}); err != nil {
			return err
		}
	}
	return nil
}

func foreign(f archive.Foreign) jobspec.Found {
	taken := f.Taken
	if taken.IsZero() {
		taken = f.Object.Modified
	}
	found := jobspec.Found{
		Path: f.Object.Name, Program: string(f.Program), NoHash: f.NoHash,
		Backup: jobspec.Facts{Revision: f.Revision, Stored: f.Object.Size, StartedAt: taken},
	}
	if f.Incomplete {
		found.Problem = fmt.Sprintf("it is torn: %d bytes lie there, which are less than its database has; restore another backup", f.Object.Size)
	}
	return found
}

// storeClock is the time by the store's clock, or an earlier one: what was written has shown how far ahead that clock is, and
// without that the newest object shows that it is not earlier.
func (j job) storeClock(all archive.Listing, skew time.Duration) time.Time {
	if j.Check.Write {
		return j.Now().Add(skew)
	}
	var newest time.Time
	later := func(t time.Time) {
		if t.After(newest) {
			newest = t
		}
	}
	for _, entry := range slices.Concat(all.Backups, all.Incomplete) {
		later(entry.Newest)
	}
	for _, f := range all.Foreign {
		later(f.Object.Modified)
	}
	return newest
}

// sweep deletes what torn uploads have left whose newest object is older than that, and returns how many there were.
func (j job) sweep(ctx context.Context, torn []archive.Entry, before time.Time) (swept int, err error) {
	for _, entry := range torn {
		if !entry.Newest.Before(before) {
			continue
		}
		isGone, err := j.sweepFolder(ctx, entry.Folder, before)
		if err != nil && !errors.Is(err, objectstore.Locked) { // what is locked is swept when its time has come
			return swept, err
		}
		if isGone {
			swept++
		}
	}
	return swept, nil
}

// sweepFolder looks again first: a manifest that has come since, or another part, means that an upload is still running; and a folder
// with anything but parts is not of an upload.
func (j job) sweepFolder(ctx context.Context, folder archive.Folder, before time.Time) (isGone bool, err error) {
	var names []string
	for object, err := range j.where.List(ctx, folder.String()+"/") {
		if err != nil {
			return false, err
		}
		_, name, _ := archive.ParseName(object.Name)
		if !archive.IsPart(name) || !object.Modified.Before(before) {
			return false, nil
		}
		names = append(names, object.Name)
	}
	return len(names) > 0, j.deleteAll(ctx, names)
}

func (j job) deleteAll(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := j.where.Delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}
