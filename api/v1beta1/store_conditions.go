// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Reasons of ConditionReady of an EtcdBackupStore: True.
const (
	// ReasonUsable: the last look found that the store can be listed, written and read, and that it deletes.
	ReasonUsable = "Usable"
	// ReasonAppendOnly: the store can be listed, written and read, and deletes nothing for these keys; the message quotes it.
	// Backups can be made and restored. What is to be deleted stays until another client deletes it.
	ReasonAppendOnly = "AppendOnly"
)

// Reasons of ConditionReady of an EtcdBackupStore: Unknown.
const (
	// ReasonFirstCheck: the store is looked at for the first time since its spec changed.
	ReasonFirstCheck = "FirstCheck"
)

// Reasons of ConditionReady of an EtcdBackupStore: False, because of something in Kubernetes.
const (
	// ReasonSecretMissing: a Secret that the spec names does not exist.
	ReasonSecretMissing = "SecretMissing"
	// ReasonConfigMapMissing: the ConfigMap that the spec names does not exist.
	ReasonConfigMapMissing = "ConfigMapMissing"
	// ReasonKeyMissing: a Secret or ConfigMap that the spec names lacks a key, or the key is empty.
	ReasonKeyMissing = "KeyMissing"
	// ReasonClaimMissing: the PersistentVolumeClaim that the spec names does not exist.
	ReasonClaimMissing = "ClaimMissing"
	// ReasonAccountMissing: the ServiceAccount that the spec names does not exist.
	ReasonAccountMissing = "AccountMissing"
	// ReasonNoImage: the operator does not know its own image, which Jobs run.
	ReasonNoImage = "NoImage"
	// ReasonCheckBlocked: the Job that looks at the store does not run; the message quotes Kubernetes.
	ReasonCheckBlocked = "CheckBlocked"
	// ReasonCheckFailed: that Job ended without saying what is wrong with the store.
	ReasonCheckFailed = "CheckFailed"
)

// Reasons of ConditionReady of an EtcdBackupStore: False, because of what the store answers, which the message quotes.
const (
	// ReasonStoreUnreachable: there is no connection, or it breaks.
	ReasonStoreUnreachable = "Unreachable"
	// ReasonStoreUntrusted: the certificate of the endpoint is not trusted.
	ReasonStoreUntrusted = "Untrusted"
	// ReasonStoreForbidden: the keys are wrong or expired, or lack a right; or the volume is read-only.
	ReasonStoreForbidden = "Forbidden"
	// ReasonStoreNoBucket: the bucket, container or folder does not exist.
	ReasonStoreNoBucket = "NoBucket"
	// ReasonStoreWrongRegion: the bucket is in another region.
	ReasonStoreWrongRegion = "WrongRegion"
	// ReasonStoreClockSkew: the clocks of store and node differ too much.
	ReasonStoreClockSkew = "ClockSkew"
	// ReasonStoreFull: there is no room, or a quota is reached.
	ReasonStoreFull = "Full"
	// ReasonStoreLocked: a lock refuses what must be possible.
	ReasonStoreLocked = "Locked"
	// ReasonStoreSlow: the store is slower than 128 KiB a second.
	ReasonStoreSlow = "Slow"
	// ReasonStoreBusy: the store asks for fewer requests, or failed by itself.
	ReasonStoreBusy = "Busy"
	// ReasonStoreUnsupported: the store lacks something that is needed, such as conditional writes.
	ReasonStoreUnsupported = "Unsupported"
	// ReasonStoreInvalid: the spec, or a key, makes no sense.
	ReasonStoreInvalid = "Invalid"
	// ReasonStoreInterfered: something else writes, changes or deletes objects below the prefix.
	ReasonStoreInterfered = "Interfered"
	// ReasonStoreUnknown: the store says something that the operator does not know.
	ReasonStoreUnknown = "Unknown"
)
