// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package log

import (
	"fmt"

	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

// leastVersions are the first releases whose watches tell everything, by minor version. Minor versions after these do from the
// beginning. Before 3.5.18 a watch that begins at a compacted revision misses the deletions of that revision (etcd-io/etcd#19179). Before
// 3.6.2 a watch of a revision that is not written yet gets old events (etcd-io/etcd#20221), as before 3.5.22, which is noticed by
// counting; 3.6.0 and 3.6.1 are refused for it because newer patches are there.
var leastVersions = map[string]struct{ least, because string }{
	"3.5": {"3.5.18", "before, a watch misses deletions at a compacted revision"},
	"3.6": {"3.6.2", "before, a watch may tell old events as new ones"},
}

// CheckVersion refuses a release of etcd whose watches may leave something out, and says why.
func CheckVersion(release string) error {
	v, err := version.Parse(release)
	if err != nil {
		return &VersionError{Version: release, Because: "it is no release whose watches are known to tell everything"}
	}
	if version.Order(release, "3.5.0") < 0 {
		return &VersionError{Version: release, Least: "3.5.18", Because: "before, a watch misses deletions at a compacted revision"}
	}
	rule, limited := leastVersions[v.Minor()]
	if !limited || version.Order(release, rule.least) >= 0 {
		return nil
	}
	return &VersionError{Version: release, Least: rule.least, Because: rule.because}
}

// VersionError means that a log of this etcd could have holes that are not seen.
type VersionError struct {
	Version string
	Least   string // the release of the same minor version to upgrade to; empty if there is none
	Because string
}

func (e *VersionError) Error() string {
	if e.Least == "" {
		return fmt.Sprintf("etcd %s cannot be logged: %s", e.Version, e.Because)
	}
	return fmt.Sprintf("etcd %s cannot be logged: %s; upgrade to %s", e.Version, e.Because, e.Least)
}
