package jobs

import (
	"time"

	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// lockModes are the words of S3.
var lockModes = map[v1alpha1.S3LockMode]string{v1alpha1.LockGovernance: "GOVERNANCE", v1alpha1.LockCompliance: "COMPLIANCE"}

// Store is where a store is, as an order says it. What is written is locked from when the backup was begun.
func Store(spec v1alpha1.EtcdBackupStoreSpec, started time.Time) jobspec.Store {
	keys, ca := sources(spec)
	where := jobspec.Store{Keys: keys != nil}
	if ca != nil {
		where.CA = caKey(*ca)
	}
	switch {
	case spec.S3 != nil:
		where.S3 = s3(*spec.S3, started)
	case spec.GCS != nil:
		where.GCS = &jobspec.GCS{Bucket: spec.GCS.Bucket, Prefix: spec.GCS.Prefix, Endpoint: spec.GCS.Endpoint}
	case spec.Azure != nil:
		a := spec.Azure
		where.Azure = &jobspec.Azure{Container: a.Container, Prefix: a.Prefix, Account: a.Account, Endpoint: a.Endpoint}
	case spec.Volume != nil:
		where.Volume = &jobspec.Volume{Path: spec.Volume.Path}
	}
	return where
}

func s3(spec v1alpha1.S3Store, started time.Time) *jobspec.S3 {
	s := &jobspec.S3{
		Bucket: spec.Bucket, Prefix: spec.Prefix, Endpoint: spec.Endpoint, Region: spec.Region, PathStyle: spec.PathStyle,
	}
	if e := spec.Encryption; e != nil {
		s.AES256, s.KMS, s.KMSKey = e.Mode == v1alpha1.EncryptionSSE, e.Mode == v1alpha1.EncryptionKMS, e.Key
	}
	if spec.Lock != nil && !started.IsZero() {
		s.LockMode, s.LockUntil = lockModes[spec.Lock.Mode], ptr.To(started.UTC().AddDate(0, 0, int(spec.Lock.Days)))
	}
	return s
}

// sources are the Secret with the keys and the authorities that a store names.
func sources(spec v1alpha1.EtcdBackupStoreSpec) (*v1alpha1.SecretReference, *v1alpha1.CASource) {
	switch {
	case spec.S3 != nil:
		return spec.S3.Credentials, spec.S3.CA
	case spec.GCS != nil:
		return spec.GCS.Credentials, spec.GCS.CA
	case spec.Azure != nil:
		return spec.Azure.Credentials, spec.Azure.CA
	}
	return nil, nil
}

func caKey(ca v1alpha1.CASource) string {
	if ca.Key == "" {
		return "ca.crt"
	}
	return ca.Key
}
