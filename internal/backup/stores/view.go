// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stores

import (
	"encoding/json"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
)

// View is one observation of an EtcdBackupStore.
type View struct {
	Store   v1beta1.EtcdBackupStore
	Backups []v1beta1.EtcdBackup // all of the namespace
	Sources []Source             // what the spec names, as SourcesOf says
	Job     jobs.Observed        // that looks at the store: there is one at a time, by its name
	NoImage string               // why the operator does not know its own image; empty if it does
	Memory  archive.Memory       // what the last Job has said of foreign objects; nil: this process has not read it
	Now     time.Time
}

// Asked is what was known when a Job was created: its answer is about this, whatever has changed since. The Job has it as
// an annotation.
type Asked struct {
	Generation int64  `json:"generation"`        // of the spec
	Request    string `json:"request,omitempty"` // the annotation by which people ask
	Sources    string `json:"sources,omitempty"` // versions of the keys
	Try        bool   `json:"try,omitempty"`     // writing is tried, and torn uploads are swept
}

// asked is what the Job was created for.
func (v View) asked() Asked { return ParseAsked(v.Job.For) }

// Encode is the annotation of the Job.
func (a Asked) Encode() string {
	text, _ := json.Marshal(a) // numbers and texts always can be
	return string(text)
}

// ParseAsked reads the annotation. What cannot be read is of generation 0, which no spec has.
func ParseAsked(text string) (a Asked) {
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return Asked{}
	}
	return a
}

// JobName is the name of the Job that looks at a store.
func JobName(store *v1beta1.EtcdBackupStore) string { return "etcd-store-" + string(store.UID) }
