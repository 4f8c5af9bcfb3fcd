// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"fmt"
	"regexp"
	"strings"
)

const (
	root         = "v1/" // of Format 1
	manifestName = "manifest.json"
	partSuffix   = ".part"
)

// Folder is where the objects of one backup lie.
type Folder struct {
	Namespace, Cluster string
	ID                 string // that no other backup ever has: the UID of the EtcdBackup
}

// String is the name of the folder: v1/<namespace>/<cluster>/<ID>.
func (f Folder) String() string { return root + f.Namespace + "/" + f.Cluster + "/" + f.ID }

// Manifest is the name of the object that makes a backup of the folder.
func (f Folder) Manifest() string { return f.String() + "/" + manifestName }

// Object is the whole name of an object in the folder.
func (f Folder) Object(name string) string { return f.String() + "/" + name }

// PartName is the name of a part of a backup whose manifest names no upload. Parts count from 0.
func PartName(number int) string { return fmt.Sprintf("%06d%s", number, partSuffix) }

// ourPart is the name of a part, of any upload.
var ourPart = regexp.MustCompile(`^([a-z0-9]([a-z0-9.-]*[a-z0-9])?\.)?[0-9]{6,}\.part$`)

// IsPart says whether an object of a folder has a name that only parts have. What has another name is foreign, and is never
// deleted.
func IsPart(name string) bool { return ourPart.MatchString(name) }

// ParseName splits the whole name of an object of this format into its folder and its name there.
func ParseName(name string) (Folder, string, bool) {
	rest, ours := strings.CutPrefix(name, root)
	parts := strings.Split(rest, "/")
	if !ours || len(parts) != 4 || parts[3] == "" {
		return Folder{}, "", false
	}
	f := Folder{Namespace: parts[0], Cluster: parts[1], ID: parts[2]}
	return f, parts[3], f.check() == nil
}

// check refuses what could lie outside of the folder, or collide with another one.
func (f Folder) check() error {
	for _, part := range []string{f.Namespace, f.Cluster, f.ID} {
		if !isName(part) {
			return fmt.Errorf("%q is not the name of a folder: %w", part, ErrForeign)
		}
	}
	return nil
}

// isName is what Kubernetes allows in a name: of a-z, 0-9, '-' and '.', with a letter or number at both ends.
func isName(s string) bool {
	if s == "" || strings.Trim(s[:1]+s[len(s)-1:], "-.") != s[:1]+s[len(s)-1:] {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-.") == ""
}
