// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import "fmt"

// ExistsError means that there is something in the place of the data directory, and that it
// was not made with these options. It was not touched.
type ExistsError struct {
	Path string
	// ClusterID and MemberID are what its log says; 0 if there is none that can be read.
	ClusterID, MemberID uint64
}

func (e *ExistsError) Error() string {
	if e.ClusterID == 0 {
		return fmt.Sprintf("%s exists, and has no log of etcd that can be read", e.Path)
	}
	return fmt.Sprintf("%s exists: it belongs to member %x of cluster %x", e.Path, e.MemberID, e.ClusterID)
}

// BusyError means that another process makes a data directory in the same folder.
type BusyError struct{ Folder string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("another process makes a data directory in %s", e.Folder)
}

// RoomError means that the volume is too small. Nothing was read from the stream.
type RoomError struct {
	Folder     string
	Need, Free int64 // bytes
}

func (e *RoomError) Error() string {
	return fmt.Sprintf("%s has %d bytes free, and needs %d", e.Folder, e.Free, e.Need)
}

// SizeError means that the stream did not have the size that was said. Of a longer one, Got
// is only as far as it was read.
type SizeError struct{ Want, Got int64 } // bytes

func (e *SizeError) Error() string {
	if e.Got > e.Want {
		return fmt.Sprintf("the stream has more than its %d bytes", e.Want)
	}
	return fmt.Sprintf("the stream ended after %d of %d bytes", e.Got, e.Want)
}

// HashError means that the database is not the one that was meant.
type HashError struct{ Want, Got [32]byte }

func (e *HashError) Error() string {
	return fmt.Sprintf("the database has sha256 %x, not %x", e.Got, e.Want)
}

// DamagedError means that a file is no database of etcd, or no longer.
type DamagedError struct{ Why string }

func (e *DamagedError) Error() string { return "no sound database of etcd: " + e.Why }

// VersionError means that the etcd that is to run is older than the database. etcd 3.6 and
// newer refuse such a database; etcd 3.5 starts on it without a warning, which is untested.
type VersionError struct {
	Database string // minor version of the database, such as 3.7
	Minor    string // minor version of the etcd that is to run
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("the database is of etcd %s, and etcd %s is older: run etcd %s or the next minor version",
		e.Database, e.Minor, e.Database)
}

// CorruptError means that etcd had raised the alarm CORRUPT when the snapshot was taken: the
// members' data differed, and it is not known which was right.
type CorruptError struct{ Members []uint64 } // for which it was raised

func (e *CorruptError) Error() string {
	return fmt.Sprintf("the database has the alarm CORRUPT, of members %x", e.Members)
}
