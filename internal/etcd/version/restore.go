// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package version

import "fmt"

// Restorable says why a cluster of the full version wanted cannot begin with the data of a backup that a member of the
// full version wrote has sent, and what to do; empty if it can. No etcd is given data of a newer minor version: 3.6
// refuses that of 3.7, and 3.5 begins with either without a word (docs/adr/0029-restores-make-volumes.md).
// with is the phrase in which the message asks for another version of the cluster.
func Restorable(wrote, wanted, with string) string {
	from, unreadable := Parse(wrote)
	if unreadable != nil {
		return fmt.Sprintf("its data is of etcd %q, which is no release, so that it is not known which etcd reads it", wrote)
	}
	to, err := Parse(wanted)
	_, isKnown := find(to.Minor())
	_, isReadable := find(from.Minor())
	switch {
	case err != nil || !isKnown:
		return fmt.Sprintf("spec.version %q is not known to this operator: %s a version of etcd %s", wanted, with, minors())
	case !isReadable:
		return fmt.Sprintf("its data is of etcd %s, and this operator knows etcd %s only", from.Minor(), minors())
	case to.Minor() != from.Minor() && to.Compare(from) < 0:
		return fmt.Sprintf("its data is of etcd %s, which etcd %s does not read: %s spec.version %s, and lower it once it is available",
			from.Minor(), to.Minor(), with, from.Minor())
	}
	return ""
}

// Begin is what members begin with that are given such data: the minor version that wrote it, from where the way to the
// wanted version is that of any update. It is the wanted version itself if only the patch is another one, else the newest
// patch that the operator knows, or an even newer one that wrote the data.
func Begin(wrote, wanted string) string {
	minor := MinorOf(wrote)
	if minor == MinorOf(wanted) {
		return wanted
	}
	return Highest([]string{wrote, Full(minor)})
}
