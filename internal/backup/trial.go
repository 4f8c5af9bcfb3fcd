// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"fmt"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// trialsBelow is the size of the database in bytes below which each backup is restored on trial where the cluster does
// not say when.
const trialsBelow = 1 << 30

// wantsTrial says whether a backup with these facts is to be restored on trial. It is asked once, when the backup is
// complete: a policy that changes later must not have all old backups verified at once.
func (v View) wantsTrial(f jobspec.Facts) bool {
	switch {
	case v.Request != "":
		return true
	case v.Spec.Verify != nil:
		return *v.Spec.Verify
	case v.isFound():
		return false
	case !v.Cluster.Exists:
		return true
	}
	switch v.Cluster.Verify {
	case v1beta1.VerifyNever:
		return false
	case v1beta1.VerifyAlways:
		return true
	case v1beta1.VerifyDaily:
		return day(v.Cluster.LastVerified) != day(f.StartedAt)
	default:
		return f.Database < trialsBelow || day(v.Cluster.LastVerified) != day(f.StartedAt)
	}
}

// day is the one of a moment, in UTC.
func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// followRequest has a person ask again, by another value of the annotation.
func followRequest(v View) Step {
	if v.Request == "" || v.Status.Trial != nil && v.Status.Trial.Request == v.Request {
		return nil
	}
	s := v.status()
	s.Trial = settled(s.Trial)
	s.Trial.Wanted, s.Trial.Request = true, v.Request
	if v.hasFailed(Verify) {
		s.Failure, s.RetryAt, s.Attempts = nil, nil, 0
	}
	return Record{Status: s, What: fmt.Sprintf("a trial is asked for: %s", v.Request)}
}

func needIdentity(v View) Step {
	if !v.isTrialWanted() || !v.Status.Encrypted || v.Decryption != "" {
		return nil
	}
	s := v.untried(v1beta1.ReasonEncrypted, fmt.Sprintf("it is encrypted, and no identity is named that decrypts it: "+
		"name a Secret with one in spec.backup.decryption of EtcdCluster %s, and then change the annotation %s of this EtcdBackup",
		v.Status.Cluster, v1beta1.AnnotationVerifyOnce))
	return failure(s)
}

// untried is the status after trials were given up without a proof.
func (v View) untried(reason, why string) v1beta1.EtcdBackupStatus {
	s := v.status()
	s.Trial, s.RetryAt = settled(s.Trial), nil
	s.Failure = &v1beta1.BackupFailure{Task: Verify, Reason: reason, Message: shortened(why), Final: true}
	return s
}

// endTrials ends the trials of a scheduled backup at its deadline, except one that a person has requested.
func endTrials(v View) Step {
	since := v.finishedAt()
	if !v.isTrialWanted() || !v.Scheduled || v.Status.Trial.Request != "" || since.IsZero() || v.Now.Before(v.deadline(since)) {
		return nil
	}
	last := "it was never begun"
	if _, why := obstacle(v, Verify); why != "" {
		last = "it waited for " + why
	} else if v.hasFailed(Verify) {
		last = v.Status.Failure.Message
	}
	why := fmt.Sprintf("no trial has ended within %s: %s; change the annotation %s to have another one",
		hours(scheduleWaits), last, v1beta1.AnnotationVerifyOnce)
	return failure(v.untried(v1beta1.ReasonTooLate, why))
}

func awaitTrial(v View) Step {
	if !v.isTrialWanted() {
		return nil
	}
	return v.await(Verify, v.finishedAt())
}

func verify(v View) Step {
	if !v.isTrialWanted() {
		return nil
	}
	return v.named(Verify)
}
