// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

var update = flag.Bool("update", false, "write testdata instead of comparing with it; review it as what users will read")

var first = []string{"a-0", "a-1", "a-2"}

// unseen is a view of a cluster of which nothing is there.
var unseen = cluster.View{Name: "a", UID: "u1"}

// unplanned is a cluster that was just created.
func unplanned() *v1beta1.EtcdCluster {
	return &v1beta1.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default", UID: "u1", Generation: 7},
		Spec:       v1beta1.EtcdClusterSpec{Size: ptr.To[int32](3), Version: "3.6.16"},
	}
}

// unformed is one whose first members are chosen.
func unformed() *v1beta1.EtcdCluster {
	c := unplanned()
	c.Status = report.Status(c, unseen, plan.RecordFirstMembers(unseen, first), nil)
	return c
}

// formed is one that was as wanted a moment ago.
func formed() *v1beta1.EtcdCluster {
	c := unformed()
	c.Status = report.Status(c, healthy(), plan.RecordFormation(unseen, "c1", ""), nil)
	c.Status = report.Status(c, healthy(), plan.Done{}, nil)
	return c
}

// healthy is three voters as wanted; a-0 leads.
func healthy() cluster.View {
	v := cluster.View{
		Name: "a", UID: "u1", Want: cluster.Want{Size: 3, Version: "3.6.16"},
		Record: cluster.Record{Token: "u1", First: first, ClusterID: "c1", NextSerial: 3},
	}
	for i, name := range first {
		v.Members = append(v.Members, cluster.Member{
			Name: name, Recorded: true, ID: uint64(0x10 + i), Role: cluster.Voter, Started: true, Volume: cluster.Kept,
			Pod:     cluster.Pod{Phase: cluster.Running, UID: "pod-" + name, Ready: true},
			Answers: true, Healthy: true, Leader: i == 0, ClusterID: "c1", Version: "3.6.16", DBSize: 20480,
		})
	}
	return v
}

// bootstrapping is members of which no one answers yet.
func bootstrapping() cluster.View {
	v := healthy()
	v.Record.ClusterID, v.Unread = "", "no member answers"
	for i := range v.Members {
		v.Members[i] = cluster.Member{Name: v.Members[i].Name, Recorded: true, Volume: cluster.Kept, Pod: cluster.Pod{Phase: cluster.Placed}}
	}
	return v
}

// restoring is a cluster that is to begin with a backup.
func restoring(problem, failure string) cluster.View {
	return cluster.View{
		Name: "a", UID: "u1", Want: cluster.Want{Size: 3, Version: "3.6.16"},
		Restore: cluster.Restore{Wanted: true, Problem: problem, Failure: failure},
	}
}

// with is the healthy cluster, changed.
func with(change func(v *cluster.View)) cluster.View {
	v := healthy()
	change(&v)
	return v
}

func down(v *cluster.View, names ...string) {
	for i := range v.Members {
		for _, name := range names {
			if m := &v.Members[i]; m.Name == name {
				m.Answers, m.Healthy, m.Leader, m.Pod.Ready = false, false, false, false
			}
		}
	}
}

// refusedGrowth is volumes that Kubernetes does not let grow.
func refusedGrowth(v *cluster.View) {
	for i, name := range first {
		v.Volumes = append(v.Volumes, cluster.Volume{Name: name, Size: int64(4-i) << 30})
	}
	for _, name := range []string{"a-1", "a-2"} {
		v.Refused = append(v.Refused, cluster.Object{
			Kind: "PersistentVolumeClaim", Name: name, Part: cluster.Size, Why: "it has 3Gi, 4Gi is wanted, and Kubernetes refuses it: no; " +
				"allow it there, the operator tries once an hour",
		})
	}
}

// denied is a volume whose owner Kubernetes does not let be changed.
func denied(v *cluster.View) {
	v.Misfits = []cluster.Object{
		{Kind: "PersistentVolumeClaim", Name: "a-1", Part: cluster.Owner, Denied: cluster.Denial{Because: "a webhook says no"}},
		{Kind: "PersistentVolumeClaim", Name: "a-2", Part: cluster.Owner},
	}
}

// asleep takes every Pod away, as size 0 does.
func asleep(v *cluster.View) {
	v.Want.Size, v.Unread = 0, "no member runs"
	down(v, first...)
	for i := range v.Members {
		v.Members[i].Pod = cluster.Pod{}
	}
}

// gone leaves a-0 alone: the others have lost their data.
func gone(v *cluster.View) {
	v.Unread = "the members have no leader"
	v.Members[0].Healthy, v.Members[0].Leader, v.Members[0].Revision, v.Members[0].Index = false, false, 70, 90
	down(v, "a-1", "a-2")
	for i := range v.Members[1:] {
		v.Members[i+1].Pod, v.Members[i+1].Volume = cluster.Pod{}, cluster.NoVolume
	}
}

// goneWithBackup is the same with a verified backup.
func goneWithBackup(v *cluster.View) {
	gone(v)
	v.Candidate = cluster.RestoreCandidate{Backup: "nightly", Revision: 60, Begun: 1795514400}
}

// acceptedBackup is the same once a person has accepted the loss by the name of the backup.
func acceptedBackup(v *cluster.View) {
	goneWithBackup(v)
	v.Want.Accepted = v.Candidate.String()
	v.Candidate.Request.Name = cluster.AcceptedName(v.Name, v.UID, v.Want.Accepted)
}

func chosen(step plan.Step, _ string) plan.Step { return step }

var errWrite = errors.New(`create a-1: pods "a-1" is forbidden: exceeded quota`)

// A moment is one reconcile as the report sees it.
type moment struct {
	name string
	c    *v1beta1.EtcdCluster
	view cluster.View
	step plan.Step
	err  error
}

func moments() []moment {
	empty := cluster.View{Name: "a", UID: "u1", Want: cluster.Want{Size: 3, Version: "3.6.16"}}
	planned := bootstrapping()
	planned.Members = nil
	learner := cluster.Member{Name: "a-3", ID: 0x13, Role: cluster.Learner, Answers: true, Healthy: true, Version: "3.6.16", DBSize: 1}
	secret := []cluster.Object{{Kind: "Secret", Name: "a-client-ca", Why: "it is missing"}, {Kind: "Service", Name: "a", Why: "it is missing"}}
	return []moment{
		{"choose-first-members", unplanned(), empty, plan.RecordFirstMembers(unseen, first), nil},
		{"choose-first-members-failed", unplanned(), empty, plan.RecordFirstMembers(unseen, first), errWrite},
		{"adopt", unplanned(), empty, plan.RecordAdoption(unseen, "u0", []string{"a-1", "a-4"}, true), nil},
		{"apply", unformed(), planned, plan.Apply{Objects: secret}, nil},
		{"start", unformed(), planned, plan.CreatePods{Names: first}, nil},
		{"start-failed", unformed(), planned, plan.CreatePods{Names: first}, errWrite},
		{"wait-unformed", unformed(), bootstrapping(), plan.Wait{For: "members a-0, a-1, a-2 to form a cluster"}, nil},
		{"refuse-unformed", unformed(), bootstrapping(), plan.Refuse{Because: "the volume of a-1 was lost"}, nil},
		{
			"cluster-id", unformed(), with(func(v *cluster.View) { v.Record.ClusterID = "" }),
			lastOf(plan.RecordFormation(healthy(), "c1", "a-0")), nil,
		},
		{
			"cluster-id-failed", unformed(), with(func(v *cluster.View) { v.Record.ClusterID = "" }),
			plan.RecordFormation(healthy(), "c1", "a-0"),
			errors.New("mark volume a-0: etcdserver: request timed out"),
		},
		{"restoring", unplanned(), restoring("", ""), plan.Wait{For: "the data of a-0 to be restored: more than 40 % of 12Gi"}, nil},
		{
			"restore-failing", unplanned(), restoring("", "the data of a-0 cannot be restored: connection refused"),
			plan.Wait{For: "the next try"},
			nil,
		},
		{
			"restore-refused", unplanned(), restoring("there is no EtcdBackup first", ""),
			plan.Refuse{Because: "there is no EtcdBackup first"},
			nil,
		},
		{
			"restore-adopted", unplanned(), restoring("", ""), plan.RecordAdoption(restoring("", ""), "u1", first, true), nil,
		},
		{"done", formed(), healthy(), plan.Done{}, nil},
		{"hibernated", formed(), with(asleep), plan.Done{}, nil},
		{
			"hibernating", formed(), with(func(v *cluster.View) { v.Want.Size = 0; down(v, "a-0", "a-1") }),
			plan.DeletePods{Pods: []plan.PodRef{{Name: "a-2", UID: "pod-a-2"}}, Because: "the size is 0"},
			nil,
		},
		{
			"hibernation-refused", formed(), with(func(v *cluster.View) { v.Want.Size = 0 }),
			plan.Refuse{Because: "size 0 keeps volumes, but that of a-1 is being deleted and goes with its pod"},
			nil,
		},
		{
			"paused", formed(), with(func(v *cluster.View) { v.Want.Paused = "spec.paused is true"; down(v, "a-2") }),
			plan.Wait{For: "the end of the pause: spec.paused is true"},
			nil,
		},
		{"quorum-gone", formed(), with(gone), plan.Refuse{Because: "quorum is lost for good"}, nil},
		{
			"quorum-missing", formed(), with(func(v *cluster.View) {
				gone(v)
				v.Members[1].Volume, v.Members[1].NodeGone = cluster.Kept, "its volume is on node n1, which no longer exists"
			}),
			plan.Refuse{Because: "quorum is lost: a-1 cannot start"},
			nil,
		},
		{
			"quorum-gone-with-backup", formed(), with(goneWithBackup), chosen(plan.Next(with(goneWithBackup))), nil,
		},
		{
			"quorum-gone-accepted", formed(), with(acceptedBackup), chosen(plan.Next(with(acceptedBackup))), nil,
		},
		{"quorum-recovering", formed(), with(gone), plan.BeginRecovery(with(gone), cluster.Loss{Survivor: "a-0", Revision: 70}), nil},
		{
			"member-damaged", formed(), with(func(v *cluster.View) { down(v, "a-2"); v.Members[2].Damage = "its data is damaged: crc mismatch" }),
			plan.RemoveMember{Name: "a-2", Because: "its data is damaged: crc mismatch"},
			nil,
		},
		{
			"growth-refused", formed(), with(refusedGrowth),
			plan.Refuse{Because: plan.Ungrown(with(refusedGrowth)), Denied: true},
			nil,
		},
		{
			"growth-refused-and-down", formed(), with(func(v *cluster.View) { refusedGrowth(v); down(v, "a-2") }),
			plan.Wait{For: "a-2 to become healthy"},
			nil,
		},
		{"denied", formed(), with(denied), plan.Refuse{Because: plan.Denied(with(denied)), Denied: true}, nil},
		{
			"pod-refused", formed(), with(func(v *cluster.View) {
				down(v, "a-2")
				v.Members[2].Pod = cluster.Pod{Denied: cluster.Denial{Because: `pods "a-2" is forbidden: exceeded quota: q`}}
			}),
			plan.Wait{For: `a-2 to become healthy: Kubernetes refuses its pod: pods "a-2" is forbidden: exceeded quota: q`},
			nil,
		},
		{
			"denied-and-down", formed(), with(func(v *cluster.View) { denied(v); down(v, "a-2") }),
			plan.Wait{For: "a-2 to become healthy"},
			nil,
		},
		{
			"member-foreign", formed(), with(func(v *cluster.View) {
				m := &v.Members[2]
				m.Answers, m.Healthy, m.Foreign = false, false, "its data is of cluster dead, not of c1"
			}),
			plan.MarkPods{Pods: []plan.PodRef{{Name: "a-2", UID: "pod-a-2"}}, As: plan.Detach},
			nil,
		},
		{
			"all-foreign", formed(), with(func(v *cluster.View) {
				down(v, "a-0", "a-1", "a-2")
				for i := range v.Members {
					v.Members[i].Pod.Ready, v.Members[i].Foreign = true, "its data is of cluster dead, not of c1"
				}
			}),
			plan.Refuse{Because: "a-0 is not served to clients: its data is of cluster dead, not of c1"},
			nil,
		},
		{
			"upgrading", formed(), with(func(v *cluster.View) {
				v.Target.Version, v.Members[2].Version = "3.7.3", "3.7.3"
				v.Members[0].Pod.Change, v.Members[1].Pod.Change = cluster.Swap, cluster.Swap
			}),
			plan.UpdateImage{Name: "a-1", UID: "pod-a-1", Version: "3.7.3"},
			nil,
		},
		{
			"rolled-back", formed(), with(func(v *cluster.View) { down(v, "a-1") }),
			plan.RecordRollBack(healthy(), "3.6.16", "etcd:v3.6.16", "a-1 does not run 3.7.3: its image cannot be pulled"),
			nil,
		},
		{
			"member-down", formed(), with(func(v *cluster.View) { down(v, "a-0"); v.Members[1].Leader = true }),
			plan.Wait{For: "a-0 to become healthy"},
			nil,
		},
		{
			"node-silent", formed(), with(func(v *cluster.View) { down(v, "a-2"); v.Members[2].Pod.Silent = "worker-2" }),
			plan.Wait{For: "a-2 to become healthy"},
			nil,
		},
		{
			"restarting", formed(), with(func(v *cluster.View) { down(v, "a-2"); v.Members[2].Restarting = true }),
			plan.Wait{For: "a-2 to become healthy"},
			nil,
		},
		{
			"restarting-beside-another", formed(), with(func(v *cluster.View) { down(v, "a-1", "a-2"); v.Members[2].Restarting = true }),
			plan.Wait{For: "a quorum: 1 of 3 voters are healthy, 2 are needed"},
			nil,
		},
		{
			"restarting-alone", formed(), with(func(v *cluster.View) {
				v.Members, v.Want.Size = v.Members[:1], 1
				down(v, "a-0")
				v.Members[0].Restarting = true
			}),
			plan.Wait{For: "a-0 to become healthy"},
			nil,
		},
		{
			"restarting-blocked", formed(), with(func(v *cluster.View) {
				v.Members, v.Want.Size = v.Members[:1], 1
				down(v, "a-0")
				v.Members[0].Restarting, v.Members[0].Pod.Trouble = true, "its image etcd:none cannot be pulled"
			}),
			plan.Wait{For: "a-0 to become healthy: its image etcd:none cannot be pulled"},
			nil,
		},
		{
			"member-blocked", formed(), with(func(v *cluster.View) { down(v, "a-2"); v.Members[2].Pod.Trouble = "it cannot be scheduled: no node" }),
			plan.Wait{For: "a-2 to become healthy: it cannot be scheduled: no node"},
			nil,
		},
		{
			"quorum-lost", formed(), with(func(v *cluster.View) {
				down(v, "a-0", "a-2")
				v.Unread = "the members have no leader"
				v.Members[1].Healthy = false
			}),
			plan.Wait{For: "etcd to answer: the members have no leader"},
			nil,
		},
		{
			"too-few-healthy", formed(), with(func(v *cluster.View) { down(v, "a-0", "a-2") }),
			plan.Wait{For: "a quorum: 1 of 3 voters are healthy, 2 are needed"},
			nil,
		},
		{
			"unreachable", formed(), with(func(v *cluster.View) {
				down(v, first...)
				v.Unread = "no member answers"
				for i := range v.Members {
					v.Members[i].Pod.Ready = true
				}
			}), plan.Wait{For: "etcd to answer: no member answers"}, nil,
		},
		{
			"locked", formed(), with(func(v *cluster.View) {
				down(v, first...)
				v.Unread, v.Locked = "etcd answers its users only, because authentication is enabled", true
			}), plan.Refuse{Because: "etcd answers its users only, …; run etcdctl auth disable as the user root"}, nil,
		},
		{
			"alarm", formed(), with(func(v *cluster.View) { v.Members[1].Complaint = "memberID:17 alarm:NOSPACE" }), plan.Done{}, nil,
		},
		{
			"no-space", formed(), with(func(v *cluster.View) {
				v.Alarms = []cluster.Alarm{{Kind: cluster.NoSpace, ID: 0x11, Member: "a-1"}, {Kind: cluster.NoSpace, ID: 0x99}}
				v.Members[1].Complaint = "memberID:17 alarm:NOSPACE"
			}), plan.Done{}, nil,
		},
		{
			"no-space-healing", formed(), with(func(v *cluster.View) {
				v.Want.Heals, v.Alarms = true, []cluster.Alarm{{Kind: cluster.NoSpace, ID: 0x11, Member: "a-1"}}
				v.Record.Defragmenting = cluster.Defragmenting{Member: "a-1", Size: 900 << 20}
			}), plan.RecordDefragmented(with(func(v *cluster.View) {
				v.Record.Defragmenting = cluster.Defragmenting{Member: "a-1", Size: 900 << 20}
			}), ""), nil,
		},
		{
			"corrupt", formed(), with(func(v *cluster.View) {
				v.Alarms, v.Members[1].HashMismatch = []cluster.Alarm{{Kind: cluster.Corrupt, ID: 0x11, Member: "a-1"}}, true
			}), plan.RemoveMember{Name: "a-1", Because: "its data is not that of the other voters"}, nil,
		},
		{
			"corrupt-undecided", formed(), with(func(v *cluster.View) {
				v.Alarms, v.Undecided = []cluster.Alarm{{Kind: cluster.Corrupt, ID: 0x11, Member: "a-1"}}, "a-2 does not answer"
				down(v, "a-2")
			}), plan.Refuse{Because: "etcd refuses every write"}, nil,
		},
		{
			"authority-lost", formed(), with(func(v *cluster.View) {
				down(v, "a-1")
				v.Lost = []cluster.Object{{Kind: "Secret", Name: "a-client-ca", Why: "it is missing", Holder: "a-member-tls"}}
			}), plan.Wait{For: "a-1 to become healthy"}, nil,
		},
		{"authority-ends", formed(), with(func(v *cluster.View) {
			v.Ending = []cluster.Ending{{Secret: "a-client-ca", On: "2036-01-31"}}
		}), plan.Done{}, nil},
		{"authority-ends-soon", formed(), with(func(v *cluster.View) {
			v.Ending = []cluster.Ending{
				{Secret: "a-client-ca", On: "2036-01-31"},
				{Secret: "a-peer-ca", On: "2036-01-30", Near: true},
			}
		}), plan.Done{}, nil},
		{"authority-ended", formed(), with(func(v *cluster.View) {
			down(v, "a-1")
			v.Ending = []cluster.Ending{{Secret: "a-peer-ca", On: "2036-01-30", Near: true, Over: true}}
		}), plan.Wait{For: "etcd to answer"}, nil},
		{"authority-introduced", formed(), with(func(v *cluster.View) {
			v.Rotation = rotation(cluster.Stable)
		}), plan.Apply{Objects: []cluster.Object{{
			Kind: "Secret", Name: "a-client-ca", Why: "it was asked for", RotationStep: cluster.RotationStep{Stage: cluster.Introduce},
		}}}, nil},
		{"authority-awaited", formed(), with(func(v *cluster.View) {
			v.Rotation = rotation(cluster.Introduced)
		}), plan.Wait{For: "a-1 at port 2379 to trust the next authority of Secret a-client-ca"}, nil},
		{"revocation-awaited", formed(), with(func(v *cluster.View) {
			v.Revocation = revocation(cluster.Listed)
		}), plan.Wait{For: "a-1 to refuse certificates that are revoked"}, nil},
		{"revoked", formed(), with(func(v *cluster.View) { v.Revocation = revocation(cluster.Revoked) }), plan.Done{}, nil},
		{"reserve", formed(), with(func(v *cluster.View) { v.Want.Size = 5 }), plan.ReserveName(healthy(), "a-3"), nil},
		{"reserve-failed", formed(), with(func(v *cluster.View) { v.Want.Size = 5 }), plan.ReserveName(healthy(), "a-3"), errWrite},
		{
			"learner", joining(), with(func(v *cluster.View) { v.Want.Size = 5; v.Members = append(v.Members, learner) }),
			plan.Promote{Name: "a-3"},
			nil,
		},
		{
			"learner-unread", joining(), with(func(v *cluster.View) {
				v.Unread = "the members have no leader"
				v.Members = append(v.Members, learner)
			}), plan.Wait{For: "etcd to answer"}, nil,
		},
		{"remove", formed(), with(func(v *cluster.View) { v.Want.Size = 1 }), plan.RemoveMember{Name: "a-2", Because: "the size is 1"}, nil},
		{
			"removed", formed(), with(func(v *cluster.View) { v.Members[2].Role, v.Members[2].ID = cluster.Unlisted, 0 }),
			plan.DeletePods{Pods: []plan.PodRef{{Name: "a-2", UID: "pod-a-2"}}, Because: "etcd no longer lists it"},
			nil,
		},
		{
			"displaced", formed(), with(func(v *cluster.View) {
				for i := range v.Members {
					v.Members[i].Answers, v.Members[i].Healthy, v.Members[i].Pod.Ready = false, false, true
				}
				v.Foreign = []cluster.Object{{Kind: "Pod", Name: "a-2", Why: "it belongs to Job x"}}
				v.Unread = "members are not queried: Pod a-2 blocks the name of a member"
			}),
			plan.Refuse{Because: "Pod a-2 is in the way: it belongs to Job x"},
			nil,
		},
		{
			"split-brain", formed(), with(func(v *cluster.View) {
				v.Members[0].Healthy = false
				v.Split = "members follow different leaders, and each of them answers reads: a-0 follows a-0, a-1 follows a-1, a-2 follows a-1"
				v.Unread = v.Split
			}),
			plan.Refuse{Because: "members follow different leaders"},
			nil,
		},
		{"refuse", formed(), healthy(), plan.Refuse{Because: "etcd lists an unknown member: ID 9"}, nil},
		{"step-failed", formed(), healthy(), plan.Promote{Name: "a-3"}, errors.New("promote a-3: member not found")},
		{
			"upgrade", formed(), with(func(v *cluster.View) {
				v.Want.Version, v.Members[0].Version, v.Members[1].Version, v.Members[2].Version = "3.10.1", "3.10.0", "3.9.9", "3.10.1"
			}),
			plan.MoveLeader{From: "a-0", To: "a-1"},
			nil,
		},
		{
			"foreign-service", formed(), with(func(v *cluster.View) {
				v.Foreign = []cluster.Object{{Kind: "Service", Name: "a-client", Why: "no EtcdCluster owns it"}}
			}),
			plan.CreatePods{Names: []string{"a-2"}},
			nil,
		},
		{
			"changed-back", formed(), with(func(v *cluster.View) {
				v.Objects = []cluster.Object{
					{Kind: "Service", Name: "a", Denied: cluster.Denial{Undone: true}},
					{Kind: "Secret", Name: "a-client", Denied: cluster.Denial{Because: "no"}},
				}
			}),
			plan.CreatePods{Names: []string{"a-2"}},
			nil,
		},
		{
			"deleting", formed(),
			cluster.View{Name: "a", UID: "u1", Deleting: true, Record: healthy().Record},
			plan.Wait{For: "Kubernetes to collect the objects"},
			nil,
		},
		{
			"deleting-unformed", unformed(),
			cluster.View{Name: "a", UID: "u1", Deleting: true, Record: cluster.Record{Token: "u1", First: first}},
			plan.Wait{For: "Kubernetes to collect the objects"},
			nil,
		},
	}
}

// joining is the formed cluster for which the name a-3 is reserved.
func joining() *v1beta1.EtcdCluster {
	c := formed()
	c.Status.Joining, c.Status.NextSerial = "a-3", 4
	return c
}

// A page is a status and events, a line for each thing that a user reads.
type page struct {
	Record, Facts               map[string]any
	Members, Conditions, Events []string
}

func pageOf(status v1beta1.EtcdClusterStatus, events []report.Event) page {
	p := page{
		Record: map[string]any{
			"bootstrap": status.Bootstrap, "clusterID": status.ClusterID, "nextSerial": status.NextSerial, "joining": status.Joining,
		},
		Facts: map[string]any{
			"replicas": status.Replicas, "readyMembers": status.ReadyMembers, "version": status.Version, "endpoint": status.Endpoint,
			"selector": status.Selector, "observedGeneration": status.ObservedGeneration,
			"targetVersion": status.TargetVersion, "updatedMembers": status.UpdatedMembers, "format": status.Format,
		},
	}
	if status.VolumeSize != nil {
		p.Facts["volumeSize"] = status.VolumeSize
	}
	if status.QuorumLoss != nil {
		p.Facts["quorumLoss"] = status.QuorumLoss
	}
	if len(status.Authorities) > 0 {
		p.Facts["authorities"] = status.Authorities
	}
	if status.Revocations != nil {
		p.Facts["revocations"] = status.Revocations
	}
	if status.Rollback != nil {
		p.Record["rollback"] = status.Rollback
	}
	if status.Recovering != "" {
		p.Record["recovering"] = status.Recovering
	}
	for _, m := range status.Members {
		line := fmt.Sprintf("%s %s id=%s version=%s healthy=%v size=%v %s", m.Name, m.Role, m.ID, m.Version, m.Healthy, m.DBSize, m.Message)
		p.Members = append(p.Members, strings.TrimSpace(line))
	}
	for _, c := range status.Conditions {
		line := fmt.Sprintf("%s=%s %s of generation %d: %s", c.Type, c.Status, c.Reason, c.ObservedGeneration, c.Message)
		p.Conditions = append(p.Conditions, line)
	}
	for _, e := range events {
		p.Events = append(p.Events, fmt.Sprintf("%s %s %s: %s", e.Type, e.Action, e.Reason, e.Note))
	}
	return p
}

// TestWhatUsersRead compares the status and the events of each moment with
// testdata.
func TestWhatUsersRead(t *testing.T) {
	for _, m := range moments() {
		t.Run(m.name, func(t *testing.T) {
			status := report.Status(m.c, m.view, m.step, m.err)
			events := report.Events(m.c.Status, status, m.step, m.err)
			text, err := yaml.Marshal(pageOf(status, events))
			if err != nil {
				t.Fatal(err)
			}
			got := string(text)
			path := filepath.Join("testdata", m.name+".yaml")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("differs from %s; run with -update and read the diff:\n%s", path, got)
			}
		})
	}
}

// stored is the status as the API server gives it back.
func stored(t *testing.T, status v1beta1.EtcdClusterStatus) v1beta1.EtcdClusterStatus {
	t.Helper()
	text, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	var back v1beta1.EtcdClusterStatus
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	return back
}

// TestSecondLookWritesNothing: the same view and step upon the status that they
// made, as it was stored, change nothing and say nothing new.
func TestSecondLookWritesNothing(t *testing.T) {
	for _, m := range append(moments(), longMoments()...) {
		t.Run(m.name, func(t *testing.T) {
			m.c.Status = stored(t, report.Status(m.c, m.view, m.step, m.err))
			again := report.Status(m.c, m.view, m.step, m.err)
			if !equality.Semantic.DeepEqual(m.c.Status, again) {
				t.Errorf("the second look writes\n%+v\nover\n%+v", again, m.c.Status)
			}
			for _, event := range report.Events(m.c.Status, again, m.step, m.err) {
				if event.Type != corev1.EventTypeNormal || event.Note != m.step.String() {
					t.Errorf("the second look says again: %+v", event)
				}
			}
		})
	}
}

// TestPortsThatDifferEachTimeAreNotSaid: what fails for the same reason again is no news.
func TestPortsThatDifferEachTimeAreNotSaid(t *testing.T) {
	for _, text := range []string{
		"get secret a: dial tcp %s->10.96.0.1:443: i/o timeout", "a webhook: read udp %s->10.96.0.10:443: refused",
		"read tcp [%s->[fd00::2]:443: reset",
	} {
		after := func(from string) v1beta1.EtcdClusterStatus {
			fails := fmt.Sprintf(text, from)
			v := with(func(v *cluster.View) { v.Members[0].Pod.Trouble, v.Members[1].Pod.Denied.Because = fails, fails })
			return report.Status(formed(), v, plan.Promote{Name: "a-3"}, errors.New(fails))
		}
		one, other := after("10.0.0.1:43212"), after("10.0.0.1:51007")
		for i := range one.Conditions {
			other.Conditions[i].LastTransitionTime = one.Conditions[i].LastTransitionTime
		}
		if !equality.Semantic.DeepEqual(one, other) {
			t.Errorf("%+v\nis not\n%+v", one, other)
		}
		if failed := one.Conditions[1].Message; !strings.Contains(failed, ":443") || strings.Contains(failed, "43212") {
			t.Errorf("it says %q", failed)
		}
	}
}

// longMoments are those whose words are too many, in letters of two bytes.
func longMoments() []moment {
	long := "x" + strings.Repeat("é", 2000)
	return []moment{
		{"long refusal", formed(), healthy(), plan.Refuse{Because: long}, nil},
		{"long error", formed(), healthy(), plan.Promote{Name: "a-3"}, errors.New(long)},
		{"long wait", formed(), healthy(), plan.Wait{For: long}, nil},
		{"long trouble", formed(), with(func(v *cluster.View) { v.Members[0].Pod.Trouble = long }), plan.Done{}, nil},
		{"long alarm", formed(), with(func(v *cluster.View) { v.Members[0].Complaint = long }), plan.Done{}, nil},
	}
}

// TestMessagesStayWithinTheirLimit: of conditions and of events, in whole letters.
func TestMessagesStayWithinTheirLimit(t *testing.T) {
	const limit = 1024 // https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1
	for _, m := range append(moments(), longMoments()...) {
		status := report.Status(m.c, m.view, m.step, m.err)
		for _, c := range status.Conditions {
			if len(c.Message) > limit || c.Message == "" || !utf8.ValidString(c.Message) || c.Reason == "" {
				t.Errorf("%s: %s %s says %d bytes: %q", m.name, c.Type, c.Reason, len(c.Message), c.Message)
			}
		}
		for _, e := range report.Events(m.c.Status, status, m.step, m.err) {
			if len(e.Note) > limit || e.Note == "" || e.Reason == "" || e.Action == "" {
				t.Errorf("%s: event %+v", m.name, e)
			}
		}
	}
}

// TestEventOfTheLongestStep: every object of a cluster with the longest name.
func TestEventOfTheLongestStep(t *testing.T) {
	name := strings.Repeat("n", 52)
	var apply plan.Apply
	var start plan.CreatePods
	for _, suffix := range []string{"-client-ca", "-peer-ca", "-member-tls", "-client"} {
		apply.Objects = append(apply.Objects, cluster.Object{Kind: "Secret", Name: name + suffix})
	}
	apply.Objects = append(apply.Objects,
		cluster.Object{Kind: "Service", Name: name}, cluster.Object{Kind: "Service", Name: name + "-client"},
		cluster.Object{Kind: "PodDisruptionBudget", Name: name})
	for i := range 7 {
		start.Names = append(start.Names, cluster.MemberName(name, 1_000_000+i))
	}
	var grow plan.Apply
	for _, member := range start.Names {
		for _, part := range []cluster.Part{cluster.Owner, cluster.Size} {
			grow.Objects = append(grow.Objects, cluster.Object{Kind: "PersistentVolumeClaim", Name: member, Part: part})
		}
	}
	back := plan.RecordRollBack(healthy(), "3.6.16", "", strings.Repeat("0/900 nodes are available: é; ", 50))
	for _, step := range []plan.Step{apply, start, plan.RecordFirstMembers(unseen, start.Names), grow, back} {
		for _, e := range report.Events(v1beta1.EtcdClusterStatus{}, v1beta1.EtcdClusterStatus{}, step, nil) {
			if len(e.Note) > 1024 {
				t.Errorf("%d bytes: %s", len(e.Note), e.Note)
			}
		}
	}
}

// TestEveryStepThatChangesSomethingHasAnEvent: and none that rests.
func TestEveryStepThatChangesSomethingHasAnEvent(t *testing.T) {
	for _, step := range everyStep() {
		events := report.Events(v1beta1.EtcdClusterStatus{}, v1beta1.EtcdClusterStatus{}, step, nil)
		if (len(events) == 0) != plan.Rests(step) {
			t.Errorf("%T: events %v", step, events)
		}
		if failed := report.Events(v1beta1.EtcdClusterStatus{}, v1beta1.EtcdClusterStatus{}, step, errWrite); len(failed) > 0 {
			t.Errorf("%T that failed: events %v", step, failed)
		}
	}
}

func everyStep() []plan.Step {
	return []plan.Step{
		plan.RecordFirstMembers(unseen, first),
		plan.RecordAdoption(unseen, "u0", first, false),
		plan.Apply{},
		plan.RecordFormation(unseen, "c9", ""),
		plan.CreatePods{Names: first},
		plan.DeletePods{Pods: []plan.PodRef{{Name: "a-1"}}},
		plan.DeletePods{How: plan.Detached},
		plan.MarkPods{},
		plan.MarkPods{As: plan.Attach},
		plan.MarkPods{As: plan.Existing},
		plan.MarkPods{As: plan.Comparing},
		plan.MarkPods{As: plan.Plain},
		plan.UpdateImage{Name: "a-1"},
		plan.ResizePod{Name: "a-1"},
		plan.Downgrade{To: "3.6"},
		plan.Downgrade{},
		plan.DisarmAlarm{},
		plan.DeleteVolume{Name: "a-1"},
		plan.DeletePods{How: plan.AtOnce},
		plan.ReserveName(unseen, "a-5"),
		plan.AddLearner{Name: "a-5"},
		plan.UpdatePeerURLs{Name: "a-5"},
		plan.AdoptVolume{Name: "a-5"},
		plan.Promote{Name: "a-5"},
		plan.MoveLeader{From: "a-0", To: "a-1"},
		plan.RemoveMember{Name: "a-1"},
		plan.Quarantine{Name: "a-1"},
		plan.Wait{For: "x"},
		plan.Refuse{Because: "x"},
		plan.Done{},
	}
}

func revocation(phase cluster.RevocationPhase) cluster.Revocation {
	return cluster.Revocation{At: "2026-01-31T10:00:00.5Z", Serials: []string{"a1b2", "c3"}, Phase: phase}
}

// rotation is what the status has of the authorities while that of clients is in a phase.
func rotation(phase cluster.RotationPhase) cluster.Rotation {
	return cluster.Rotation{Authorities: []cluster.Authority{
		{Name: "client", Secret: "a-client-ca", Phase: phase, End: 2085000000, Request: "today"},
		{Name: "peer", Secret: "a-peer-ca", Phase: cluster.Stable, End: 2085000000},
	}}
}

// lastOf is the record after which nothing is left to do, as the plan says it.
func lastOf(step plan.Step) plan.Step {
	record, _ := step.(plan.Record)
	record.Last = true
	return record
}
