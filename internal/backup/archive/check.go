// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"encoding/hex"
	"fmt"
)

// check refuses a manifest that lies, although its sha256 is right.
func (m Manifest) check(folder Folder) error {
	if err := m.Folder().check(); err != nil {
		return err
	}
	if m.Folder() != folder {
		return fmt.Errorf("%s is the manifest of %s: %w", folder.Manifest(), m.Folder(), ErrForeign)
	}
	problem := m.problem()
	if problem == "" {
		problem = m.partsProblem()
	}
	if problem != "" {
		return corrupt(folder.Manifest(), "%s", problem)
	}
	return nil
}

// largestDatabase in bytes is far more than etcd serves. Volumes and limits of memory are made as large as a manifest says, and anyone
// who may write to a store can write manifests.
const largestDatabase = 128 << 30

// problem is what cannot be so, in words.
func (m Manifest) problem() string {
	switch {
	case m.Format != m.format() || m.Recoveries < 0:
		return fmt.Sprintf("there is no format %d", m.Format)
	case m.Compression != zstdCompression:
		return fmt.Sprintf("compression %q is not known", m.Compression)
	case m.Encryption != nil && m.Encryption.Format != ageEncryption:
		return fmt.Sprintf("encryption %q is not known", m.Encryption.Format)
	case m.Database.Size <= 0 || m.Database.Size > largestDatabase || m.Database.Size%hashAlignment != 0:
		return fmt.Sprintf("no database has %d bytes", m.Database.Size)
	case !isSHA256(m.Database.SHA256):
		return "it has no sha256 of the database"
	case m.Upload != "" && !isName(m.Upload):
		return fmt.Sprintf("no upload is named %q", m.Upload)
	case m.Revision < 1 || m.CompactRevision < 0 || m.CompactRevision > m.Revision:
		return fmt.Sprintf("no database has revision %d compacted up to %d", m.Revision, m.CompactRevision)
	}
	return ""
}

// partsProblem is that of the parts: they have the names and sizes that Write gives them.
func (m Manifest) partsProblem() string {
	if len(m.Parts) == 0 {
		return "it names no part"
	}
	var stored int64
	for i, part := range m.Parts {
		switch {
		case part.Name != m.PartName(i):
			return fmt.Sprintf("part %d is named %q", i, part.Name)
		case part.Size <= 0 || part.Size > MaxPartSize:
			return fmt.Sprintf("no part has %d bytes", part.Size)
		case i < len(m.Parts)-1 && part.Size != m.Parts[0].Size, part.Size > m.Parts[0].Size:
			return fmt.Sprintf("part %d has another size than the first one", i)
		case !isSHA256(part.SHA256):
			return fmt.Sprintf("part %d has no sha256", i)
		}
		stored += part.Size
	}
	if stored != m.StoredBytes {
		return fmt.Sprintf("its parts have %d bytes, but it says %d", stored, m.StoredBytes)
	}
	return ""
}

func isSHA256(text string) bool {
	sum, err := hex.DecodeString(text)
	return err == nil && len(sum) == hashSize
}
