// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package adopting

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
	"github.com/etcd-operator/etcd-operator/internal/cluster/memory"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

// The paths of etcd's HTTP gateway, and what is sent there.
const (
	StatusPath  = "v3/maintenance/status"
	MembersPath = "v3/cluster/member/list"
	ReadPath    = "v3/kv/range"
	Nothing     = "{}"
	Linearized  = `{"linearizable": true}`
	OneKey      = `{"key": "AA==", "keys_only": true}`
)

// Said is what one member has answered, in JSON.
type Said struct {
	Pod          string
	Status, List []byte
	Err          error // that it did not answer
	Read         error // that it did not answer a linearizable read
}

// header is what every answer begins with. The gateway writes 64 bits as text.
type header struct {
	ClusterID uint64 `json:"cluster_id,string"`
	MemberID  uint64 `json:"member_id,string"`
	Revision  int64  `json:"revision,string"`
}

type status struct {
	Header           header   `json:"header"`
	Version          string   `json:"version"`
	DBSize           int64    `json:"dbSize,string"`
	DBSizeInUse      int64    `json:"dbSizeInUse,string"`
	Leader           uint64   `json:"leader,string"`
	RaftIndex        uint64   `json:"raftIndex,string"`
	RaftTerm         uint64   `json:"raftTerm,string"`
	RaftAppliedIndex uint64   `json:"raftAppliedIndex,string"`
	IsLearner        bool     `json:"isLearner"`
	Errors           []string `json:"errors"`
}

type list struct {
	Members []struct {
		ID         uint64   `json:"ID,string"`
		Name       string   `json:"name"`
		PeerURLs   []string `json:"peerURLs"`
		ClientURLs []string `json:"clientURLs"`
		IsLearner  bool     `json:"isLearner"`
	} `json:"members"`
}

// answer is what a member has said, as the operator's facts take it.
func answer(said Said) (*facts.Answer, []etcd.Member) {
	a := &facts.Answer{Member: said.Pod, Source: true, Err: said.Err}
	var is status
	if a.Err == nil {
		a.Err = read(said.Status, &is)
	}
	if a.Err != nil {
		return a, nil
	}
	a.Status = etcd.Status{
		ClusterID: is.Header.ClusterID, MemberID: is.Header.MemberID, LeaderID: is.Leader, Version: is.Version, DBSize: is.DBSize,
		DBSizeInUse: is.DBSizeInUse, Revision: is.Header.Revision, RaftTerm: is.RaftTerm, RaftIndex: is.RaftIndex,
		RaftAppliedIndex: is.RaftAppliedIndex, Learner: is.IsLearner, Errors: is.Errors, Alarms: etcd.AlarmsIn(is.Errors),
	}
	a.WasRead, a.Read, a.Revision = true, said.Read, is.Header.Revision
	if NeedsUser(said.Read) {
		a.Read = nil // the operator reads as root
	}
	var known list
	if err := read(said.List, &known); err != nil || a.Read != nil {
		return a, nil
	}
	var members []etcd.Member
	for _, m := range known.Members {
		members = append(members, etcd.Member{ID: m.ID, Name: m.Name, PeerURLs: m.PeerURLs, ClientURLs: m.ClientURLs, Learner: m.IsLearner})
	}
	return a, members
}

func read(text []byte, into any) error {
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("it answers what etcd does not: %w", err)
	}
	return nil
}

// NeedsUser says whether etcd has answered that it answers only users.
func NeedsUser(err error) bool {
	return err != nil && strings.Contains(err.Error(), "user name is empty")
}

// Verdict is what the operator will say of the cluster before it changes anything.
type Verdict struct {
	Unreachable string // why it could not be read; empty if it could
	Unfit       string // why it cannot be adopted, and what to do; empty if it can
	Sources     []cluster.UnknownMember
	URLs        []string // that members advertise; empty if they have not said so
}

// Judge has the operator's facts judge what members have said. That Services and the StatefulSet do not agree yet does not make the
// cluster unfit: they can do so when the EtcdCluster has a UID. Secrets are not read, so that nothing is said of those.
func Judge(c *v1beta1.EtcdCluster, s Source, said []Said, now time.Time) Verdict {
	shot := facts.Snapshot{Cluster: c.DeepCopy(), Now: now, Asleep: true, SourceServices: map[string]*corev1.Service{}}
	shot.Cluster.Spec.Bootstrap.Adopt.PeerAuthorityRef, shot.Cluster.Spec.Bootstrap.Adopt.ClientAuthorityRef = nil, nil
	for _, one := range said {
		a, list := answer(one)
		shot.Answers = append(shot.Answers, a)
		if list != nil && shot.List == nil {
			shot.List = list
		}
	}
	for i := range s.Services {
		shot.SourceServices[s.Services[i].Name] = agreed(c, s.Services[i].DeepCopy())
	}
	if s.StatefulSet != nil {
		shot.Workload = agreed(c, s.StatefulSet.DeepCopy())
	}
	shot.SourcePods, shot.SourceClaims = map[string]*corev1.Pod{}, map[string]*corev1.PersistentVolumeClaim{}
	for i := range s.Pods {
		shot.SourcePods[s.Pods[i].Name] = &s.Pods[i]
	}
	for i := range s.Claims {
		shot.SourceClaims[s.Claims[i].Name] = &s.Claims[i]
	}
	v := facts.View(shot, &memory.Cluster{})
	return Verdict{v.Adoption.Unreachable, v.Adoption.Unfit, v.Sources(), facts.AdvertisedSources(shot)}
}

// agreed is the object as it is once it agrees.
func agreed[T metav1.Object](c *v1beta1.EtcdCluster, o T) T {
	o.SetAnnotations(map[string]string{v1beta1.AnnotationAdoptedBy: c.Consent()})
	return o
}

// Minor is the minor version that members run; empty if none has said so.
func Minor(all []Said) string {
	for _, said := range all {
		if a, _ := answer(said); a.Err == nil {
			return version.MinorOf(a.Status.Version)
		}
	}
	return ""
}
