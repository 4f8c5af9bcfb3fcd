// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"
)

// raftTerm is the term in which the members of a new cluster are entered.
const raftTerm = 1

// complete makes the database one of the new cluster, in one transaction. It reads the few pages that it follows, whatever the
// size of the database.
func complete(path string, o Options, c cluster) error {
	if err := sayNothingIsFree(path); err != nil {
		return err
	}
	db, err := openForWriting(path)
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		for _, step := range []func(*bolt.Tx) error{
			func(tx *bolt.Tx) error { return refuse(tx, o.Minor) },
			func(tx *bolt.Tx) error { return replaceMembers(tx, c) },
			func(tx *bolt.Tx) error { return setIndex(tx, uint64(len(c.MemberIDs())), raftTerm) },
			func(tx *bolt.Tx) error { return bump(tx, o.BumpRevision) },
			func(tx *bolt.Tx) error { return dropNoSpace(tx, o.DropNoSpaceAlarm) },
			func(tx *bolt.Tx) error { return disableAuth(tx, o.DisableAuth) },
		} {
			if err := step(tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("complete database: %w", err)
	}
	return nil
}

// openForWriting opens as etcd does: the list of free pages is not written. Nothing is synced, which the file is with all others
// before the data directory gets its name.
func openForWriting(path string) (*bolt.DB, error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{
		NoFreelistSync: true, FreelistType: bolt.FreelistMapType, Timeout: lockTimeout, NoSync: true, NoGrowSync: true,
	})
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return db, nil
}

// refuse says why no member may run on this database.
func refuse(tx *bolt.Tx, minor string) error {
	if _, err := readRevisions(tx); err != nil {
		return err
	}
	alarms, err := readAlarms(tx)
	if err != nil {
		return err
	}
	var corrupt []uint64
	for _, alarm := range alarms {
		if alarm.Kind == etcdserverpb.AlarmType_CORRUPT.String() {
			corrupt = append(corrupt, alarm.MemberID)
		}
	}
	if len(corrupt) > 0 {
		return &CorruptError{Members: corrupt}
	}
	return refuseNewer(databaseVersion(tx), minor)
}

// databaseVersion is the newer one of cluster version and storage version, such as 3.6.0. etcd
// before 3.6 has no storage version. It is empty if there is neither.
func databaseVersion(tx *bolt.Tx) string {
	ofCluster, ofStorage := text(tx, bucketCluster, keyClusterVersion), text(tx, bucketMeta, keyStorageVersion)
	if older(ofCluster, ofStorage) {
		return ofStorage
	}
	return ofCluster
}

func refuseNewer(database, minor string) error {
	if !older(minor, database) {
		return nil
	}
	version, _ := minorOf(database)
	return &VersionError{Database: fmt.Sprintf("%d.%d", version[0], version[1]), Minor: minor}
}

// older compares minor versions.
func older(a, b string) bool {
	x, _ := minorOf(a)
	y, _ := minorOf(b)
	return x[0] < y[0] || x[0] == y[0] && x[1] < y[1]
}

// replaceMembers removes those that the cluster had and those that it had removed, and enters the new ones.
func replaceMembers(tx *bolt.Tx, c cluster) error {
	for _, name := range [][]byte{bucketMembers, bucketMembersRemoved} {
		if tx.Bucket(name) == nil {
			continue
		}
		if err := tx.DeleteBucket(name); err != nil {
			return fmt.Errorf("remove old members: %w", err)
		}
	}
	if _, err := tx.CreateBucket(bucketMembersRemoved); err != nil {
		return fmt.Errorf("remove old members: %w", err)
	}
	members, err := tx.CreateBucket(bucketMembers)
	if err != nil {
		return fmt.Errorf("enter members: %w", err)
	}
	for _, id := range c.MemberIDs() {
		member, err := json.Marshal(c.Member(id))
		if err != nil {
			return fmt.Errorf("enter member %s: %w", id, err)
		}
		if err := members.Put([]byte(id.String()), member); err != nil {
			return fmt.Errorf("enter member %s: %w", id, err)
		}
	}
	return nil
}

// setIndex says up to which entry of the new log the database has everything: etcd would skip
// the entries of the new log if the index of the old one were left.
func setIndex(tx *bolt.Tx, index, term uint64) error {
	meta := tx.Bucket(bucketMeta)
	return errors.Join(
		meta.Put(keyConsistentIndex, binary.BigEndian.AppendUint64(nil, index)),
		meta.Put(keyTerm, binary.BigEndian.AppendUint64(nil, term)),
	)
}

// bump writes an empty entry at the new revision, which then is the highest, and schedules a
// compaction there, which etcd does when it starts. This is what etcdutl does; the entry
// stays, under the key "", which no client can write or read.
func bump(tx *bolt.Tx, amount int64) error {
	if amount == 0 {
		return nil
	}
	found, err := readRevisions(tx)
	if err != nil {
		return err
	}
	if found.highest > math.MaxInt64/2-amount {
		return fmt.Errorf("bump revision %d by %d: too high", found.highest, amount)
	}
	name := revisionName(found.highest + amount)
	if err := tx.Bucket(bucketKey).Put(name, []byte{}); err != nil {
		return fmt.Errorf("bump revision: %w", err)
	}
	if err := tx.Bucket(bucketMeta).Put(keyScheduledCompact, name); err != nil {
		return fmt.Errorf("mark revision as compacted: %w", err)
	}
	return nil
}

func dropNoSpace(tx *bolt.Tx, drop bool) error {
	alarms, err := readAlarms(tx)
	if err != nil || !drop {
		return err
	}
	for _, alarm := range alarms {
		if alarm.Kind != etcdserverpb.AlarmType_NOSPACE.String() {
			continue
		}
		if err := tx.Bucket(bucketAlarm).Delete(alarm.name); err != nil {
			return fmt.Errorf("drop alarm: %w", err)
		}
	}
	return nil
}

// readAlarms reads the names of the entries, which have no values.
func readAlarms(tx *bolt.Tx) ([]Alarm, error) {
	bucket := tx.Bucket(bucketAlarm)
	if bucket == nil {
		return nil, nil
	}
	var alarms []Alarm
	err := bucket.ForEach(func(name, _ []byte) error {
		var alarm etcdserverpb.AlarmMember
		if err := proto.Unmarshal(name, &alarm); err != nil {
			return &DamagedError{Why: fmt.Sprintf("%x is no alarm", name)}
		}
		alarms = append(alarms, Alarm{alarm.GetMemberID(), alarm.GetAlarm().String(), append([]byte{}, name...)})
		return nil
	})
	return alarms, err
}

// disableAuth does what etcd writes for it.
func disableAuth(tx *bolt.Tx, wanted bool) error {
	auth := tx.Bucket(bucketAuth)
	if !wanted || auth == nil || auth.Get(keyAuthEnabled) == nil {
		return nil
	}
	if err := auth.Put(keyAuthEnabled, []byte{0}); err != nil {
		return fmt.Errorf("disable authentication: %w", err)
	}
	return nil
}
