// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/encryption"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/log"
	logwriter "github.com/etcd-operator/etcd-operator/internal/backup/log/writer"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// progressEvery is how often a member is asked how far it is, so that the log is known to have everything although nothing is written. It
// is an answer of a few bytes. After a minute without any the next member is read.
const progressEvery = 5 * time.Second

// flushWithin is how long what was read may still be written when the process is asked to end. Kubernetes kills it after
// jobspec.FollowGrace.
const flushWithin = jobspec.FollowGrace - 5*time.Second

// follow keeps the log of a cluster until the process is asked to end, which is no failure: what was read by then is written first.
func follow(ctx context.Context, j job) (jobspec.Done, error) {
	o := j.Follow
	clusterID, err := strconv.ParseUint(o.ClusterID, 16, 64)
	if err != nil || len(o.Members) == 0 || o.Base < 1 || o.Flush <= 0 || o.SegmentSize < 1 || o.SegmentSize > log.MaxSize {
		return jobspec.Done{}, &unclear{"it names no cluster, no members, no full backup, or no times and sizes that can be"}
	}
	if err := isLineageOf(o.Lineage, o.ClusterID); err != nil {
		return jobspec.Done{}, err
	}
	recipients, err := encryption.ParseRecipients(o.Recipients)
	if err != nil {
		return jobspec.Done{}, err
	}
	connect, err := j.sources()
	if err != nil {
		return jobspec.Done{}, err
	}
	err = logwriter.Run(ctx, logwriter.Config{
		Store: segmentStore{j.where}, Folder: log.Folder{Namespace: o.Namespace, Cluster: o.Cluster, Lineage: o.Lineage},
		Name: strings.ToLower(rand.Text()), Base: o.Base, ClusterID: clusterID, Recipients: recipients, Connect: connect,
		Flush: o.Flush, SegmentSize: o.SegmentSize, Ask: progressEvery, Hash: o.Hash, Grace: flushWithin, Now: j.Now, Report: j.logged,
	})
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return jobspec.Done{}, nil
	}
	return jobspec.Done{}, err
}

// sources returns one member after the other.
func (j job) sources() (func(context.Context) (logwriter.Source, error), error) {
	config, err := j.tls()
	if err != nil {
		return nil, &sourceError{"no member can be asked", err}
	}
	next := 0
	return func(context.Context) (logwriter.Source, error) {
		m := j.Follow.Members[next%len(j.Follow.Members)]
		next++
		client, err := j.members.Client(owner, etcd.Target{Address: m.Address, TLS: config})
		if err != nil {
			return nil, &sourceError{m.Name, err}
		}
		return logSource{client, j, config}, nil
	}, nil
}

// logSource is a member that is read.
type logSource struct {
	etcd.Client
	job    job
	config *tls.Config
}

// HashKV asks a follower if one answers, not the member that is read: that may have become the leader.
func (s logSource) HashKV(ctx context.Context, revision int64) (etcd.Hash, error) {
	member, err := hashedBy(s.job.ask(ctx, s.config, s.job.Follow.Members), s.job.Follow)
	if err != nil {
		return etcd.Hash{}, err
	}
	return member.client.HashKV(ctx, revision)
}

// hashedBy is the best member to ask for the hash of its data: writes to it wait meanwhile. None is asked while its database is larger than
// the order allows: it may have grown since.
func hashedBy(all []candidate, o *jobspec.FollowOrder) (candidate, error) {
	fit, unfit := rank(all, o.ClusterID)
	switch {
	case len(fit) == 0:
		return candidate{}, none(unfit, "hashes its data", "no member can hash its data")
	case fit[0].status.DBSize > o.HashBelow:
		return candidate{}, fmt.Errorf("the database of %s has %d bytes, more than %d", fit[0].member.Name, fit[0].status.DBSize, o.HashBelow)
	default:
		return fit[0], nil
	}
}

// logged reports how far the log is.
func (j job) logged(p logwriter.Progress) {
	at := p.Next.Revision - 1
	var problems []string
	if p.MemberProblem != nil {
		problems = append(problems, "no member can be read, and the next one is tried: "+p.MemberProblem.Error())
	}
	if p.StoreProblem != nil {
		problems = append(problems, "the store does not take what follows, and is tried again: "+p.StoreProblem.Error())
	}
	message := strings.Join(append([]string{fmt.Sprintf("the log has everything up to revision %d", at)}, problems...), "; ")
	j.say.logged(message, jobspec.Logged{
		Revision: at, Until: p.Until, Waiting: p.Waiting, Segments: p.Segments, Problem: strings.Join(problems, "; "),
	})
}

// segmentStore is a store in the words of the log.
type segmentStore struct{ objects }

func (s segmentStore) Names(ctx context.Context, folder string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for object, err := range s.Store.List(ctx, folder) {
			if !yield(object.Name, err) {
				return
			}
		}
	}
}
