// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// compared is the last comparison of members' data. Revised adds when it was. One that finds the same difference again is no news.
func compared(last *v1beta1.HashCheck, c cluster.Comparison) *v1beta1.HashCheck {
	if !c.IsMade() {
		return last
	}
	check := &v1beta1.HashCheck{Revision: c.Revision, Verdict: v1beta1.HashesEqual, Members: c.Members, Request: c.Request}
	if last != nil {
		check.EqualTime = last.EqualTime
	}
	if c.Speed > 0 {
		check.Speed = resource.NewQuantity(c.Speed, resource.BinarySI)
	}
	switch {
	case c.Differ:
		check.Verdict, check.Message = v1beta1.HashesDifferent, shortened(c.Message)
	case c.Unknown != "":
		check.Verdict, check.Message, check.Failures = v1beta1.HashesUnknown, shortened(c.Unknown), 1
		if last != nil {
			check.Failures += last.Failures
		}
	}
	if c.Differ && last != nil && last.Verdict == check.Verdict && slices.Equal(last.Members, check.Members) && last.Request == check.Request {
		return last
	}
	return check
}

// differing names members whose data is not that of a majority. While etcd has raised its alarm, that is said with it.
func differing(v cluster.View) string {
	odd := v.Select(cluster.IsListed, cluster.HasHashMismatch)
	if len(odd) == 0 || len(v.Raised(cluster.Corrupt)) > 0 {
		return ""
	}
	return strings.Join(cluster.Names(odd), ", ") + ": its data is not that of a majority of the voters, by their hashes at one revision; " +
		"the member is replaced as soon as the others hold a quorum"
}
