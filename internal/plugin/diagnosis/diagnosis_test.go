// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// healthy are the facts that every case of these tests begins with.
func healthy(t *testing.T) Facts {
	t.Helper()
	raw, err := os.ReadFile("testdata/healthy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var f Facts
	if err := yaml.UnmarshalStrict(raw, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// says sets a condition of the cluster.
func (f *Facts) says(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&f.Cluster.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(f.Now.Add(-2 * time.Hour)),
	})
}

// TestFindings: what is said first where something is wrong, and what to do.
func TestFindings(t *testing.T) {
	for name, c := range map[string]struct {
		wrong         func(*Facts)
		what          string
		do, run, page string
	}{
		"quorum is lost": {
			func(f *Facts) { f.says("Available", "False", "QuorumLost", "1 of 3 voters are healthy, 2 are needed") },
			"ServiceDown: Available is False (QuorumLost): 1 of 3 voters are healthy, 2 are needed",
			"have members that are down start again: nodes that are back, room for Pods and on disks",
			"kubectl get pods -l etcd-operator.dev/cluster=a -o wide -n default",
			"runbooks/EtcdNoQuorum.md",
		},
		"no operator": {
			func(f *Facts) { f.Cluster.Status.Conditions = nil },
			"ServiceDown: no operator has looked at the cluster yet",
			"see that the operator runs, leads and watches the namespace",
			"kubectl etcd status a -n default",
			"operations/operator.md#when-it-stands-still",
		},
		"nobody leads": {
			func(f *Facts) { f.Lease.Spec.RenewTime = ptr.To(metav1.NewMicroTime(f.Now.Add(-time.Hour))) },
			"RedundancyLost: no replica of the operator holds Lease etcd-operator-system/etcd-operator.dev, since 60m: nothing heals, " +
				"backs up or upgrades, and conditions stay as they were",
			"see the operator's Pods and their logs",
			"kubectl get pods -n etcd-operator-system",
			"runbooks/EtcdOperatorWithoutLeader.md",
		},
		"it is paused": {
			func(f *Facts) {
				f.says("Progressing", "False", "Paused", "spec.paused is true: nothing is changed or healed")
			},
			"RedundancyLost: Progressing is False (Paused): spec.paused is true: nothing is changed or healed",
			"end the pause when the work by hand is done",
			"kubectl etcd status a -n default",
			"operations/roll.md#pause",
		},
		"scheduled backups fail": {
			func(f *Facts) {
				f.Cluster.Status.Backup.Conditions[0] = metav1.Condition{Type: "BackedUp", Status: "False", Reason: "StoreUnready", Message: "no"}
			},
			"WillBeAProblem: BackedUp is False (StoreUnready): no",
			"correct what the message names",
			"kubectl etcd backups a -n default",
			"runbooks/EtcdBackupFailing.md",
		},
		"the newest backup is damaged": {
			func(f *Facts) {
				f.Backups[0].Status.Conditions[0] = metav1.Condition{Type: "Verified", Status: "False", Reason: "Corrupt", Message: "part 2 differs"}
			},
			"DataAtRisk: the newest backup, daily-2: Verified is False (Corrupt): part 2 differs",
			"make another one",
			"kubectl etcd backup a --wait -n default",
			"runbooks/EtcdBackupFailing.md",
		},
		"a member is one too many": {
			func(f *Facts) {
				f.says("Available", "True", "QuorumHealthy", "3 of 4 voters are healthy, 3 are wanted")
			},
			"Hint: Available is True (QuorumHealthy): 3 of 4 voters are healthy, 3 are wanted",
			"see which member is missing or is one too many",
			"kubectl etcd status a -n default",
			"runbooks/EtcdMemberDown.md",
		},
		"it hibernates": {
			func(f *Facts) {
				f.Cluster.Spec.Size = ptr.To[int32](0)
				f.says("Available", "False", "Hibernated", "spec.size is 0")
			},
			"Hint: Available is False (Hibernated): spec.size is 0",
			"set spec.size to wake the cluster",
			"kubectl etcd status a -n default",
			"operations/scale.md#hibernate-and-wake",
		},
		"a warning": {
			func(f *Facts) {
				e := corev1.Event{Type: "Warning", Reason: "FailedMount", Message: "no", LastTimestamp: metav1.NewTime(f.Now.Add(-5 * time.Minute))}
				e.InvolvedObject = corev1.ObjectReference{Kind: "Pod", Name: "a-1"}
				late := e
				late.LastTimestamp = metav1.NewTime(f.Now.Add(-2 * time.Hour))
				late.Reason = "TooOld"
				f.Events = []corev1.Event{late, e, e}
			},
			"Hint: warnings of the last hour: 5m ago Pod a-1: FailedMount: no",
			"see what they name",
			"kubectl events --types=Warning -n default",
			"operations/troubleshoot.md#events",
		},
		"a disk is slow": {
			func(f *Facts) { f.says("PerformanceDegraded", "True", "SlowDisk", "the disk of a-1 takes 40ms") },
			"WillBeAProblem: PerformanceDegraded is True (SlowDisk): the disk of a-1 takes 40ms",
			"look at the disk, CPU and node that the message names",
			"kubectl get pods -l etcd-operator.dev/cluster=a -o wide -n default",
			"operations/nodes.md#slow-members",
		},
		"the log is behind": {
			func(f *Facts) {
				f.Cluster.Status.Log = &v1beta1.LogStatus{Conditions: []metav1.Condition{
					{Type: "LogCurrent", Status: "False", Reason: "Behind", Message: "the store answers 503"},
				}}
			},
			"WillBeAProblem: LogCurrent is False (Behind): the store answers 503",
			"see whether the message changes",
			"kubectl etcd status a -n default",
			"operations/log.md#what-needs-your-help",
		},
		"the store is not ready": {
			func(f *Facts) {
				f.Stores[0].Status.Conditions[0] = metav1.Condition{Type: "Ready", Status: "False", Reason: "Unusable", Message: "403"}
			},
			"WillBeAProblem: EtcdBackupStore offsite: Ready is False (Unusable): 403",
			"correct what the message names",
			"kubectl describe etcdbackupstores.etcd-operator.dev offsite -n default",
			"operations/stores.md#check-store-health",
		},
		"a backup by hand fails": {
			func(f *Facts) {
				f.Cluster.Spec.Backup, f.Backups[0].Status.Phase = nil, v1beta1.BackupFailed
				f.Backups[0].Status.Conditions = []metav1.Condition{{Type: "Complete", Status: "False", Reason: "Failed", Message: "no room"}}
			},
			"WillBeAProblem: the newest backup, daily-2: Complete is False (Failed): no room",
			"correct what the message names, and make another one",
			"kubectl etcd backup a --store STORE --wait -n default",
			"runbooks/EtcdBackupFailing.md",
		},
		"a restore was not confirmed": {
			func(f *Facts) {
				r := v1beta1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Spec: v1beta1.EtcdRestoreSpec{Cluster: "a"}}
				r.Status.Conditions = []metav1.Condition{{Type: "Complete", Status: "False", Reason: "Unconfirmed", Message: "set confirm"}}
				f.Restores = []v1beta1.EtcdRestore{r}
			},
			"Hint: EtcdRestore r: Complete is False (Unconfirmed): set confirm",
			"do what the message says, or delete it",
			"kubectl describe etcdrestores.etcd-operator.dev r -n default",
			"operations/restore.md#what-stops-a-restore",
		},
		"it waits": {
			func(f *Facts) { f.says("Progressing", "True", "Waiting", "waiting for a-1 to catch up") },
			"Hint: Progressing is True (Waiting): waiting for a-1 to catch up",
			"see whether what the message names gets on",
			"kubectl etcd status a -n default",
			"operations/troubleshoot.md#what-the-messages-lead-to",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy(t)
			c.wrong(&f)
			d := Of(f)
			if len(d.Findings) == 0 {
				t.Fatal("nothing is found")
			}
			first := d.Findings[0]
			what := string(first.Severity) + ": " + first.What
			if want := (Finding{first.Severity, first.What, c.do, c.run, Manual + c.page}); what != c.what || first != want {
				t.Errorf("it says\n%s\n%+v\nwanted\n%s\n%+v", what, first, c.what, want)
			}
			if d.Healthy != (first.Severity == Hint) {
				t.Errorf("healthy is %t", d.Healthy)
			}
		})
	}
}

// TestNothingIsWrong: a healthy cluster has no finding, and it is said what was looked at.
func TestNothingIsWrong(t *testing.T) {
	d := Of(healthy(t))
	if len(d.Findings) > 0 || !d.Healthy {
		t.Errorf("%+v", d.Findings)
	}
	const want = `default/a: Healthy

Nothing is wrong.

LOOKED AT
  the EtcdCluster, 1 EtcdBackups, 1 EtcdBackupStores, 0 EtcdRestores, 0 Events, the Lease of the operator
`
	if is := Text(d, 120); is != want {
		t.Errorf("%s\nwanted\n%s", is, want)
	}
}

// TestTheWorstComesFirst: under headings, whatever was looked at first.
func TestTheWorstComesFirst(t *testing.T) {
	f := healthy(t)
	f.says("Progressing", "True", "Waiting", "waiting for a-1")
	f.says("Degraded", "True", "MemberDown", "a-1 not healthy: it does not answer")
	f.says("Available", "False", "QuorumLost", "1 of 3 voters are healthy")
	f.says("PerformanceDegraded", "True", "SlowDisk", "slow")
	f.Unread = []string{"Events could not be read: forbidden"}
	text := Text(Of(f), 120)
	at := 0
	for _, part := range []string{
		"THE SERVICE IS DOWN\n  1. Available is False", "See: " + Manual + "runbooks/EtcdNoQuorum.md",
		"REDUNDANCY IS LOST\n  2. Degraded is True (MemberDown): a-1 not healthy: it does not answer",
		"Run: kubectl get pods -l etcd-operator.dev/cluster=a -o wide -n default",
		"WILL BE A PROBLEM\n", "HINTS\n", "4. Progressing is True (Waiting)",
		"COULD NOT BE READ\n  Events could not be read: forbidden",
	} {
		next := strings.Index(text[at:], part)
		if next < 0 {
			t.Fatalf("%q is not there, or not in its place:\n%s", part, text)
		}
		at += next
	}
}

// TestAMemberIsNamedOnce: that a member is missing is not said of Available where Degraded names it.
func TestAMemberIsNamedOnce(t *testing.T) {
	f := healthy(t)
	f.Cluster.Status.ReadyMembers = 2
	f.says("Available", "True", "QuorumHealthy", "2 of 3 voters are healthy, 3 are wanted")
	if d := Of(f); len(d.Findings) != 1 || d.Findings[0].Severity != RedundancyLost {
		t.Errorf("within the first minute: %+v", d.Findings)
	}
	f.says("Degraded", "True", "MemberDown", "a-1 not healthy")
	if d := Of(f); len(d.Findings) != 1 || !strings.HasPrefix(d.Findings[0].What, "Degraded is True") {
		t.Errorf("%+v", d.Findings)
	}
}

// TestDeleted: of a cluster that goes nothing is missing.
func TestDeleted(t *testing.T) {
	f := healthy(t)
	f.Cluster.DeletionTimestamp = ptr.To(metav1.NewTime(f.Now))
	f.Lease = nil
	f.says("Available", "False", "Deleting", "the EtcdCluster is being deleted")
	if d := Of(f); len(d.Findings) != 1 || !d.Healthy {
		t.Errorf("%+v", d.Findings)
	}
}

// TestWhatWasNotReadIsNotMissing: without rights for anything but the EtcdCluster nothing is said to be missing.
func TestWhatWasNotReadIsNotMissing(t *testing.T) {
	f := Facts{Now: healthy(t).Now, Cluster: healthy(t).Cluster}
	if d := Of(f); len(d.Findings) > 0 {
		t.Errorf("%+v", d.Findings)
	}
}

// TestEverySeverityHasAHeading: but the one that no finding has.
func TestEverySeverityHasAHeading(t *testing.T) {
	for _, s := range severities {
		if (headings[s] == "") != (s == Fine) {
			t.Errorf("the heading of %s is %q", s, headings[s])
		}
	}
	if !slices.IsSortedFunc(severities, func(a, b Severity) int { return rank(a) - rank(b) }) {
		t.Error("severities are not in their order")
	}
}
