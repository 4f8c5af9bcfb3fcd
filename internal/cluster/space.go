// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

// Space is what the spec says of the room in databases and on volumes, and what is known of it for all members.
type Space struct {
	Defragments  bool   // members are defragmented by the rules of the spec, not only where a person asks for it
	InWindow     bool   // by those rules they may be now
	BackingUp    string // EtcdBackup of the cluster that is being written; empty if none is
	LeastFree    int64  // bytes of a database that are free before it is defragmented
	FreePercent  int64  // of a database, that are free before it is
	QuotaPercent int64  // of its quota, from which on a database is defragmented for less

	Volume     int64 // bytes that each volume is to have
	Given      int64 // bytes that each volume has at least; 0 if that is not known
	GivenLog   int64 // of those, that etcd's log may take
	MaxVolume  int64 // bytes up to which volumes grow by themselves; 0 if they do not
	QuotaGrows bool  // the quota follows the size of volumes: the user has not set it, and it is not the largest yet
}

// Room is what a member's volume, or its emptyDir, has room for, in bytes.
type Room struct {
	Volume int64 // its size; 0 if that is not known
	Files  int64 // of that for files: the file system takes the rest
	Log    int64 // of that for etcd's log
	Copied int64 // of a database that has room for a copy of itself beside the log
}

// Defragmented is the last defragmentation of a member; it is empty if there was none.
type Defragmented struct {
	At      int64 // when, in seconds since 1970
	Failed  bool
	Request string // what the annotation had that asks for one
}

// IsFull says whether the member's database has come so near to its quota that NOSPACE must not be disarmed: the next writes would raise
// it again.
func IsFull(m Member) bool { return m.Pod.Quota > 0 && m.DBSize >= m.Pod.Quota/10*9 }

// HasQuotaBelowDBSize says whether the quota of the spec is less than the member's database, and than the quota that the member has.
func HasQuotaBelowDBSize(m Member) bool { return m.Pod.QuotaBelowDBSize }

// IsNearQuota says whether the member's database is so large that it may reach its quota before long, by the share at which members are
// defragmented by default.
func IsNearQuota(m Member) bool { return m.Pod.Quota > 0 && m.DBSize >= m.Pod.Quota/4*3 }

// HasLittleRoom says whether so little is left of the member's quota, in bytes, that applications fill it in the half minute that may be
// between two looks, at 8 MiB a second. Of a small quota that may be all of it.
func HasLittleRoom(m Member) bool { return m.Pod.Quota > 0 && m.Pod.Quota-m.DBSize < 256<<20 }
