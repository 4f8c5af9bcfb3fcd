// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

// oldestSource is the oldest etcd that can be adopted: older ones may lose writes when members join (3.5.0 to 3.5.2), and answer
// requests of members that have left (https://github.com/etcd-io/etcd/blob/main/CHANGELOG/CHANGELOG-3.5.md).
const oldestSource = "3.5.11"

// adopting begins what the view has of an adoption. What the spec names is looked at when it is complete, too.
func adopting(s Snapshot) cluster.Adoption {
	c := s.Cluster
	a := cluster.Adoption{Held: slices.Contains(c.Finalizers, v1beta1.FinalizerAdoption)}
	if c.Spec.Bootstrap == nil || c.Spec.Bootstrap.Adopt == nil {
		return a
	}
	spec := c.Spec.Bootstrap.Adopt
	if a.Wanted = c.Adopts() != nil; a.Wanted {
		a.Undo = c.Annotations[v1beta1.AnnotationUndoAdoption] == "true" || c.DeletionTimestamp != nil
		a.At, a.Keeps, a.Sleepy = s.Now.Unix(), spec.Keeps(), ptr.Deref(c.Spec.Size, 1) == 0
	}
	if s.SourceServices != nil { // they were read
		a.Services, a.Workload = s.adoptedServices(spec.Services), s.adoptedWorkload(spec.StatefulSet)
	}
	return a
}

// recordedSources are those in the status.
func recordedSources(c *v1beta1.EtcdCluster) cluster.Adopting {
	status := c.Status.Adoption
	if status == nil {
		return cluster.Adopting{}
	}
	a := cluster.Adopting{Begun: status.StartedAt.Unix()}
	if status.CompletedAt != nil {
		a.Ended = status.CompletedAt.Unix()
	}
	for _, m := range status.Sources {
		if id, err := strconv.ParseUint(m.ID, 16, 64); err == nil {
			a.Sources = append(a.Sources, cluster.Source{ID: id, Name: m.Name, PeerURLs: m.PeerURLs, ClientURLs: m.ClientURLs})
		}
	}
	return a
}

// AdvertisedSources are the URLs at which members of a cluster that is adopted are to be asked, by what it lists before that is recorded.
func AdvertisedSources(s Snapshot) []string {
	if s.Cluster.Adopts() == nil || s.Cluster.Status.Adoption != nil || s.List == nil {
		return nil
	}
	listed := s.Cluster.DeepCopy()
	listed.Status.Adoption = &v1beta1.AdoptionStatus{}
	for _, m := range s.List {
		listed.Status.Adoption.Sources = append(listed.Status.Adoption.Sources, v1beta1.SourceMember{ClientURLs: m.ClientURLs})
	}
	return listed.SourceURLs()
}

// isRepeated says whether a source has answered before at another URL: one behind a Service is any of them.
func isRepeated(answers []*Answer, i int) bool {
	a := answers[i]
	return a.Source && a.Err == nil && slices.ContainsFunc(answers[:i], func(b *Answer) bool {
		return b.Err == nil && b.Status.MemberID == a.Status.MemberID
	})
}

// adoption marks the sources among the members that the operator has not added, and judges them before the adoption begins.
func (j *builder) adoption() {
	if !j.v.Adoption.Wanted {
		return
	}
	if j.v.Adoption.Sleepy {
		j.v.Want.Size = max(j.v.Want.Size, len(j.listed())) // the status may be older than what etcd lists
	}
	answers := j.credible()
	for i := range j.v.Unknown {
		m := &j.v.Unknown[i]
		m.Source = !j.v.Planned() || slices.ContainsFunc(j.v.Record.Adopting.Sources, func(s cluster.Source) bool { return s.ID == m.ID })
		if m.Source {
			noteSource(m, answers)
		}
	}
	j.sourceVolumes()
	if j.v.Planned() {
		return
	}
	a := &j.v.Adoption
	if a.Unreachable = j.v.Unread; a.Unreachable != "" {
		a.Unreachable += undialled(j.Answers)
		return
	}
	a.Sources = sourcesIn(j.List)
	if led := newest(answers); answerOf(led.leader, answers) != nil {
		a.ClusterID = answerOf(led.leader, answers).clusterID()
	}
	a.Unfit = j.unfit(answers)
}

// undialled says why a source could not even be asked: a Secret is missing, or not what it should be.
func undialled(answers []*Answer) string {
	for _, a := range answers {
		if a.Source && a.Err != nil && etcd.Silence(a.Err) == "" {
			return ": " + a.Err.Error()
		}
	}
	return ""
}

// noteSource records what a source has answered, if it has.
func noteSource(m *cluster.UnknownMember, answers []*Answer) {
	led := newest(answers)
	m.Leader = led.leader == m.ID
	for _, a := range answers {
		if a.Source && a.Err == nil && a.Status.MemberID == m.ID {
			m.URL, m.Version, m.DBSize = a.Member, a.Status.Version, a.Status.DBSize
			m.Healthy = a.serves() && a.follows() == led
		}
	}
}

func sourcesIn(list []etcd.Member) []cluster.Source {
	sources := make([]cluster.Source, 0, len(list))
	for _, m := range list {
		sources = append(sources, cluster.Source{ID: m.ID, Name: m.Name, PeerURLs: m.PeerURLs, ClientURLs: m.ClientURLs})
	}
	return sources
}

// unfit says why the running cluster cannot be adopted as it is, and what to do.
func (j *builder) unfit(answers []*Answer) string {
	if other := otherCluster(answers); other != "" {
		return other
	}
	if len(j.v.Alarms) > 0 {
		return fmt.Sprintf("it has raised the alarm %s: end that first", j.v.Alarms[0].Kind)
	}
	if why := j.unfitMembers(); why != "" {
		return why
	}
	get := func(name string) *corev1.Secret { return j.ExternalSecrets[name] }
	if err := certs.CheckAdopted(j.c, get, j.Now); err != nil {
		return err.Error()
	}
	if why := j.unfitObjects(); why != "" {
		return why
	}
	return j.unfitToKeep()
}

func (j *builder) unfitMembers() string {
	names := map[string]uint64{}
	for _, m := range j.v.Unknown {
		if why := cmp.Or(j.unfitMember(m), j.unfitVersion(m)); why != "" {
			return why
		}
		if other, is := names[m.Name]; is {
			return fmt.Sprintf("its members %x and %x are both named %s, and members are identified by their names: give one another "+
				"--name first", other, m.ID, m.Name)
		}
		names[m.Name] = m.ID
	}
	return ""
}

func (j *builder) unfitObjects() string {
	for _, service := range j.v.Adoption.Services {
		if service.Missing {
			return fmt.Sprintf("Service %s, which bootstrap.adopt.services names, does not exist", service.Name)
		}
		if service.Refused != "" {
			return service.Refused
		}
	}
	w := j.v.Adoption.Workload
	if w.Name != "" && w.Missing {
		return fmt.Sprintf("StatefulSet %s, which bootstrap.adopt.statefulSet names, does not exist", w.Name)
	}
	return w.Refused
}

// forbidden says how the operator gets the rights that only adoptions need.
func forbidden(set string) string {
	return "the operator may not read and scale StatefulSet " + set + ": bind its ClusterRole for adoptions to its service account in this " +
		"namespace, as in: kubectl create rolebinding etcd-operator-adoption --clusterrole=etcd-operator-adoption-role " +
		"--serviceaccount=etcd-operator-system:etcd-operator-controller-manager"
}

// otherCluster says whether the endpoints are of several clusters.
func otherCluster(answers []*Answer) string {
	var first *Answer
	for _, a := range answers {
		switch {
		case a.Err != nil:
		case first == nil:
			first = a
		case first.clusterID() != a.clusterID():
			return fmt.Sprintf("%s and %s are of different clusters (%s, %s): name endpoints of one", first.Member, a.Member, first.clusterID(),
				a.clusterID())
		}
	}
	return ""
}

func (j *builder) unfitMember(m cluster.UnknownMember) string {
	wanted, quota := specs.Scheme(j.c), j.c.QuotaBytes()
	switch {
	case !m.Voter:
		return fmt.Sprintf("its member %s is a learner: promote or remove it first", cmp.Or(m.Name, m.PeerURL))
	case m.Name == "":
		return fmt.Sprintf("its member at %s has never started: start or remove it first", m.PeerURL)
	case cluster.Serial(j.c.Name, m.Name) >= 0:
		return fmt.Sprintf("its member %s has a name that a member of this EtcdCluster is to have: choose another name for the "+
			"EtcdCluster", m.Name)
	case !hasScheme(m.PeerURL, wanted):
		return fmt.Sprintf("its member %s has the peer URL %s, and clients reach the cluster by %s: members of an EtcdCluster have one scheme "+
			"for both; give its members that peer URL first, or copy the data with bootstrap.copy", m.Name, m.PeerURL, wanted)
	case !m.Healthy:
		return fmt.Sprintf("its member %s does not serve reads at any of the URLs that it advertises: all members have to, so that none is "+
			"missed while others join%s", m.Name, undialled(j.Answers))
	case m.DBSize > quota/4*3:
		return fmt.Sprintf("the database of its member %s has %d MiB, and the quota of this EtcdCluster is %d MiB: ask for a larger volume or "+
			"quota", m.Name, m.DBSize>>20, quota>>20)
	default:
		return ""
	}
}

func hasScheme(urls, wanted string) bool {
	for text := range strings.SplitSeq(urls, ",") {
		if u, err := url.Parse(text); err != nil || u.Scheme != wanted {
			return false
		}
	}
	return true
}

func (j *builder) unfitVersion(m cluster.UnknownMember) string {
	switch {
	case version.Order(m.Version, oldestSource) < 0:
		return fmt.Sprintf("its member %s runs etcd %s: upgrade it to %s or newer first", m.Name, m.Version, oldestSource)
	case version.MinorOf(m.Version) != version.MinorOf(j.v.Want.Version):
		return fmt.Sprintf("its member %s runs etcd %s, and spec.version is %s: adopt it with version %q, and upgrade it then", m.Name,
			m.Version, j.v.Want.Version, version.MinorOf(m.Version))
	default:
		return ""
	}
}
