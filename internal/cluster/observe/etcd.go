// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

const (
	// statusTimeout bounds the call that a living member answers from memory.
	statusTimeout = 500 * time.Millisecond
	// readTimeout bounds a linearizable read beside a leader that answers.
	readTimeout = time.Second
	// patience is how many times as long members get that have taken the connection and are only slow, before quorum counts as lost.
	patience = 4
)

// clients are those of the members that are asked, by name.
type clients map[string]etcd.Client

// etcd asks every running member at once, and again if it had to sum up their data, which may take seconds: what is to be known of
// members is to be new. Members that do not answer are no error.
func (o *Observer) etcd(ctx context.Context, s *facts.Snapshot, reads facts.MemberReads) {
	running := reads.Asked
	s.AskedAt = o.Now()
	if running == nil {
		return
	}
	o.Dialer.Keep(ctx, s.Cluster, slices.Concat(running, reads.Beside))
	s.SourceURLs = s.Cluster.SourceURLs()
	members := o.ask(ctx, s, running, 1)
	if more := facts.AdvertisedSources(*s); len(more) > len(s.SourceURLs) {
		s.SourceURLs = more
		members = o.ask(ctx, s, running, 1)
	}
	if facts.AreSlow(*s) {
		s.AskedAt = o.Now()
		members = o.ask(ctx, s, running, patience)
	}
	if reads := facts.NeedHashKV(*s); len(reads.Asked) > 0 {
		hashes := o.hashes(ctx, members, reads)
		s.AskedAt = o.Now()
		members = o.ask(ctx, s, running, 1)
		for _, a := range s.Answers {
			a.Hash = hashes[a.Member]
		}
	}
	members.descent(ctx, s)
}

// ask takes the member list from a member that has just answered a linearizable read. Members get so many times as long as usual.
func (o *Observer) ask(ctx context.Context, s *facts.Snapshot, running []cluster.Member, times time.Duration) clients {
	s.Answers, s.List, s.LocalList = nil, nil, nil
	members := o.statuses(ctx, s, running, times*statusTimeout)
	reads := facts.ByStatuses(*s)
	if !reads.Led {
		o.remains(ctx, reads.Answers, running)
		s.LocalList = members.list(ctx, reads.LocalList)
		if !facts.IsLedByUnknown(*s) {
			return members
		}
	}
	each(reads.Answers, func(a *facts.Answer) {
		members.read(ctx, a, reads.Answers, times*readTimeout)
	})
	lister, split := facts.LinearizableSource(*s)
	if !split {
		s.List = members.list(ctx, lister)
	}
	if !split && s.List == nil {
		s.LocalList = members.list(ctx, reads.LocalList)
	}
	return members
}

// statuses asks the members that run for their identity and the leader that they follow.
func (o *Observer) statuses(ctx context.Context, s *facts.Snapshot, running []cluster.Member, timeout time.Duration) clients {
	members := clients{}
	for _, m := range running {
		a := &facts.Answer{Member: m.Name}
		members[m.Name], a.Err = o.Dialer.Member(ctx, s.Cluster, m)
		s.Answers = append(s.Answers, a)
	}
	for _, url := range s.SourceURLs {
		a := &facts.Answer{Member: url, Source: true}
		members[url], a.Err = o.Dialer.Source(ctx, s.Cluster, url)
		s.Answers = append(s.Answers, a)
	}
	each(s.Answers, func(a *facts.Answer) {
		if a.Err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		a.Status, a.Err = members[a.Member].Status(ctx)
	})
	return members
}

func each(answers []*facts.Answer, do func(*facts.Answer)) {
	var all sync.WaitGroup
	for _, a := range answers {
		all.Go(func() { do(a) })
	}
	all.Wait()
}

// remains asks members that serve no client what data they have.
func (o *Observer) remains(ctx context.Context, answers []*facts.Answer, running []cluster.Member) {
	each(answers, func(a *facts.Answer) {
		i := slices.IndexFunc(running, func(m cluster.Member) bool { return m.Name == a.Member })
		if a.Err == nil || i < 0 {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, statusTimeout)
		defer cancel()
		if remains, err := o.Remains(ctx, metricsOf(running[i])); err == nil {
			a.Remains = remains
		}
	})
}

// read asks for a linearizable read. A learner does not serve one. A member that follows another
// leader than the others is then asked again for its status.
func (c clients) read(ctx context.Context, a *facts.Answer, among []*facts.Answer, timeout time.Duration) {
	if a.Err != nil || a.Status.Learner {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	a.Revision, a.Read = c[a.Member].Revision(ctx)
	a.WasRead = true
	if a.Read != nil || facts.Follows(a, among) {
		return
	}
	if again, err := c[a.Member].Status(ctx); err == nil {
		a.Again = &again
	}
}

// list is the member list of one member; nil if there is no member to ask, or it does not answer.
func (c clients) list(ctx context.Context, of *facts.Answer) []etcd.Member {
	if of == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	list, err := c[of.Member].Members(ctx)
	if err != nil {
		return nil
	}
	return list
}

// hashes asks members for the hash of their data, one after another. They are by name, with those of earlier looks.
func (o *Observer) hashes(ctx context.Context, members clients, reads facts.HashReads) map[string]*cluster.Hash {
	hashes := map[string]*cluster.Hash{}
	for _, h := range reads.Earlier {
		hashes[h.Member] = &h
	}
	begun := o.Now()
	for _, a := range reads.Asked {
		h := &cluster.Hash{Member: a.Member, Revision: reads.Revision}
		hashes[a.Member] = h
		o.hash(ctx, members[a.Member], h, reads.Timeout)
		if reads.IsEnough(*h, o.Now().Sub(begun)) {
			break
		}
	}
	return hashes
}

func (o *Observer) hash(ctx context.Context, member etcd.Client, h *cluster.Hash, timeout time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	begun := o.Now()
	hash, err := member.HashKV(ctx, h.Revision)
	h.Sum, h.Compacted = hash.Sum, hash.Compacted
	if err != nil {
		h.Unread = err.Error()
	}
	if err == nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		h.Took = o.Now().Sub(begun)
	}
}

// descent asks a member whether a downgrade goes on, if that has to be known.
func (c clients) descent(ctx context.Context, s *facts.Snapshot) {
	a := facts.NeedDowngradeStatus(*s)
	if a == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	a.GoesDown, a.GoesDownErr = c[a.Member].DowngradeEnabled(ctx)
}

// probes looks at what members show, accept and refuse, while an authority is rotated or a certificate revoked.
func (o *Observer) probes(ctx context.Context, s *facts.Snapshot, members []cluster.Member) {
	s.Probes = make([]certs.TLSProbe, len(members))
	var all sync.WaitGroup
	for i, m := range members {
		all.Go(func() { s.Probes[i] = o.Dialer.Probe(ctx, s.Cluster, m) })
	}
	all.Wait()
}
