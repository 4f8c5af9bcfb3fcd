package diagnosis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// volumes are those of members that are lost, cannot be used, or have yet to grow; and those that are kept.
func volumes(f Facts) []Finding {
	if !f.knows(Claims) || f.Cluster.Spec.Storage.Ephemeral != nil {
		return nil
	}
	var findings []Finding
	for _, m := range f.Cluster.Status.Members {
		claim := f.claim(m.Name)
		switch {
		case m.Role != v1beta1.RoleLeader && m.Role != v1beta1.RoleVoter: // one that joins gets its volume yet
		case claim == nil:
			findings = append(findings, Finding{
				DataAtRisk, "member " + m.Name + " has no PersistentVolumeClaim: its data is gone",
				"nothing while the others hold a quorum: the member is replaced", "operations/replace.md#a-lost-volume",
			})
		default:
			findings = append(findings, ofClaim(f, claim)...)
		}
	}
	return append(findings, kept(f)...)
}

func ofClaim(f Facts, claim *corev1.PersistentVolumeClaim) []Finding {
	switch {
	case claim.DeletionTimestamp != nil:
		return one(DataAtRisk, "the PersistentVolumeClaim "+claim.Name+" is being deleted: its data goes with the Pod",
			"do not restart the Pod while another member is down", "operations/replace.md#a-lost-volume")
	case claim.Status.Phase == corev1.ClaimLost:
		return one(DataAtRisk, "the volume of PersistentVolumeClaim "+claim.Name+" is lost",
			"bring the PersistentVolume back, or let the member be replaced",
			"operations/replace.md#a-lost-volume")
	case claim.Status.Phase == corev1.ClaimPending:
		return one(RedundancyLost, "the PersistentVolumeClaim "+claim.Name+" is not bound"+said(f, claim.Name),
			"see that the storage class exists and has room", "operations/create.md")
	}
	if gone := goneNode(f, claim); gone != "" {
		return one(DataAtRisk, "the data of "+claim.Name+" is on node "+gone+", which is not in Kubernetes", "bring the node back with its disk",
			"operations/recover-quorum.md#nodes-that-are-gone")
	}
	want, have := claim.Spec.Resources.Requests.Storage(), claim.Status.Capacity.Storage()
	if have.Cmp(*want) < 0 {
		return one(Hint, fmt.Sprintf("the volume of %s has %s, and %s are requested%s", claim.Name, have, want, growth(claim)),
			"wait, or see the events of the PersistentVolumeClaim", "operations/roll.md#a-volume-that-cannot-grow")
	}
	return nil
}

// growth is what Kubernetes says of a volume that grows.
func growth(claim *corev1.PersistentVolumeClaim) string {
	for _, c := range claim.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			return ": " + reasoned(string(c.Type), c.Message)
		}
	}
	return ""
}

// said is what the last warning about a volume says.
func said(f Facts, claim string) string {
	for _, e := range f.warnings() {
		if e.InvolvedObject.Kind == "PersistentVolumeClaim" && e.InvolvedObject.Name == claim {
			return ": " + reasoned(e.Reason, e.Message)
		}
	}
	return ""
}

// goneNode is the one node that a volume can be used on, if Kubernetes does not have it.
func goneNode(f Facts, claim *corev1.PersistentVolumeClaim) string {
	if !f.knows(Volumes) || !f.knows(Nodes) {
		return ""
	}
	volume := find(f.Volumes, func(v corev1.PersistentVolume) bool { return v.Name == claim.Spec.VolumeName })
	if volume == nil || volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil {
		return ""
	}
	terms := volume.Spec.NodeAffinity.Required.NodeSelectorTerms
	if len(terms) != 1 {
		return ""
	}
	for _, e := range terms[0].MatchExpressions {
		if e.Key == corev1.LabelHostname && e.Operator == corev1.NodeSelectorOpIn && len(e.Values) == 1 && !f.hasHost(e.Values[0]) {
			return e.Values[0]
		}
	}
	return ""
}

func (f Facts) hasHost(name string) bool {
	return slices.ContainsFunc(f.Nodes, func(n corev1.Node) bool { return n.Labels[corev1.LabelHostname] == name })
}

// kept are the volumes of members that were removed.
func kept(f Facts) []Finding {
	var names []string
	for _, c := range f.Claims {
		if isSetAside(c) {
			until := ""
			if at, err := time.Parse(time.RFC3339, c.Annotations[v1beta1.AnnotationQuarantinedAt]); err == nil {
				until = ", set aside at " + at.UTC().Format(time.RFC3339)
			}
			names = append(names, fmt.Sprintf("%s (%s%s)", c.Name, c.Status.Capacity.Storage(), until))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return one(Hint, "volumes of members that were removed are kept: "+strings.Join(names, ", "),
		fmt.Sprintf("nothing: they are deleted after %s", age(f.Cluster.Spec.Storage.KeepFor())), "operations/replace.md")
}
