// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Manifest says what a backup is, and what it is made of.
type Manifest struct {
	Format int    `json:"format"`
	ID     string `json:"id"`   // UID of the EtcdBackup
	Name   string `json:"name"` // of the EtcdBackup
	// Upload is what the names of all parts begin with; empty: nothing. Two processes that write the same backup,
	// because it was not known that the first one still runs, have another one each: neither touches a part of the other,
	// and only one of them can write the manifest.
	Upload    string  `json:"upload,omitempty"`
	Namespace string  `json:"namespace"`
	Cluster   Cluster `json:"cluster"`
	Etcd      Etcd    `json:"etcd"`

	Revision        int64   `json:"revision"`
	Recoveries      int64   `json:"recoveries,omitempty"` // how often the cluster had gone on without acknowledged writes
	CompactRevision int64   `json:"compactRevision"`      // 0: nothing was compacted
	Keys            *int64  `json:"keys,omitempty"`       // at the revision; nil if no member could be asked
	HashKV          *HashKV `json:"hashKV,omitempty"`     // nil if no member was asked

	Database    Database    `json:"database"`
	StoredBytes int64       `json:"storedBytes"` // of all parts
	Parts       []Part      `json:"parts"`
	Compression string      `json:"compression"`          // "zstd"
	Encryption  *Encryption `json:"encryption,omitempty"` // nil: none

	StartedAt       time.Time       `json:"startedAt"`
	FinishedAt      time.Time       `json:"finishedAt"`
	OperatorVersion string          `json:"operatorVersion"` // "0.5.0"
	Reason          string          `json:"reason,omitempty"`
	Members         []Member        `json:"members,omitempty"`
	Spec            json.RawMessage `json:"spec,omitempty"` // of the EtcdCluster

	SHA256 string `json:"sha256,omitempty"` // of this manifest without this field
}

// Cluster is the one that was backed up.
type Cluster struct {
	Name      string `json:"name"`
	UID       string `json:"uid"`       // of the EtcdCluster
	ClusterID string `json:"clusterID"` // of etcd, in hex
}

// Etcd is the one that sent the snapshot.
type Etcd struct {
	Version        string `json:"version"`
	StorageVersion string `json:"storageVersion,omitempty"` // "3.6.0": the oldest that reads it; empty before etcd 3.6
}

// HashKV is etcd's hash of all keys. Two of them may be compared only if both revisions are equal.
type HashKV struct {
	Hash            uint32 `json:"hash"`
	Revision        int64  `json:"revision"`
	CompactRevision int64  `json:"compactRevision"`
}

// Database is etcd's file, without the sha256 that a snapshot has at its end.
type Database struct {
	Size   int64  `json:"size"`   // bytes
	SHA256 string `json:"sha256"` // that etcd sent
}

// Part is one object of the backup.
type Part struct {
	Name   string `json:"name"` // within the folder
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Encryption is how the parts are encrypted.
type Encryption struct {
	Format     string   `json:"format"`     // "age"
	Recipients []string `json:"recipients"` // public; each of their identities decrypts the backup
}

// Member is one of the cluster when it was backed up.
type Member struct {
	Name    string `json:"name"`
	ID      string `json:"id"` // in hex
	Learner bool   `json:"learner,omitempty"`
}

const (
	zstdCompression = "zstd"
	ageEncryption   = "age"
)

// format is the oldest version of a manifest that can say this.
func (m Manifest) format() int {
	if m.Recoveries != 0 {
		return formatRecoveries
	}
	return Format
}

// Folder is where the backup lies.
func (m Manifest) Folder() Folder {
	return Folder{Namespace: m.Namespace, Cluster: m.Cluster.Name, ID: m.ID}
}

// PartName is the name of a part within the folder. Parts count from 0.
func (m Manifest) PartName(number int) string {
	if m.Upload == "" {
		return PartName(number)
	}
	return m.Upload + "." + PartName(number)
}

// Encode is the content of the manifest's object, with its sha256, which is that of the very same text without
// the field. The same manifest is always the same text.
func (m Manifest) Encode() ([]byte, error) {
	m.StartedAt, m.FinishedAt = m.StartedAt.UTC(), m.FinishedAt.UTC()
	m.SHA256 = ""
	content, err := m.text()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	m.SHA256 = hex.EncodeToString(sum[:])
	return m.text()
}

func (m Manifest) text() ([]byte, error) {
	content, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode manifest: %w", err)
	}
	return append(content, '\n'), nil
}

// ParseManifest reads the manifest of a folder, and believes nothing: it must be the text that Encode makes, and
// name only parts that can be in this folder.
func ParseManifest(folder Folder, content []byte) (Manifest, error) {
	var version struct {
		Format          int    `json:"format"`
		OperatorVersion string `json:"operatorVersion"`
	}
	if err := json.Unmarshal(content, &version); err != nil {
		return Manifest{}, corrupt(folder.Manifest(), "it is no JSON: %v", err)
	}
	if version.Format > formatRecoveries {
		return Manifest{}, &FormatError{Format: version.Format, OperatorVersion: version.OperatorVersion}
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	var m Manifest
	if err := decoder.Decode(&m); err != nil {
		return Manifest{}, corrupt(folder.Manifest(), "%v", err)
	}
	again, err := m.Encode()
	if err != nil {
		return Manifest{}, corrupt(folder.Manifest(), "%v", err)
	}
	// What was left out, put twice, or written in another way is a change, too.
	if !bytes.Equal(again, content) {
		return Manifest{}, corrupt(folder.Manifest(), "its sha256 is not the one that it names")
	}
	return m, m.check(folder)
}
