// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"fmt"
)

// leaveToOthers waits while an object is kept by a finalizer that is not ours.
func leaveToOthers(v View) Step {
	if !v.Deleting || v.HasFinalizer {
		return nil
	}
	return Done{}
}

func holdOrLetGo(v View) Step {
	switch {
	case v.Deleting || v.deletes() == v.HasFinalizer:
		return nil
	case v.deletes():
		return AddFinalizer{}
	default:
		return RemoveFinalizer{Because: "deletionPolicy is Retain"}
	}
}

func retain(v View) Step {
	switch {
	case !v.Deleting:
		return nil
	case !v.deletes():
		return RemoveFinalizer{Because: "deletionPolicy is Retain: what is stored stays"}
	case !v.isFound() && v.Status.Path == "" && (v.isSnapshot() && !v.isPutBack() || !v.isSnapshot() && v.upload() < 0):
		return RemoveFinalizer{Because: "the store is not known to have anything of it"}
	default:
		return nil
	}
}

func letGoWithoutStore(v View) Step {
	if !v.Deleting || v.Store.Exists || v.isSnapshot() {
		return nil
	}
	return RemoveFinalizer{
		Because: fmt.Sprintf("EtcdBackupStore %q does not exist any more; what is stored at %s stays", v.Store.Name, v.path()),
		Event:   "BackupOrphaned", Warns: true,
	}
}

func awaitLock(v View) Step {
	if !v.Deleting || v.Status.LockedUntil == nil || !v.Now.Before(v.Status.LockedUntil.Time) {
		return nil
	}
	until := v.Status.LockedUntil.Time
	return Wait{
		Task: Delete, Until: until,
		For: fmt.Sprintf("the store to allow deletion at %s; set deletionPolicy to Retain to delete only the object now", clock(until)),
	}
}

func deleteStored(v View) Step {
	if !v.Deleting {
		return nil
	}
	if v.isSnapshot() {
		return v.deleteSnapshot()
	}
	if wait := v.await(Delete, v.Now); wait != nil {
		return wait
	}
	return v.named(Delete)
}
