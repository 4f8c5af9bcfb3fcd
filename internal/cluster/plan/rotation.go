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

// revoke waits for what is to be seen before a certificate counts as revoked. Where members are to restart for it, the facts say
// that they are outdated.
func revoke(v cluster.View) Step {
	if v.Revocation.Await == "" {
		return nil
	}
	return Wait{For: v.Revocation.Await}
}

// introduceBoth finishes an introduction of which only one authority has been written, before members mount that one: they
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

// renewEnded replaces authorities of which nothing is valid any more that they have signed, so that no member hears another
// one that restarts. It takes all members away for a moment, and so a person to ask for it, unless none runs: only the
// clock says that an authority has ended. Where others have issued what has ended, a person has asked with what is to follow; connections
// that are open go on meanwhile, so that nothing is taken away while a quorum answers.
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
// those that have not would not hear each other. So do those that still run well: by connections from before.
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
