// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

// IsAuthority says whether the certificate of a pair may sign others.
func IsAuthority(pair Pair) bool {
	certificate, err := pair.TLSCertificate()
	return err == nil && certificate.Leaf != nil && certificate.Leaf.IsCA
}
