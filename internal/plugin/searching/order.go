// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package searching says what kubectl etcd log looks for in the log of a cluster, and shows what was found.
//
// It must never show a part of a state as if it were all of it, or write to a terminal what a terminal obeys.
package searching

import (
	"fmt"
	"strconv"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// Keys are those that are looked for, as a command line names them.
type Keys struct {
	Key, Prefix         string
	HasKey, HasPrefix   bool
	Since, Until        string // a time, how long ago, or a revision
	Deletes, Newest     bool
	Limit               int
	IsState, HasChoices bool // the keys as they were, and what goes with that alone
}

// Problem says what is wrong with a command line; empty if nothing is.
func (k Keys) Problem() string {
	switch {
	case k.HasKey == k.HasPrefix:
		return "which keys? Give --key, or --prefix with what they begin with; all of them begin with --prefix ''"
	case k.HasKey && k.Key == "":
		return "--key is empty, and no key is"
	case k.Limit < 0:
		return "--limit must be 0 or more"
	case !k.IsState && k.HasChoices:
		return "--to-time, --to-revision, --before-delete, --exclusive and --backup go with --state; a search has --since and --until"
	case k.IsState && k.HasKey:
		return "--state goes with --prefix"
	case k.IsState && (k.Since != "" || k.Until != "" || k.Deletes || k.Newest):
		return "--since, --until, --deletes and --newest are for changes: --state has --to-time, --to-revision and --before-delete"
	}
	return ""
}

// bytesOfKeys is what keys begin with, or the key.
func (k Keys) bytesOfKeys() []byte {
	if k.HasKey {
		return []byte(k.Key)
	}
	return []byte(k.Prefix)
}

// Shown is how many bytes of a value a table has at most.
const Shown = 48

// Search is the order of a Job; the problem says why there is none.
func (k Keys) Search(c *v1beta1.EtcdCluster, lineage string, now time.Time, asTable bool) (o jobspec.SearchOrder, problem string) {
	o = jobspec.SearchOrder{
		Namespace: c.Namespace, Cluster: c.Name, Lineage: lineage, Key: k.bytesOfKeys(), Prefix: k.HasPrefix, Limit: k.Limit,
		Deletions: k.Deletes, Newest: k.Newest, End: endOf(c),
	}
	if o.Before = !asTable; asTable {
		o.Values = Shown
	}
	if o.From, o.Since, problem = parse("--since", k.Since, now); problem != "" {
		return o, problem
	}
	if o.To, o.Until, problem = parse("--until", k.Until, now); problem != "" {
		return o, problem
	}
	hasRevisions, hasTimes := o.From != 0 || o.To != 0, !o.Since.IsZero() || !o.Until.IsZero()
	switch {
	case hasRevisions && hasTimes:
		return o, "--since and --until are both times, or both revisions"
	case o.To > 0 && o.To < o.From, !o.Until.IsZero() && o.Until.Before(o.Since):
		return o, "--until is before --since"
	}
	return o, ""
}

// State is the order of a Job that looks for the moment, too.
func (k Keys) State(target jobspec.LocateOrder) jobspec.StateOrder {
	return jobspec.StateOrder{Prefix: k.bytesOfKeys(), Target: target}
}

// parse reads a moment: a revision, how long ago it was, or a time. Times of a log have six places after the second.
func parse(flag, text string, now time.Time) (revision int64, at time.Time, problem string) {
	if text == "" {
		return 0, time.Time{}, ""
	}
	if revision, err := strconv.ParseInt(text, 10, 64); err == nil && revision > 0 {
		return revision, time.Time{}, ""
	}
	if ago, err := time.ParseDuration(text); err == nil && ago > 0 {
		return 0, now.Add(-ago).UTC().Truncate(time.Microsecond), ""
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil && !at.IsZero() {
		return 0, at.UTC(), ""
	}
	return 0, time.Time{}, fmt.Sprintf("%s is %q, and must be a time such as 2026-11-24T10:00:00Z, how long ago it was such as 2h30m, "+
		"or a revision", flag, text)
}

// endOf is up to where the log has everything, as the operator has last said it.
func endOf(c *v1beta1.EtcdCluster) *jobspec.LogEnd {
	s := c.Status.Log
	if s == nil || s.Lineage == "" || s.Base == nil || s.Until == nil {
		return nil
	}
	return &jobspec.LogEnd{Lineage: s.Lineage, Revision: s.Until.Revision, Until: s.Until.Time.UTC()}
}
