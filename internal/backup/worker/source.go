// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/objectstore"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

const (
	// patience is how long a member may take for an answer that costs it nothing.
	patience = 10 * time.Second
	// beginsWithin is how long a member may take for the first bytes of a snapshot: it writes what it has in memory first.
	beginsWithin = 30 * time.Second
	// reachedWithin is how long a Job waits for the first member that answers. A NetworkPolicy lets a Pod in once its engine has learnt
	// the Pod's address, which is after the Pod has begun, and each attempt is another Pod.
	reachedWithin = 30 * time.Second
	// askAgain is the pause between two rounds in which no member answers.
	askAgain = time.Second
)

// candidate is a member that may send the snapshot, or serve keys, and what it said of itself.
type candidate struct {
	member jobspec.Member
	client etcd.Client
	status etcd.Status
	err    error // that it did not answer
}

// source is the member that sends the snapshot.
type source struct {
	candidate
	snapshot etcd.Snapshot
	began    time.Time // what was acknowledged before is in the snapshot
	proven   int64     // revision that it must have at least; 0 if etcd does not report it
	end      func()
}

// begin has the best member that can do it begin a snapshot.
func (j job) begin(ctx context.Context) (source, error) {
	config, err := j.tls()
	if err != nil {
		return source{}, &sourceError{"no member can be asked", err}
	}
	fit, unfit := rank(j.reach(ctx, config, j.Backup.Members), j.Backup.ClusterID)
	for _, c := range fit {
		s, err := j.take(ctx, c)
		if err == nil {
			return s, nil
		}
		unfit = append(unfit, &sourceError{c.member.Name, err})
	}
	return source{}, none(unfit, "sends snapshots", "no member can send a snapshot")
}

// none says why no member does something: as authentication is enabled, or each for a reason of its own.
func none(unfit []error, what, otherwise string) error {
	for _, err := range unfit {
		if wanting := (*sourceError)(nil); errors.As(err, &wanting) && etcd.WantsRoot(wanting.err) {
			return &authError{wanting.member, what}
		}
	}
	return &sourceError{otherwise, oneLine(unfit)}
}

// reach asks all members until one of them answers, or it has taken too long.
func (j job) reach(ctx context.Context, config *tls.Config, members []jobspec.Member) []candidate {
	limited, cancel := context.WithTimeout(ctx, reachedWithin)
	defer cancel()
	for {
		all := j.ask(ctx, config, members)
		if slices.ContainsFunc(all, func(c candidate) bool { return !etcd.IsAway(c.err) }) {
			return all
		}
		j.say.progress(0, 0, "no member answers yet; they are asked again")
		select {
		case <-limited.Done():
			return all
		case <-time.After(askAgain):
		}
	}
}

// ask reads the status of all members at once.
func (j job) ask(ctx context.Context, config *tls.Config, members []jobspec.Member) []candidate {
	all := make([]candidate, len(members))
	var wait sync.WaitGroup
	for i, m := range members {
		wait.Go(func() {
			c := candidate{member: m}
			if c.client, c.err = j.members.Client(owner, etcd.Target{Address: m.Address, TLS: config}); c.err == nil {
				limited, cancel := context.WithTimeout(ctx, patience)
				defer cancel()
				c.status, c.err = c.client.Status(limited)
			}
			all[i] = c
		})
	}
	wait.Wait()
	return all
}

// take begins the snapshot of a member, which proves first that it has every write that was acknowledged before, by a read
// that needs a quorum.
func (j job) take(ctx context.Context, c candidate) (source, error) {
	s := source{candidate: c, began: j.Now()}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var err error
	if s.proven, err = c.client.Revision(limited); err != nil {
		if seen := etcd.Silence(err); seen != "" {
			err = fmt.Errorf("%s: %w", seen, err)
		}
		return source{}, err
	}
	ctx, stop := context.WithCancel(ctx)
	late := time.AfterFunc(beginsWithin, stop)
	s.snapshot, err = c.client.Snapshot(ctx)
	if err == nil && !late.Stop() {
		err = errors.Join(fmt.Errorf("no snapshot began within %s", beginsWithin), s.snapshot.Close())
	}
	if err != nil {
		stop()
		return source{}, err
	}
	s.end = func() {
		_ = s.snapshot.Close() // it ends a call
		stop()
	}
	return s, nil
}

// blame distinguishes errors of the member from those of the store: a snapshot that breaks off, or does not end with its sum, is
// not what the member has.
func (s source) blame(err error) error {
	switch {
	case err == nil, as[*objectstore.Error](err), as[*growthError](err),
		errors.Is(err, archive.ErrWrongRecipient), errors.Is(err, archive.ErrForeign):
		return err
	default:
		return &sourceError{s.member.Name, err}
	}
}

// tls has the identity by which the members know applications.
func (j job) tls() (*tls.Config, error) {
	isSecure := j.Backup != nil && j.Backup.Secure || j.Write != nil && j.Write.Secure || j.Follow != nil && j.Follow.Secure ||
		j.Trial != nil && j.Trial.Stopped || j.Restore != nil && j.Restore.Stopped || j.live().Secure
	if !isSecure {
		return nil, nil //nolint:nilnil // the members speak plain text
	}
	file := func(name string) string { return filepath.Join(j.Folders.Client, name) }
	pair, err := tls.LoadX509KeyPair(file("tls.crt"), file("tls.key"))
	if err != nil {
		return nil, fmt.Errorf("read client certificate: %w", err)
	}
	authority, err := os.ReadFile(file("ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("read authority of the members: %w", err)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(authority) {
		return nil, errors.New("read authority of the members: ca.crt has no certificate in PEM")
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: trusted, MinVersion: tls.VersionTLS13}, nil
}

// rank sorts those that can send the snapshot, or serve keys, the best one first: members of this cluster that know a leader; a follower
// before the leader, whose writes must not wait for a store; then the one that has applied the most; then by name. A
// learner never is: it cannot prove that it is up to date. For each other member it says why not.
func rank(all []candidate, clusterID string) (fit []candidate, unfit []error) {
	for _, c := range all {
		if err := c.problem(clusterID); err != nil {
			unfit = append(unfit, &sourceError{c.member.Name, err})
		} else {
			fit = append(fit, c)
		}
	}
	slices.SortFunc(fit, func(a, b candidate) int {
		return cmp.Or(
			order(a.leads(), b.leads()),
			cmp.Compare(b.status.RaftAppliedIndex, a.status.RaftAppliedIndex),
			cmp.Compare(a.member.Name, b.member.Name),
		)
	})
	return fit, unfit
}

func (c candidate) problem(clusterID string) error {
	switch {
	case c.err != nil && etcd.Silence(c.err) != "":
		return fmt.Errorf("%s: %w", etcd.Silence(c.err), c.err)
	case c.err != nil:
		return c.err
	case clusterID != "" && hexID(c.status.ClusterID) != clusterID:
		return fmt.Errorf("it is a member of cluster %s, not of %s", hexID(c.status.ClusterID), clusterID)
	case c.member.ID != "" && hexID(c.status.MemberID) != c.member.ID:
		return fmt.Errorf("it is member %s, not %s", hexID(c.status.MemberID), c.member.ID)
	case c.status.Learner:
		return errors.New("it is a learner")
	case c.status.LeaderID == 0:
		return errors.New("it knows no leader")
	}
	for _, alarm := range c.status.Alarms {
		if alarm.Kind == "CORRUPT" {
			return errors.New("etcd has raised the alarm CORRUPT: it is not known which member's data is right")
		}
	}
	return nil
}

func (c candidate) leads() bool { return c.status.LeaderID == c.status.MemberID }

// order puts what is not so first.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

func hexID(id uint64) string { return strconv.FormatUint(id, 16) }
