// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// markerName is a file in the folder member of a data directory. etcd looks at nothing there but
// snap and wal; beside member it would warn of a foreign file each time it starts.
const markerName = "restored.json"

// marker says what a data directory was made of, so that the same Make is known again.
type marker struct {
	ClusterID        string `json:"clusterID"` // hexadecimal, as etcd prints IDs
	MemberID         string `json:"memberID"`
	Member           string `json:"member"`
	SHA256           string `json:"sha256"`
	BumpRevision     int64  `json:"bumpRevision"`
	DropNoSpaceAlarm bool   `json:"dropNoSpaceAlarm"`
	DisableAuth      bool   `json:"disableAuth,omitempty"`
	Target           string `json:"target,omitempty"` // of a log
}

func newMarker(o Options, c cluster) marker {
	m := marker{
		ClusterID:        c.ID().String(),
		MemberID:         c.MemberByName(o.Member).ID.String(),
		Member:           o.Member,
		SHA256:           fmt.Sprintf("%x", o.SHA256),
		BumpRevision:     o.BumpRevision,
		DropNoSpaceAlarm: o.DropNoSpaceAlarm,
		DisableAuth:      o.DisableAuth,
	}
	if o.Log != nil {
		m.Target = o.Log.Target
	}
	return m
}

// names says whether these IDs are those of the marker.
func (m marker) names(clusterID, memberID uint64) bool {
	return m.ClusterID == fmt.Sprintf("%x", clusterID) && m.MemberID == fmt.Sprintf("%x", memberID)
}

func (m marker) write(dataDirectory string) error {
	content, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(dataDirectory, "member", markerName), append(content, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("mark data directory: %w", err)
	}
	return nil
}

func readMarker(dataDirectory string) (m marker, ok bool) {
	content, err := os.ReadFile(filepath.Join(dataDirectory, "member", markerName))
	err = errors.Join(err, json.Unmarshal(content, &m))
	return m, err == nil
}
