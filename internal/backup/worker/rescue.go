// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/restore/datadir"
)

// rescue copies the data of a member that does not run, and makes the certificates by which Backup is root of the etcd that is started on
// the copy: with authentication etcd sends snapshots to no other user.
func rescue(ctx context.Context, j job) (jobspec.Done, error) {
	if j.Rescue.InPlace {
		return jobspec.Done{}, j.rescueInPlace()
	}
	from := datadir.Find(j.Folders.Member, j.Rescue.DataDirectory)
	to := filepath.Join(j.Folders.Scratch, jobspec.ScratchData)
	at, err := datadir.Rescue(ctx, from, to, func(p datadir.Progress) {
		j.say.progress(p.Read, p.Size, "copying the data of the member; an etcd is started on the copy next")
	})
	if err != nil {
		return jobspec.Done{}, err
	}
	if err := j.certify(); err != nil {
		return jobspec.Done{}, err
	}
	text, err := json.Marshal(jobspec.Log{Term: at.Term, Index: at.Index})
	if err == nil {
		err = os.WriteFile(j.facts(), text, 0o600)
	}
	if err != nil {
		return jobspec.Done{}, fmt.Errorf("write how far the member's log goes: %w", err)
	}
	return jobspec.Done{}, nil
}

// rescueInPlace does the same with a volume that was made of a VolumeSnapshot, which is thrown away.
func (j job) rescueInPlace() error {
	began := j.Now()
	j.say.progress(0, 0, "reading the log of the member; an etcd is started on its data next")
	folder, err := datadir.Bring(j.Folders.Scratch, j.Rescue.DataDirectory)
	if err != nil {
		return err
	}
	if _, err := datadir.RescueInPlace(folder); err != nil {
		return err
	}
	if err := j.certify(); err != nil {
		return err
	}
	return j.leave(expected{Began: began})
}

// certifiedFor is longer than a Job may run.
const certifiedFor = 48 * time.Hour

// certify makes an authority that signs twice, and is forgotten.
func (j job) certify() error {
	authority, err := pki.NewCA(rand.Reader, j.Now(), "rescue", certifiedFor)
	if err != nil {
		return fmt.Errorf("make certificates: %w", err)
	}
	for folder, request := range map[string]pki.Request{
		jobspec.ScratchServer: {CommonName: "rescue", IPs: pki.Loopback(), Server: true, Client: true, Lifetime: certifiedFor},
		jobspec.ScratchClient: {CommonName: "root", Client: true, Lifetime: certifiedFor},
	} {
		pair, err := pki.Issue(rand.Reader, j.Now(), authority, request)
		if err != nil {
			return fmt.Errorf("make certificates: %w", err)
		}
		if err := write(filepath.Join(j.Folders.Scratch, folder), map[string][]byte{
			"tls.crt": pair.CertPEM, "tls.key": pair.KeyPEM, "ca.crt": authority.CertPEM,
		}); err != nil {
			return fmt.Errorf("write certificates: %w", err)
		}
	}
	return nil
}

func write(folder string, files map[string][]byte) error {
	err := os.MkdirAll(folder, 0o700)
	for name, content := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(folder, name), content, 0o600))
	}
	return err
}

// awaitRescued waits until the etcd in the Job's Pod has elected itself, and has what the log of the member has.
func (j job) awaitRescued(ctx context.Context) error {
	if !j.Backup.Stopped {
		return nil
	}
	member := j.Backup.Members[0]
	_, _, err := j.rescued(ctx, member.Address, "waiting for etcd to start on the copied data; its snapshot is uploaded next")
	if err != nil {
		return &sourceError{member.Name, err}
	}
	return nil
}

// rescued is the etcd in the Job's Pod, and the revision that it has, once it serves.
func (j job) rescued(ctx context.Context, address, message string) (etcd.Client, int64, error) {
	config, err := j.tls()
	if err != nil {
		return nil, 0, err
	}
	client, err := j.members.Client(owner, etcd.Target{Address: address, TLS: config})
	if err != nil {
		return nil, 0, err
	}
	revision, err := j.await(ctx, client, message)
	return client, revision, err
}

// ownAddress is where that etcd answers.
func (j job) ownAddress() string { return cmp.Or(j.Folders.Trial, jobspec.TrialAddress) }

// log is how far the log reaches of the member that does not run; nil if the backup is of members that do.
func (j job) log() *jobspec.Log {
	if !j.Backup.Stopped {
		return nil
	}
	var at jobspec.Log
	text, err := os.ReadFile(j.facts())
	if err != nil || json.Unmarshal(text, &at) != nil {
		return nil // the backup is good, but does not count as the best of several
	}
	return &at
}
