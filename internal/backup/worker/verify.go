// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

const (
	// startsWithin is how long etcd may take to load a database of 8 GiB from a slow disk.
	startsWithin = 15 * time.Minute
	// hashesWithin is how long it may take to hash it.
	hashesWithin = 5 * time.Minute
	// pause is between two questions to an etcd that starts.
	pause = 200 * time.Millisecond
)

// verify asks the etcd that runs on the data of a trial, and compares its answers with what Unpack has computed.
func verify(ctx context.Context, j job) (jobspec.Done, error) {
	want, err := j.left()
	if err != nil {
		return jobspec.Done{}, err
	}
	if j.Trial.Stopped {
		return verifyRescued(ctx, j, want.Began)
	}
	client, err := j.members.Client(owner, etcd.Target{Address: j.ownAddress()})
	if err != nil {
		return jobspec.Done{}, &trialError{err}
	}
	revision, err := j.await(ctx, client, "waiting for etcd to start on the restored data; its answers are compared next")
	if err != nil {
		return jobspec.Done{}, &trialError{err}
	}
	j.say.progress(0, 0, "comparing revision, number of keys and hash with those of the backup")
	ctx, cancel := context.WithTimeout(ctx, hashesWithin)
	defer cancel()
	if err := want.compare(ctx, client, revision); err != nil {
		return jobspec.Done{}, err
	}
	return jobspec.Done{Trial: &jobspec.Trial{
		Revision: want.Revision, Keys: want.Keys, Database: want.Database, Took: j.Now().Sub(want.Began),
		ClusterVersion: want.ClusterVersion, SHA256: want.SHA256, NoHash: want.NoHash,
	}}, nil
}

// verifyRescued asks the etcd that runs on a volume made of a VolumeSnapshot, of which only the revision is known that its member had just
// before. The hash has it read all keys.
func verifyRescued(ctx context.Context, j job, began time.Time) (jobspec.Done, error) {
	client, revision, err := j.rescued(ctx, j.ownAddress(), "waiting for etcd to start on that volume; all its keys are read next")
	if err != nil {
		return jobspec.Done{}, &trialError{err}
	}
	if revision < j.Trial.Least {
		return jobspec.Done{}, different("the etcd that runs on the volume of the VolumeSnapshot", "revision", j.Trial.Least, revision)
	}
	j.say.progress(0, 0, "reading all keys")
	ctx, cancel := context.WithTimeout(ctx, hashesWithin)
	defer cancel()
	keys, failed := client.Count(ctx, revision)
	_, unread := client.HashKV(ctx, revision)
	status, unasked := client.Status(ctx)
	if err := errors.Join(failed, unread, unasked); err != nil {
		return jobspec.Done{}, &trialError{err}
	}
	return jobspec.Done{Trial: &jobspec.Trial{
		Revision: revision, Keys: keys, Database: status.DBSize, Took: j.Now().Sub(began), ClusterVersion: status.Version,
	}}, nil
}

// compare compares all that etcd says as of the revision of the backup. Its newest revision may be later: leases run out, and
// take their keys with them.
func (e expected) compare(ctx context.Context, client etcd.Client, revision int64) error {
	const who = "the etcd that runs on the restored data"
	if revision < e.Revision {
		return different(who, "revision", e.Revision, revision)
	}
	keys, err := client.Count(ctx, e.Revision)
	if err != nil {
		return &trialError{err}
	}
	hash, err := client.HashKV(ctx, e.Revision)
	if err != nil {
		return &trialError{err}
	}
	switch {
	case keys != e.Keys:
		return different(who, "number of keys", e.Keys, keys)
	case hash.Compacted != e.Compact:
		return different(who, "compacted revision", e.Compact, hash.Compacted)
	case hash.Sum != e.Hash:
		return different(who, "hash", e.Hash, hash.Sum)
	}
	return nil
}

// await waits until etcd answers, and returns its revision.
func (j job) await(ctx context.Context, client etcd.Client, message string) (revision int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, startsWithin)
	defer cancel()
	for {
		limited, cancel := context.WithTimeout(ctx, patience)
		revision, err := client.Revision(limited)
		cancel()
		if err == nil {
			return revision, nil
		}
		j.say.progress(0, 0, message)
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("it does not answer: %w", err)
		case <-time.After(pause):
		}
	}
}
