// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stores

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// longestName is that of an EtcdBackup: it is the value of a label.
const longestName = validation.LabelValueMaxLength

// nameOf is the name that the backup had, if no other has it, and else one with a hash of its path. A backup that an operator made
// has the hash always: by its plain name the operator of another cluster would take it for its own.
func nameOf(f jobspec.Found, taken map[string]bool) string {
	name := f.Backup.Name
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		name = clean(f.Path[strings.LastIndex(f.Path, "/")+1:])
	}
	if f.Backup.Reason == "" && len(name) <= longestName && !taken[name] {
		return name
	}
	sum := sha256.Sum256([]byte(f.Path))
	hash := hex.EncodeToString(sum[:])
	hashed := ""
	for _, length := range []int{8, 16, 32} {
		hashed = strings.TrimRight(name[:min(len(name), longestName-1-length)], "-.") + "-" + hash[:length]
		if !taken[hashed] {
			break
		}
	}
	return hashed
}

// clean makes a name of Kubernetes of the name of an object.
func clean(name string) string {
	cleaned := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	return strings.Trim("found-"+cleaned, "-")
}
