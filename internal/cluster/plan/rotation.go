// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// rotate takes the next pass of the rotation of authorities, when every member runs well with those that are trusted now.
func rotate(v cluster.View) Step {
	turns := slices.DeleteFunc(slices.Clone(v.Rotation.Turns), func(o cluster.Object) bool {
		return o.RotationStep.Stage == cluster.Renew || o.Denied.Stands()
	})
	switch {
	case len(turns) > 0:
		return Apply{turns}
	case v.Rotation.Await != "":
		return Wait{For: v.Rotation.Await}
	default:
		return nil
	}
}

// revoke waits for what is to be seen before a certificate counts as revoked. If members are to restart for it, the facts say
// that they are outdated.
func revoke(v cluster.View) Step {
	if v.Revocation.Await == "" {
		return nil
	}
	return Wait{For: v.Revocation.Await}
}

// introduceBoth finishes an introduction if only one authority has been written, before members mount that one: they
// would restart once for each.
func introduceBoth(v cluster.View) Step {
	turns := slices.DeleteFunc(slices.Clone(v.Rotation.Turns), func(o cluster.Object) bool {
		return o.RotationStep.Stage != cluster.Introduce || o.Denied.Stands()
	})
	isIntroduced := func(a cluster.Authority) bool { return a.Phase == cluster.Introduced }
	if len(turns) == 0 || !slices.ContainsFunc(v.Rotation.Authorities, isIntroduced) {
		return nil
	}
	return Apply{turns}
}

// renewEnded replaces authorities that have signed nothing that is still valid, so that no member accepts another one that
// restarts. All members stop for a moment, so a person must ask for it, unless none runs: only the clock says that an
// authority has ended. If the certificates that ended are external, the new ones in the Secrets are the request; open connections
// go on meanwhile, so no member stops while a quorum answers.
func renewEnded(v cluster.View) Step {
	runs := v.Count(cluster.HasPod) > 0
	asked := func(t cluster.RotationStep) bool { return t.Asked || t.Replaced && v.Unread != "" && v.Split == "" }
	turns := slices.DeleteFunc(slices.Clone(v.Rotation.Turns), func(o cluster.Object) bool {
		isTrusted := o.RotationStep.Stage == cluster.Switch && hasEnded(v, o.Name) // members have the next one already
		renews := o.RotationStep.Stage == cluster.Renew && (!runs || asked(o.RotationStep) && !v.Want.Ephemeral)
		return !isTrusted && !renews || o.Denied.Stands()
	})
	if !v.Formed() && runs || len(turns) == 0 {
		return nil
	}
	return Apply{turns}
}

func hasEnded(v cluster.View, secret string) bool {
	return slices.ContainsFunc(v.Ending, func(e cluster.Ending) bool { return e.Over && e.Secret == secret })
}

// restartTogether restarts all members at once that run with authorities which have ended: those that have restarted and
// those that have not could not connect to each other. Members that still run well, by older connections, restart too.
func restartTogether(v cluster.View) Step {
	if !v.Rotation.Together || v.Want.Ephemeral {
		return nil
	}
	var pods []PodRef
	distrusts := func(m cluster.Member) bool { return m.Pod.OldCABundle && !dataGoesWithPod(m) }
	for _, m := range v.Select(cluster.HasPod, distrusts) {
		if !m.Pod.IsTerminating() {
			pods = append(pods, refOf(m))
		}
	}
	if len(pods) == 0 {
		return nil
	}
	return DeletePods{pods, Plainly, "the authorities that they trust, or what those had signed, have ended"}
}
