// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restoring

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// prefixWords is the preview of a restore of a prefix in words.
func prefixWords(r *v1beta1.EtcdRestore, now time.Time) string {
	p := r.Status.Preview
	c := p.Changes
	var out strings.Builder
	fmt.Fprintf(&out, "Keys of EtcdCluster %s below %q would become as backup %s has them:\n", r.Spec.Cluster, r.Spec.Prefix, p.Backup)
	fmt.Fprintf(&out, "  revision   %d%s\n", p.Revision, replayed(p.Log))
	if p.Time != nil {
		fmt.Fprintf(&out, "  time       %s, %s ago\n", clock(p.Time), duration.HumanDuration(now.Sub(p.Time.Time)))
	}
	fmt.Fprintf(&out, "  compared   with the keys of revision %d\n", c.Revision)
	fmt.Fprintf(&out, "  create     %d\n  update     %d\n  delete     %d\n", c.Created, c.Updated, c.Deleted)
	if c.Unchanged != nil {
		fmt.Fprintf(&out, "  unchanged  %d\n", *c.Unchanged)
	}
	if c.Leased > 0 {
		fmt.Fprintf(&out, "  leased     %d had a lease: they get none, and stay until they are deleted\n", c.Leased)
	}
	for _, example := range c.Examples {
		fmt.Fprintf(&out, "    %s\n", example)
	}
	if more := c.Created + c.Updated + c.Deleted - int64(len(c.Examples)); more > 0 {
		fmt.Fprintf(&out, "    and %d more\n", more)
	}
	safety := fmt.Sprintf("A backup of the data as it is now is taken first: with it 'kubectl etcd undo %s -n %s' takes the changes back.",
		r.Spec.Cluster, r.Namespace)
	if r.Spec.SkipSafetyBackup {
		safety = "No backup of the data as it is now is taken: the changes cannot be undone."
	}
	fmt.Fprintf(&out, "%s\nMembers go on to serve, and clients that watch see the changes. What others change from now on stays as it is "+
		"then.\n", safety)
	return out.String()
}

// prefixResult says what there is after a restore of a prefix, or its undo.
func prefixResult(r *v1beta1.EtcdRestore) string {
	text := fmt.Sprintf("below %q of EtcdCluster %s: %s", r.Spec.Prefix, r.Spec.Cluster, r.Status.Message)
	if !r.Spec.Undo && r.Status.SafetyBackup != "" {
		text += fmt.Sprintf("; 'kubectl etcd undo %s -n %s' takes that back", r.Spec.Cluster, r.Namespace)
	}
	return text
}
