// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package adopting

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// What a member takes to join and a source to leave, and how fast its data comes: by docs/benchmarks.md, on a disk of that test.
const (
	perMember = 12 * time.Second
	perSource = 8 * time.Second
	perSecond = 100 << 20 // bytes
)

// Text is what a person reads before anything is changed.
func Text(c *v1beta1.EtcdCluster, s Source, v Verdict, unread string) string {
	var b strings.Builder
	line := func(format string, values ...any) { _, _ = fmt.Fprintf(&b, format+"\n", values...) }
	line("SOURCE\n  %s is %s", s.Name, s.Layout.Name)
	members(line, s, v)
	line("\nBLOCKERS")
	switch {
	case unread != "":
		line("  not known: %s. The operator says in the condition Adopted whether it can be adopted, before it changes anything", unread)
	case v.Unreachable != "":
		line("  %s", v.Unreachable)
	case v.Unfit != "":
		line("  %s", v.Unfit)
	default:
		line("  none is seen")
	}
	agree(line, c, v)
	steps(line, c, s)
	if c.IsSecure() {
		line("\nNAMES IN CERTIFICATES\n  of members that join: %s", strings.Join(certs.AdoptedHosts(c), ", "))
	}
	if unread == "" && v.Unreachable == "" {
		line("\nTIME\n  about %s", expected(c, v))
	}
	return b.String()
}

func members(line func(string, ...any), s Source, v Verdict) {
	if len(v.Sources) == 0 {
		for _, pod := range s.Pods {
			line("  %s, %s", pod.Name, strings.ToLower(string(pod.Status.Phase)))
		}
		return
	}
	byName := func(a, b cluster.UnknownMember) int { return strings.Compare(a.Name, b.Name) }
	for _, m := range slices.SortedFunc(slices.Values(v.Sources), byName) {
		is := "does not serve reads"
		switch {
		case m.Leader && m.Healthy:
			is = "leads"
		case m.Healthy:
			is = "follows"
		}
		line("  %s: etcd %s, %s of data, %s, %s", cmp.Or(m.Name, m.PeerURL), cmp.Or(m.Version, "of an unknown version"),
			v1beta1.SizeOf(m.DBSize), is, m.PeerURL)
	}
}

func agree(line func(string, ...any), c *v1beta1.EtcdCluster, v Verdict) {
	all := Agreeing(c)
	if len(all) == 0 {
		return
	}
	named := c.DeepCopy()
	named.UID = "UID"
	line("\nHAVE TO AGREE\n  when EtcdCluster %s is created, with its UID:\n  %s", c.Name,
		named.ConsentCommand("-n "+c.Namespace+" "+strings.Join(all, " "), v.URLs...))
}

func steps(line func(string, ...any), c *v1beta1.EtcdCluster, s Source) {
	adopt := c.Spec.Bootstrap.Adopt
	if adopt.Keeps() {
		line("\nPLAN\n  1. StatefulSet %s is scaled down by one, and a member of EtcdCluster %s starts on that volume, until none is left: each "+
			"is down for as long as that takes\n  2. before the last one clients follow: %s\n  data is not copied; an annotation undoes it "+
			"until the first volume was taken over", adopt.StatefulSet, c.Name, clients(s))
		return
	}
	line("\nPLAN\n  1. %d members of EtcdCluster %s join one at a time; nothing else is changed, and an annotation undoes it",
		c.Size(), c.Name)
	line("  2. clients follow: %s", clients(s))
	line("  3. leadership moves to a member of the EtcdCluster")
	if adopt.StatefulSet != "" {
		line("  4. StatefulSet %s is scaled down by one, and that member is removed, until none is left", adopt.StatefulSet)
	} else {
		line("  4. the members that were there are removed one at a time, and their etcd ends")
	}
	line("  volumes of the members that were there are kept")
	if s.Layout.Note != "" {
		line("  meanwhile: %s", s.Layout.Note)
	}
}

func clients(s Source) string {
	var own, headless []string
	for _, service := range s.Services {
		own = append(own, service.Name)
	}
	for _, service := range s.Headless {
		headless = append(headless, service.Name)
	}
	text := "no Service is known: give them the endpoints of the EtcdCluster"
	if len(own) > 0 {
		text = "Service " + strings.Join(own, ", ") + " selects members of the EtcdCluster"
	}
	if len(headless) > 0 {
		text += "; clients that use the headless Service " + strings.Join(headless, ", ") +
			" need the endpoints of the EtcdCluster, because its members find each other by it"
	}
	return text
}

// expected is how long it takes, by what members have of data.
func expected(c *v1beta1.EtcdCluster, v Verdict) time.Duration {
	var most int64
	for _, m := range v.Sources {
		most = max(most, m.DBSize)
	}
	copies := time.Duration(c.Size()) * time.Duration(most) * time.Second / perSecond
	if c.Spec.Bootstrap.Adopt.Keeps() {
		return time.Duration(c.Size()) * perMember
	}
	all := time.Duration(c.Size())*perMember + time.Duration(len(v.Sources))*perSource + copies
	return all.Round(10 * time.Second)
}
