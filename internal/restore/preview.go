// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// preview makes the preview, and makes it again if it would be another restore.
func preview(v View) Step {
	what, problem := chosenSource(v)
	if problem != "" {
		return pending(v, problem)
	}
	has := v.Restore.Status.Preview
	if has != nil && isSame(v, has, what) {
		return nil
	}
	made := newPreview(v, what)
	if has != nil && made.Confirm == has.Confirm && isConfirmed(v) {
		return wait(v, v1beta1.RestorePreviewed, v1beta1.ReasonUnconfirmed, "the backup, or the cluster, is not the one that was confirmed, "+
			"although its revision is the same: to restore it, create another EtcdRestore")
	}
	message := fmt.Sprintf("to restore, set spec.confirm to %q", made.Confirm)
	if isOwn(v) {
		message = "the preview is compared with the loss that was accepted"
	}
	s := said(v, v1beta1.RestorePreviewed, v1beta1.ReasonUnconfirmed, message)
	s.Preview = made
	return Record{Status: s, Event: "RestorePreviewed", What: sentence(v, made)}
}

// chosen is the backup that is meant: the one of the preview once that is confirmed, whatever is the newest since.
func chosen(v View) (*v1beta1.EtcdBackup, string) {
	want := inPlaceRequest(v.Restore, v.Cluster)
	if isConfirmed(v) || isLocated(v) {
		want.Backup = v.Restore.Status.Preview.Backup
	}
	return Choose(want, v.Backups, v.Store)
}

// chosenSource is that backup, and what the log adds to it: as the preview has it, or as a Job has just found it.
func chosenSource(v View) (source, string) {
	if v.Restore.Spec.Target == nil || isLocated(v) {
		b, problem := chosen(v)
		if problem != "" {
			return source{}, problem
		}
		what := alone(b)
		if v.Restore.Spec.Target != nil {
			p := v.Restore.Status.Preview
			what.revision, what.time, what.keys, what.log = p.Revision, p.Time, p.Keys, p.Log
		}
		return what, ""
	}
	return foundIn(inPlaceRequest(v.Restore, v.Cluster), v.Backups, v.Search)
}

// isSame says whether the preview still says what would be done, and a confirmation of it counts.
func isSame(v View, p *v1beta1.RestorePreview, what source) bool {
	if b := what.backup; p.Backup != b.Name || p.ManifestSHA256 != b.Status.ManifestSHA256 || p.Revision != what.revision ||
		p.ClusterID != v.Cluster.Status.ClusterID {
		return false
	}
	return stands(v, p)
}

func newPreview(v View, what source) *v1beta1.RestorePreview {
	b := what.backup
	p := &v1beta1.RestorePreview{
		Backup: b.Name, Revision: what.revision, Time: what.time, Keys: what.keys, Log: what.log.DeepCopy(), FromRevision: known(v),
		LastVerificationDuration: lastVerificationDuration(v.Backups, b), ManifestSHA256: b.Status.ManifestSHA256,
		ClusterID: v.Cluster.Status.ClusterID,
		MadeAt:    metav1.NewTime(v.Now.UTC().Truncate(time.Second)),
	}
	if b.Status.ClusterID == v.Cluster.Status.ClusterID && p.FromRevision > 0 {
		p.LostRevisions = ptr.To(max(0, p.FromRevision-p.Revision))
	}
	var doubts []string
	if b.Status.NoHash {
		doubts = append(doubts, fmt.Sprintf("the snapshot that %s made does not end with etcd's sha256: an etcd has served it, and even so "+
			"it may be a part of what an etcd had", b.Status.Program))
	}
	doubt := ""
	if v.Unasked != "" {
		doubt = "?"
		doubts = append(doubts, fmt.Sprintf("etcd cannot be asked for its revision: %s; fromRevision is the highest that is known of it, "+
			"and more may be lost", v.Unasked))
	}
	p.Message = strings.Join(doubts, "; ")
	p.Confirm = fmt.Sprintf("%s@%d%s->%d", v.Cluster.Name, p.FromRevision, doubt, p.Revision)
	return p
}

// known is the revision that the cluster has now or, where etcd cannot be asked, the highest one that it, or what is left of it, is
// known to have had.
func known(v View) int64 {
	if v.Revision > 0 {
		return v.Revision
	}
	highest := v.Cluster.Status.Revision
	if loss := v.Cluster.Status.QuorumLoss; loss != nil {
		for _, survivor := range loss.Survivors {
			highest = max(highest, survivor.Revision)
		}
	}
	return highest
}

// lastVerificationDuration is how long the trial of the backup took, or else the newest one of another backup of the same cluster.
func lastVerificationDuration(all []v1beta1.EtcdBackup, b *v1beta1.EtcdBackup) *metav1.Duration {
	if b.Status.Verified != nil {
		return &b.Status.Verified.Took
	}
	var newest *v1beta1.Verification
	for i := range all {
		verified := all[i].Status.Verified
		if source := sourceOf(b); verified == nil || source == "" || sourceOf(&all[i]) != source {
			continue
		}
		if newest == nil || verified.At.After(newest.At.Time) {
			newest = verified
		}
	}
	if newest == nil {
		return nil
	}
	return &newest.Took
}

// sentence describes the preview for people.
func sentence(v View, p *v1beta1.RestorePreview) string {
	what := fmt.Sprintf("would bring %s back to %s", v.Cluster.Name, words(p.Backup, p.Revision, p.Log))
	if p.Time != nil {
		what += ", as it was at " + p.Time.UTC().Format(time.RFC3339)
	}
	if p.Log != nil && p.Log.NextRevision > 0 {
		what += fmt.Sprintf("; the first change that is left out is revision %d of %s", p.Log.NextRevision, clock(p.Log.NextAt))
	}
	if p.LostRevisions != nil && v.Unasked == "" {
		what += fmt.Sprintf("; %d revisions would be lost", *p.LostRevisions)
	}
	if p.Message != "" {
		what += "; " + p.Message
	}
	return what
}

// clock is a time for people; nil: it is not known.
func clock(at *metav1.MicroTime) string {
	if at == nil {
		return "an unknown time"
	}
	return at.UTC().Format(time.RFC3339Nano)
}
