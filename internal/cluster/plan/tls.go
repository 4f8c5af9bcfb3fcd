// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// updatePeerURLs comes before members join: one that joins must name all others by the URLs by which etcd lists them. No voter is away
// then, and no learner has yet to start.
func updatePeerURLs(v cluster.View) Step {
	for _, m := range v.Select(cluster.IsListed, hasOldPeerURLs) {
		return UpdatePeerURLs{Name: m.Name}
	}
	return nil
}

func hasOldPeerURLs(m cluster.Member) bool { return m.OldPeerURLs }

// switchTLS takes the next pass when all members run by the one before. Only then do members that have restarted for the next one find
// those that have not.
func switchTLS(v cluster.View) Step {
	now, next := v.Record.TLS, v.Record.TLS.Toward(v.TLS.Wanted, v.TLS.At)
	begins := now.Phase == cluster.OneScheme
	switch {
	case next == now:
		return nil
	case begins && isRotating(v): // what that waits for is said by its rule
		return nil
	case begins && v.TLS.Held != "":
		return Wait{For: v.TLS.Held}
	case now.Phase == cluster.BothSchemes && next.Secure == now.Secure && v.TLS.Window != "":
		return Wait{For: "clients to use " + scheme(now.Secure) + ": members serve " + scheme(!now.Secure) + " too until " + v.TLS.Window}
	}
	for _, m := range v.Select(cluster.IsListed, cluster.IsOutdated) {
		return Wait{For: m.Name + " to restart before TLS is turned " + onOrOff(v.TLS.Wanted)}
	}
	return RecordTLS(v, next)
}

// isRotating says whether authorities are being rotated, or certificates revoked: both are seen on ports that serve TLS.
func isRotating(v cluster.View) bool {
	return v.Revocation.Await != "" ||
		slices.ContainsFunc(v.Rotation.Authorities, func(a cluster.Authority) bool { return a.Phase != cluster.Stable })
}

// turnBack gives up a change as soon as that is wanted, also if a member does not start for it. Those that have restarted
// find those that have not, and clients were not sent anywhere.
func turnBack(v cluster.View) Step {
	known := v.Unread == "" && v.Count(cluster.IsListed, hasOldPeerURLs) == 0
	if !v.Formed() || !v.Record.TLS.IsBegun() || v.TLS.Wanted != v.Record.TLS.Secure || !known {
		return nil
	}
	return RecordTLS(v, v.Record.TLS.Toward(v.TLS.Wanted, v.TLS.At))
}

// RecordTLS writes into the status by which schemes members are found and serve from now on: they restart for it where that differs.
func RecordTLS(v cluster.View, next cluster.TLSState) Step {
	fact, was := v.Record, v.Record.TLS
	fact.TLS = next
	what, event := "", ""
	switch turn := "TLS is turned " + onOrOff(v.TLS.Wanted) + ": "; {
	case next.Secure != was.Secure:
		what, event = turn+"clients are sent to "+scheme(next.Secure)+", and members serve "+scheme(was.Secure)+", too", "TLSSwitched"
	case next.Phase == cluster.BothSchemes:
		what, event = turn+"members restart, one at a time, to serve both http and https", "TLSServingBoth"
	case next.Phase == cluster.OneScheme:
		what, event = "members are found by "+scheme(next.Secure)+" alone, and serve it alone", "TLSChanged"
	case was.Phase == cluster.BothSchemes:
		what, event = turn+"members restart, one at a time, to serve "+scheme(next.Secure)+" alone", "TLSWindowEnded"
	default:
		what, event = turn+"etcd is to list each member by both http and https", "TLSChanging"
	}
	return Record{Fact: fact, What: what, Event: event}
}

func scheme(secure bool) string { return choose(secure, "https", "http") }

func onOrOff(on bool) string { return choose(on, "on", "off") }
