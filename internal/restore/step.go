// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Step is the one next thing to do for an EtcdRestore. The set is closed.
//
//sumtype:decl
type Step interface {
	fmt.Stringer
	step()
}

type (
	// Record writes the status, and reports it in an event.
	Record struct {
		Status v1beta1.EtcdRestoreStatus
		Event  string
		What   string
	}
	// BackUp creates the safety backup.
	BackUp struct {
		Name, Store string
		Recipients  []string // of age; none: as the cluster says
		// Snapshot has a VolumeSnapshot taken instead, as what is restored is one, and no store is known; nil: a store gets it.
		Snapshot *v1beta1.VolumeSnapshotBackup
		Preview  string // the preview that was confirmed, by the time at which it was made
	}
	// Rescue creates backups of the volumes of old members, each named after that.
	Rescue struct {
		Volumes    map[string]string // by the name of the EtcdBackup
		Store      string
		Recipients []string // of age; none: as the cluster says
	}
	// Begin writes what is restored, or that it is undone, into the status of the EtcdCluster, if that has not changed since it was
	// read. New members are numbered from NextSerial on.
	Begin struct {
		Plan       v1beta1.RestoreStatus
		NextSerial int64
		What       string
	}
	// Wait changes nothing but what the status says.
	Wait struct {
		Status v1beta1.EtcdRestoreStatus
		Until  time.Time // zero: a watch reports it
	}
	// Done means that there is nothing to do.
	Done struct{}
)

func (Record) step() {}
func (BackUp) step() {}
func (Rescue) step() {}
func (Begin) step()  {}
func (Wait) step()   {}
func (Done) step()   {}

func (s Record) String() string { return s.What }
func (s BackUp) String() string {
	what := "create EtcdBackup " + s.Name + " in store " + s.Store
	if len(s.Recipients) > 0 {
		what += ", encrypted for those of the backup that is restored"
	}
	return what
}

func (s Rescue) String() string {
	what := fmt.Sprintf("create EtcdBackups %s of volumes of the old members in store %s",
		strings.Join(slices.Sorted(maps.Keys(s.Volumes)), ", "), s.Store)
	if len(s.Recipients) > 0 {
		what += ", encrypted for those of the backup that was restored"
	}
	return what
}

func (s Begin) String() string { return s.What }
func (s Wait) String() string  { return fmt.Sprintf("%s: %s", s.Status.Phase, s.Status.Message) }
func (s Done) String() string  { return "done" }
