// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// phases are those of the status, by their names there.
var phases = map[v1beta1.TLSPhase]cluster.TLSPhase{
	v1beta1.TLSStable: cluster.OneScheme, v1beta1.TLSAdvertised: cluster.Advertised, v1beta1.TLSBoth: cluster.BothSchemes,
}

// tlsState is by which schemes members are found and serve.
func tlsState(c *v1beta1.EtcdCluster) cluster.TLSState {
	state := cluster.TLSState{Secure: c.IsSecure()}
	if s := c.Status.TLS; s != nil {
		state.Phase = phases[s.Phase]
		if s.SwitchedAt != nil {
			state.SwitchedAt = s.SwitchedAt.Unix()
		}
	}
	return state
}

// tlsChange is what a change of TLS depends on. Clients have the whole window by both clocks.
func tlsChange(s Snapshot) cluster.TLSChange {
	c := s.Cluster
	change := cluster.TLSChange{Wanted: c.WantsTLS(), At: s.Now.Unix()}
	if c.IsSecure() && !c.WantsTLS() && meta.IsStatusConditionTrue(c.Status.Conditions, v1beta1.ConditionAuthEnabled) {
		change.Held = "authentication to be disabled, before TLS is turned off: without TLS etcd does not know who a client is"
	}
	if t := c.Status.TLS; t != nil && t.SwitchedAt != nil {
		if end := t.SwitchedAt.Add(c.Spec.TLS.Window()); s.come().Before(end) {
			change.Window = end.UTC().Format(time.RFC3339)
		}
	}
	return change
}

// unmounted forgets what certificates say of members that have none: nothing is lost, ends or is rotated. Where TLS is to be turned on,
// certificates that do not serve, and cannot be made, hold that back.
func (j *builder) unmounted(held certs.KeyMaterial) {
	v, c, mounted := &j.v, j.c, specs.MemberSecret(j.c)
	if c.MountsCertificates() {
		return
	}
	switch err := held.Fault(c, mounted, j.later()); {
	case !c.WantsTLS():
	case v.Certificates.Lacking:
		v.TLS.Held = "certificates, before TLS is turned on: " + v.Certificates.Fault
	case err != nil && !held.CanMake(c, mounted, j.later()):
		v.TLS.Held = fmt.Sprintf("certificates, before TLS is turned on: Secret %s: %s; it is from before TLS was turned off: delete it, "+
			"and Secrets %s and %s, to have others made", mounted, err, c.ClientCA(), c.PeerCA())
	}
	v.Lost, v.Ending, v.Rotation, v.Certificates.Lacking = nil, nil, cluster.Rotation{}, false
	v.Certificates.Begin, v.Certificates.End = 0, 0
}

// schemes are those of the URLs, sorted.
func schemes(urls []string) []string {
	var all []string
	for _, url := range urls {
		scheme, _, _ := strings.Cut(url, "://")
		all = append(all, scheme)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
