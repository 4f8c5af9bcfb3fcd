package judge

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/trust"
)

// Found are the Secrets of the cluster that are there, by their names. An authority of ours that the cache does not show
// is among them, and so are those of others that certificates are taken from.
func (s *Snapshot) Found() map[string]*corev1.Secret {
	found := map[string]*corev1.Secret{}
	maps.Copy(found, s.Theirs)
	maps.Copy(found, s.Secrets)
	for _, name := range trust.Authorities(s.Cluster) {
		if hidden := s.Hidden[name]; hidden != nil && metav1.IsControlledBy(hidden, s.Cluster) {
			found[name] = hidden
		}
	}
	return found
}

func (s *Snapshot) held() trust.Held {
	found := s.Found()
	return trust.Read(s.Cluster, func(name string) *corev1.Secret { return found[name] })
}

// IsRotating says whether an authority is rotated.
func IsRotating(s Snapshot) bool { return s.Cluster.IsSecure() && s.held().IsRotating() }

// Seen are the members to look at for what they show and accept: all that run, while an authority is rotated.
func Seen(s Snapshot) []cluster.Member {
	if !IsRotating(s) {
		return nil
	}
	running, ask := Running(s)
	if !ask {
		return nil
	}
	return running
}

// listed are the names of the members that etcd lists.
func (j *judgement) listed() []string {
	var names []string
	for _, m := range j.sorted() {
		if cluster.IsListed(m) {
			names = append(names, m.Name)
		}
	}
	return names
}
