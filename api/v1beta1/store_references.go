// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import "cmp"

// CredentialsAndCA are the Secret with the keys of a store and what holds its authorities. Without the first the identity of the
// ServiceAccount is used. A volume has neither.
func (s EtcdBackupStoreSpec) CredentialsAndCA() (*SecretReference, *CASource) {
	switch {
	case s.S3 != nil:
		return s.S3.Credentials, s.S3.CA
	case s.GCS != nil:
		return s.GCS.Credentials, s.GCS.CA
	case s.Azure != nil:
		return s.Azure.Credentials, s.Azure.CA
	}
	return nil, nil
}

// KeyName is the key that holds the authorities.
func (c CASource) KeyName() string { return cmp.Or(c.Key, "ca.crt") }
