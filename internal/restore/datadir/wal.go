// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/etcdserver/api/snap"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v2store"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"
)

// writeLog writes the raft log of the member: one entry for each member of the cluster, all
// committed, and a snapshot at the last of them, at which the database is.
func writeLog(folder, member string, c cluster) error {
	entries, state, err := raftState(c)
	if err != nil {
		return fmt.Errorf("make log: %w", err)
	}
	position := &raftpb.SnapshotMetadata{Index: new(uint64(len(entries))), Term: new(uint64(raftTerm)), ConfState: state}
	id, clusterID := uint64(c.MemberByName(member).ID), uint64(c.ID())
	metadata, err := proto.Marshal(&etcdserverpb.Metadata{NodeID: &id, ClusterID: &clusterID})
	if err != nil {
		return fmt.Errorf("make log: %w", err)
	}
	log, err := wal.Create(zap.NewNop(), filepath.Join(folder, "wal"), metadata)
	if err != nil {
		return fmt.Errorf("create log: %w", err)
	}
	hardState := &raftpb.HardState{Term: position.Term, Vote: &state.Voters[0], Commit: position.Index}
	err = log.Save(hardState, entries)
	if err == nil {
		err = writeSnapshotFile(filepath.Join(folder, "snap"), position, c)
	}
	if err == nil {
		err = log.SaveSnapshot(&walpb.Snapshot{Index: position.Index, Term: position.Term, ConfState: state})
	}
	if err := errors.Join(err, log.Close()); err != nil {
		return fmt.Errorf("write log: %w", err)
	}
	return removeSpares(filepath.Join(folder, "wal"))
}

// raftState is what raft agreed on in a new cluster: which members are its voters.
func raftState(c cluster) ([]*raftpb.Entry, *raftpb.ConfState, error) {
	var entries []*raftpb.Entry
	state := &raftpb.ConfState{}
	for i, id := range c.MemberIDs() {
		member, err := json.Marshal(c.Member(id))
		if err != nil {
			return nil, nil, err
		}
		change, err := proto.Marshal(&raftpb.ConfChange{
			Type: raftpb.ConfChangeAddNode.Enum(), NodeId: new(uint64(id)), Context: member,
		})
		if err != nil {
			return nil, nil, err
		}
		entries = append(entries, &raftpb.Entry{
			Type: raftpb.EntryConfChange.Enum(), Term: new(uint64(raftTerm)), Index: new(uint64(i + 1)), Data: change, //nolint:gosec // small
		})
		state.Voters = append(state.Voters, uint64(id))
	}
	return entries, state, nil
}

// The roots of etcd's old store, from which 3.5 reads the members
// (go.etcd.io/etcd/server/v3/etcdserver, StoreClusterPrefix and StoreKeysPrefix).
const clusterRoot, keysRoot = "/0", "/1"

// writeSnapshotFile writes the members in the form that etcd 3.5 reads. 3.6 and newer read them in the database.
func writeSnapshotFile(folder string, position *raftpb.SnapshotMetadata, c cluster) error {
	store := v2store.New(clusterRoot, keysRoot)
	c.Store(store)
	members, err := store.SaveNoCopy()
	if err != nil {
		return fmt.Errorf("make snapshot file: %w", err)
	}
	return snap.New(zap.NewNop(), folder).SaveSnap(&raftpb.Snapshot{Data: members, Metadata: position})
}

// removeSpares removes the next segment of the log, which is left if there was no room for all of it.
func removeSpares(folder string) error {
	spares, err := filepath.Glob(filepath.Join(folder, "*.tmp"))
	for _, spare := range spares {
		err = errors.Join(err, os.Remove(spare))
	}
	if err != nil {
		return fmt.Errorf("remove spare segment of the log: %w", err)
	}
	return nil
}

// readIdentity reads the cluster and the member of a log; zeros if they cannot be read.
func readIdentity(folder string) (clusterID, memberID uint64) {
	segments, err := filepath.Glob(filepath.Join(folder, "*.wal"))
	if err != nil || len(segments) == 0 {
		return 0, 0
	}
	file, err := os.Open(segments[0]) // each begins with the identity
	if err != nil {
		return 0, 0
	}
	defer func() { _ = file.Close() }() // it was only read
	decoder := wal.NewDecoder(fileutil.NewFileReader(file))
	for {
		var record walpb.Record
		if err := decoder.Decode(&record); err != nil {
			return 0, 0
		}
		switch record.GetType() {
		case wal.CrcType:
			decoder.UpdateCRC(record.GetCrc())
		case wal.MetadataType:
			var metadata etcdserverpb.Metadata
			if err := proto.Unmarshal(record.GetData(), &metadata); err != nil {
				return 0, 0
			}
			return metadata.GetClusterID(), metadata.GetNodeID()
		default:
			return 0, 0
		}
	}
}
