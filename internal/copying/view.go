// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// View is one observation of a cluster and of the source that is copied into it.
type View struct {
	Cluster  *v1beta1.EtcdCluster
	Now      time.Time
	Paused   string  // why nothing is to be changed; empty if it may be
	Source   *Source // nil: it was not asked
	Target   *Target // nil: it was not asked
	Services []Service
}

// Source is what the running cluster has answered.
type Source struct {
	Err       string // why it could not be asked; empty if it was
	ClusterID string // in hexadecimal
	Version   string
	DBSize    int64 // bytes that hold data
	Revision  int64 // read linearizably
	Alarms    []etcd.Alarm
	HasMark   bool // it has a mark: it is itself copied into
	Compacted bool // it no longer has what comes after the revision of the mark

	Users, Roles *int32 // nil: not listed
}

// Target is what this cluster has answered.
type Target struct {
	Err      string // why it could not be asked; empty if it was
	Revision int64  // read linearizably
	Keys     int64  // the mark counted
	Mark     *Mark  // nil: there is none
	Changed  int64  // revision at which the mark was written
}

// Service is one of spec.bootstrap.copy.services.
type Service struct {
	Name     string
	Missing  bool
	Refused  string // why it may not be changed, and what to do
	Switched bool   // it selects the members of this cluster
}

// MarkKey is the key of the mark. It exists from when the copy begins until clients are sent to this cluster.
const MarkKey = "etcd-operator.dev/copy"

// Mark is in the cluster that is copied into, and is written in the transactions that write its data: it says how far the copy is, and
// shows whether anything else has written.
type Mark struct {
	Cluster  string `json:"cluster"`            // UID of the EtcdCluster
	Source   string `json:"source"`             // cluster ID of the source, in hexadecimal
	Read     int64  `json:"read"`               // the revision of the source at which all keys are read
	Whole    bool   `json:"whole"`              // they were read
	After    []byte `json:"after,omitempty"`    // the last key that was read
	Keys     int64  `json:"keys"`               // how many were
	Revision int64  `json:"revision,omitempty"` // everything up to there is copied, once all keys were read
	Base     int64  `json:"base"`               // the revision that the data had before the mark was written
	Large    bool   `json:"large,omitempty"`    // one key may be written by itself after the mark: no transaction takes it beside the mark
	Leased   bool   `json:"leased,omitempty"`   // keys were bound to their leases
}

// Text is the value of the key.
func (m Mark) Text() []byte {
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // a struct of numbers, texts and bytes has JSON
	}
	return text
}

// ParseMark reads the value of the key. What is no mark is one of no cluster.
func ParseMark(text []byte) Mark {
	var m Mark
	if err := json.Unmarshal(text, &m); err != nil {
		return Mark{}
	}
	return m
}

// isIntact says whether nothing but the copy has written to this cluster: each of its transactions writes the mark, which has the revision
// before.
func (t Target) isIntact() bool {
	last := t.Revision == t.Changed || t.Mark.Large && t.Revision == t.Changed+1
	return t.Mark.Base+1 == t.Changed && last
}

// Alarm is the one by which writes to the source are stopped: etcd then refuses everything that changes data, and answers reads. It is
// raised for a member that does not exist, so that it is known as that of this EtcdCluster.
func Alarm(c *v1beta1.EtcdCluster) etcd.Alarm {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte("copy into " + string(c.UID))) // never fails
	return etcd.Alarm{MemberID: sum.Sum64() | 1, Kind: "CORRUPT"}
}

// isStopped says whether the source refuses writes for this copy.
func (v View) isStopped() bool { return slices.Contains(v.Source.Alarms, Alarm(v.Cluster)) }

// otherAlarm is one that the source has raised itself; empty if there is none.
func (v View) otherAlarm() string {
	for _, alarm := range v.Source.Alarms {
		if alarm != Alarm(v.Cluster) {
			return alarm.Kind
		}
	}
	return ""
}

// status is what is recorded; never nil.
func (v View) status() *v1beta1.CopyStatus {
	if v.Cluster.Status.Copy == nil {
		return &v1beta1.CopyStatus{}
	}
	return v.Cluster.Status.Copy
}

func (v View) spec() *v1beta1.Copy { return v.Cluster.Spec.Bootstrap.Copy }

// stopping says whether a switch is on its way and not decided.
func (v View) stopping() bool {
	return v.status().StoppedAt != nil && v.status().SwitchedAt == nil
}

// StopsUntil is when writes to the source go on at the latest, unless the switch is decided by then; zero if they are not stopped.
func (v View) StopsUntil() time.Time {
	if !v.stopping() {
		return time.Time{}
	}
	return v.status().StoppedAt.Add(v.spec().Limit())
}

// lag is how many revisions of the source are not copied.
func (v View) lag() int64 { return v.Source.Revision - v.Target.Mark.Revision }

// SourceOf is what a member of the source has answered: its status, and the key of the mark. That key was read linearizably, after the
// status.
func SourceOf(status etcd.Status, mark etcd.Item) Source {
	return Source{
		ClusterID: strconv.FormatUint(status.ClusterID, 16), Version: status.Version, DBSize: cmp.Or(status.DBSizeInUse, status.DBSize),
		Revision: mark.Revision, Alarms: status.Alarms, HasMark: mark.Changed > 0,
	}
}

// ServiceOf is a Service that exists.
func ServiceOf(c *v1beta1.EtcdCluster, service *corev1.Service) Service {
	return Service{
		Name: service.Name, Refused: c.MayUse("service/"+service.Name, service.Annotations), Switched: specs.Selects(c, service),
	}
}
