// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// Found are the Secrets of the cluster that are there, by their names, and those that external certificates are taken from.
func (s *Snapshot) Found() map[string]*corev1.Secret {
	found := map[string]*corev1.Secret{}
	maps.Copy(found, s.Secrets)
	maps.DeleteFunc(found, func(_ string, secret *corev1.Secret) bool { return !specs.IsMarked(s.Cluster, secret) })
	taken := s.overwritten()
	for name, secret := range s.ExternalSecrets {
		if found[name] == nil && taken[name] == "" {
			found[name] = secret
		}
	}
	return found
}

func (s *Snapshot) held() certs.KeyMaterial {
	found := s.Found()
	held := certs.Read(s.Cluster, func(name string) *corev1.Secret { return found[name] })
	held.Domain = s.Domain
	return held
}

// IsRotating says whether an authority is rotated.
func IsRotating(s Snapshot) bool { return s.Cluster.MountsCertificates() && s.held().IsRotating() }

// IsRevoking says whether certificates were revoked that may still open a connection.
func IsRevoking(s Snapshot) bool {
	return s.Cluster.MountsCertificates() && s.held().IsRevoking(s.Cluster, s.made())
}

// made are what the Pods of members say of when a certificate was revoked last before they were made.
func (s *Snapshot) made() map[string]string {
	made := map[string]string{}
	for i := range s.Pods {
		if pod := &s.Pods[i]; pod.Labels[v1beta1.LabelMember] == pod.Name {
			made[pod.Name] = pod.Annotations[v1beta1.AnnotationRevokedAt]
		}
	}
	return made
}

// revocation is how far certificates are revoked.
func (j *builder) revocation() cluster.Revocation {
	if !j.c.MountsCertificates() {
		return cluster.Revocation{} // what is left from before TLS was turned off is in no Pod
	}
	return j.held().Revocation(j.c, j.facts())
}

// facts are what the next pass of a rotation or a revocation depends on.
func (j *builder) facts() certs.Facts {
	return certs.Facts{Now: j.later(), Come: j.come(), Members: j.listed(), Probes: j.Probes, Users: j.Users, Made: j.made()}
}

// needsUsers says whether what applications mount decides about the next pass: it waits for nothing else. There may be many users, so
// that their Secrets are not read before.
func needsUsers(s Snapshot) bool {
	if !IsRotating(s) && !IsRevoking(s) {
		return false
	}
	j := begin(s)
	j.kubernetes()
	j.etcd()
	held, facts := j.held(), j.facts()
	return IsRotating(s) && held.Rotation(j.c, facts).Await == "" || IsRevoking(s) && held.Revocation(j.c, facts).Await == ""
}

// probed are the members to look at for what they show, accept and refuse: all that run, while an authority is rotated or a
// certificate revoked.
func probed(s Snapshot) []cluster.Member {
	if !IsRotating(s) && !IsRevoking(s) {
		return nil
	}
	members, ask := running(s)
	if !ask {
		return nil
	}
	return members
}

// listed are the names of the members that etcd lists.
func (j *builder) listed() []string {
	var names []string
	for _, m := range j.sorted() {
		if cluster.IsListed(m) {
			names = append(names, m.Name)
		}
	}
	return names
}
