// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"errors"
	"io"

	"github.com/etcd-operator/etcd-operator/internal/backup/encryption"
)

// decrypt is the stream of which the parts were made. Identities are the text of a file that age-keygen makes.
func decrypt(parts io.Reader, how *Encryption, identities []byte) (io.Reader, error) {
	if how == nil {
		return parts, nil
	}
	decrypted, err := encryption.ParseIdentities(identities).Decrypt(parts, how.Recipients)
	if err != nil && !errors.Is(err, ErrWrongKey) {
		return nil, decoding(err)
	}
	return decrypted, err
}
