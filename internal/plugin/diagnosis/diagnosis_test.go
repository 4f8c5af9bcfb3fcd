package diagnosis

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
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

func (f *Facts) etcd(i int) *corev1.ContainerStatus { return &f.Pods[i].Status.ContainerStatuses[0] }

func (f *Facts) isDown(i int) { f.Cluster.Status.Members[i].Healthy = false }

func ended(at time.Time, code int32, reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, Message: message, FinishedAt: metav1.NewTime(at),
	}}
}

// TestFindings: what is said first where something is wrong, and what to do.
func TestFindings(t *testing.T) {
	for name, c := range map[string]struct {
		wrong    func(*Facts)
		what     string
		do, page string
	}{
		"quorum is lost": {
			func(f *Facts) { f.says("Available", "False", "QuorumLost", "1 of 3 voters are healthy, 2 are needed") },
			"ServiceDown: Available is False (QuorumLost): 1 of 3 voters are healthy, 2 are needed",
			"have members that are down start again: nodes that are back, room for Pods and on disks",
			"runbooks/EtcdNoQuorum.md",
		},
		"a policy may keep the operator from members": {
			func(f *Facts) {
				f.says("Available", "Unknown", "Unreachable", "the operator cannot reach members")
				f.Policies = []networkingv1.NetworkPolicy{{ObjectMeta: metav1.ObjectMeta{Name: "deny"}}}
			},
			"ServiceDown: Available is Unknown (Unreachable): the operator cannot reach members",
			"look at NetworkPolicy deny: it selects the members too; look for a NetworkPolicy or a mesh between the operator and port " +
				"2379, then at CPU and disks of members",
			"runbooks/EtcdNoLeader.md",
		},
		"no operator": {
			func(f *Facts) { f.Cluster.Status.Conditions = nil },
			"ServiceDown: no operator has looked at the cluster yet",
			"see that the operator runs, leads and watches the namespace",
			"operations/operator.md#when-it-stands-still",
		},
		"an authority has ended": {
			func(f *Facts) {
				f.Cluster.Status.Authorities[1].NotAfter = ptr.To(metav1.NewTime(f.Now.Add(-time.Hour)))
			},
			"ServiceDown: the authority for peers in Secret a-peer-ca has ended 60m ago: nobody that it has signed is accepted",
			"replace it as the page says",
			"operations/certificates.md#an-authority-that-has-ended",
		},
		"quorum is lost for good": {
			func(f *Facts) {
				f.Cluster.Status.QuorumLoss = &v1beta1.QuorumLoss{
					Lost: []string{"a-1", "a-2"}, Survivors: []v1beta1.Survivor{{Name: "a-0", Revision: 40}}, Accept: "a-0@40",
				}
			},
			"DataAtRisk: quorum is lost for good: the data of a-1, a-2 is gone; what is left: a-0 at revision 40",
			"quorum is lost for good: spec.recovery.acceptDataLoss: a-0@40 goes on from the best survivor",
			"operations/recover-quorum.md#decide",
		},
		"the newest backup is damaged": {
			func(f *Facts) {
				f.Backups[0].Status.Conditions[0] = metav1.Condition{Type: "Verified", Status: "False", Reason: "Corrupt", Message: "part 2 differs"}
			},
			"DataAtRisk: the newest backup, daily-2, cannot be restored: Corrupt: part 2 differs",
			"make another one: kubectl etcd backup a -n default --wait",
			"runbooks/EtcdBackupFailing.md",
		},
		"a claim is gone": {
			func(f *Facts) { f.Claims = f.Claims[1:] },
			"DataAtRisk: member a-0 has no PersistentVolumeClaim: its data is gone",
			"nothing while the others hold a quorum: the member is replaced",
			"operations/replace.md#a-lost-volume",
		},
		"a local volume is on a node that is gone": {
			func(f *Facts) { f.Nodes = f.Nodes[1:] },
			"DataAtRisk: the data of a-0 is on node n1, which is not in Kubernetes",
			"bring the node back with its disk",
			"operations/recover-quorum.md#nodes-that-are-gone",
		},
		"a node is silent": {
			func(f *Facts) {
				f.isDown(1)
				f.Nodes[1].Status.Conditions[0] = corev1.NodeCondition{
					Type: "Ready", Status: "Unknown", Reason: "NodeStatusUnknown",
					Message: "kubelet stopped",
				}
			},
			"RedundancyLost: member a-1 is not healthy: its node n2 is not ready: NodeStatusUnknown: kubelet stopped",
			"bring the node back; after spec.recovery.memberTimeout the member is replaced",
			"runbooks/EtcdMemberDown.md",
		},
		"a Pod is not scheduled": {
			func(f *Facts) {
				f.isDown(1)
				f.Pods[1].Spec.NodeName = ""
				f.Pods[1].Status.Conditions = []corev1.PodCondition{{Type: "PodScheduled", Status: "False", Message: "0/3 nodes are available"}}
			},
			"RedundancyLost: member a-1 is not healthy: its Pod is not scheduled: 0/3 nodes are available",
			"have a node that fits it, or change what it asks for",
			"runbooks/EtcdMemberDown.md",
		},
		"an image cannot be pulled": {
			func(f *Facts) {
				f.isDown(1)
				f.etcd(1).State.Waiting = &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such manifest"}
			},
			"RedundancyLost: member a-1 is not healthy: container etcd waits: ImagePullBackOff: no such manifest",
			"correct spec.image or spec.version, or let nodes pull the image",
			"runbooks/EtcdMemberDown.md",
		},
		"a member has no Pod": {
			func(f *Facts) { f.isDown(0); f.Pods = f.Pods[1:] },
			"RedundancyLost: member a-0 is not healthy: it has no Pod",
			"see what Progressing waits for, and the log of the operator",
			"runbooks/EtcdMemberDown.md",
		},
		"nobody leads": {
			func(f *Facts) { f.Lease.Spec.RenewTime = ptr.To(metav1.NewMicroTime(f.Now.Add(-time.Hour))) },
			"RedundancyLost: no replica of the operator holds Lease etcd-operator-system/etcd-operator.dev, since 60m: nothing heals, " +
				"backs up or upgrades",
			"see the operator's Pods: kubectl -n etcd-operator-system get pods",
			"runbooks/EtcdOperatorWithoutLeader.md",
		},
		"no Pod of the operator is ready": {
			func(f *Facts) { f.Deployments[0].Status.ReadyReplicas, f.Lease = 0, nil },
			"RedundancyLost: no Pod of the operator in namespace etcd-operator-system is ready: nothing heals",
			"see its Pods and their logs",
			"runbooks/EtcdOperatorWithoutLeader.md",
		},
		"the operator was removed": {
			func(f *Facts) { f.Deployments, f.Lease.Spec.HolderIdentity = nil, nil },
			"RedundancyLost: namespace etcd-operator-system has no Deployment of the operator, or one without replicas: nothing heals",
			"install the operator again",
			"install.md",
		},
		"it is paused": {
			func(f *Facts) {
				f.says("Progressing", "False", "Paused", "spec.paused is true: nothing is changed or healed")
			},
			"RedundancyLost: Progressing is False (Paused): spec.paused is true: nothing is changed or healed",
			"end the pause when the work by hand is done",
			"operations/roll.md#pause",
		},
		"the budget is missing": {
			func(f *Facts) { f.Budgets = nil },
			"RedundancyLost: PodDisruptionBudget a is missing: a drain may end the quorum",
			"drain nothing, and see what Progressing and the log of the operator say",
			"operations/nodes.md#drain",
		},
		"another budget": {
			func(f *Facts) {
				all := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "all"}}
				all.Spec.Selector = &metav1.LabelSelector{}
				f.Budgets = append(f.Budgets, all)
			},
			"WillBeAProblem: PodDisruptionBudget all selects the members as well: Kubernetes evicts no Pod that has two budgets",
			"delete it, or have it select other Pods",
			"operations/nodes.md#drain",
		},
		"a step fails": {
			func(f *Facts) { f.says("Progressing", "True", "StepFailed", "trying again: no") },
			"WillBeAProblem: Progressing is True (StepFailed): trying again: no",
			"fix what the message names",
			"operations/troubleshoot.md#conditions",
		},
		"the quota fills": {
			func(f *Facts) {
				f.Cluster.Spec.Etcd.Quota = size("10Gi")
				f.Cluster.Status.Members[2].DBSize = size("16Gi")
			},
			"WillBeAProblem: the database of a-2 takes more than 80 % of its quota: between 8Gi and 10Gi of 10Gi",
			"delete keys, raise etcd.quota and storage.size, or set storage.autoGrow",
			"runbooks/EtcdQuotaFills.md",
		},
		"volumes grow no further": {
			func(f *Facts) { f.Cluster.Spec.Storage.AutoGrow = &v1beta1.AutoGrow{MaxSize: *size("8Gi")} },
			"WillBeAProblem: volumes have 8Gi and grow no further: storage.autoGrow.maxSize is 8Gi",
			"raise storage.autoGrow.maxSize, or see who writes so much",
			"operations/space.md#volumes-that-grow",
		},
		"members can have no more": {
			func(f *Facts) {
				f.Cluster.Spec.Autoscale = &v1beta1.Autoscale{}
				f.Cluster.Status.Autoscale = &v1beta1.AutoscaleStatus{Refused: "exceeded quota", Since: metav1.NewTime(f.Now.Add(-5 * time.Minute))}
			},
			"WillBeAProblem: members could not be given more 5m ago: exceeded quota",
			"make room on nodes or in the quota, or lower autoscale.max",
			"operations/scale.md#more-processor-and-memory-by-use",
		},
		"members have all that is allowed": {
			func(f *Facts) {
				f.Cluster.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: *size("1Gi")}
				f.Cluster.Spec.Autoscale = &v1beta1.Autoscale{Max: v1beta1.AutoscaleMax{Memory: size("2Gi")}}
				f.Cluster.Status.Autoscale = &v1beta1.AutoscaleStatus{Memory: size("2Gi")}
			},
			"Hint: members have as much memory as autoscale.max allows: 2Gi",
			"raise autoscale.max, or see what they are asked for",
			"operations/scale.md#more-processor-and-memory-by-use",
		},
		"an authority ends": {
			func(f *Facts) {
				f.Cluster.Status.Authorities[0].NotAfter = ptr.To(metav1.NewTime(f.Now.Add(5 * 24 * time.Hour)))
			},
			"WillBeAProblem: the authority for clients in Secret a-client-ca ends in 5d",
			"see why it is not rotated, or issue an external one again",
			"runbooks/EtcdAuthorityEnds.md",
		},
		"a member is out of memory": {
			func(f *Facts) {
				f.etcd(2).RestartCount = 1
				f.etcd(2).LastTerminationState = ended(f.Now.Add(-20*time.Minute), 137, "OOMKilled", "")
			},
			"WillBeAProblem: etcd of a-2 ended 20m ago with code 137: OOMKilled; it has restarted 1 times",
			"raise the memory of spec.resources",
			"operations/roll.md#resources",
		},
		"the node has no room": {
			func(f *Facts) {
				f.Nodes[2].Status.Conditions = append(f.Nodes[2].Status.Conditions, corev1.NodeCondition{
					Type: "DiskPressure", Status: "True",
					Message: "disk",
				})
			},
			"WillBeAProblem: node n3 of a-2 has DiskPressure: disk",
			"make room on the node, or drain it",
			"operations/nodes.md#drain",
		},
		"two share a node": {
			func(f *Facts) { f.Pods[1].Spec.NodeName = "n1" },
			"WillBeAProblem: a-0, a-1 run on node n1: the quorum ends with it",
			"spread members over nodes by spec.scheduling",
			"operations/nodes.md#spread-over-nodes-and-zones",
		},
		"scheduled backups fail": {
			func(f *Facts) {
				f.Cluster.Status.Backup.Conditions[0] = metav1.Condition{Type: "BackedUp", Status: "False", Reason: "StoreUnready", Message: "no"}
			},
			"WillBeAProblem: BackedUp is False (StoreUnready): no",
			"correct what the message names",
			"runbooks/EtcdBackupFailing.md",
		},
		"the backup is old": {
			func(f *Facts) { f.Backups[0].Status.StartedAt = ptr.To(metav1.NewTime(f.Now.Add(-72 * time.Hour))) },
			"WillBeAProblem: the newest verified backup, daily-2, is 3d old",
			"see why later ones fail or are not verified: kubectl etcd backups a",
			"runbooks/EtcdNoVerifiedBackup.md",
		},
		"the store is missing": {
			func(f *Facts) { f.Stores = nil },
			"WillBeAProblem: spec.backup.store names EtcdBackupStore offsite, which does not exist",
			"create it",
			"operations/stores.md",
		},
		"a version was rolled back": {
			func(f *Facts) {
				f.Cluster.Status.Rollback = &v1beta1.Rollback{Refused: "3.7.0", Version: "3.6.16", Because: "a-2 did not start"}
			},
			"WillBeAProblem: etcd 3.7.0 was tried and rolled back to 3.6.16: a-2 did not start",
			"set spec.version to another version",
			"operations/upgrade.md#when-the-new-version-does-not-run",
		},
		"a member is one too many": {
			func(f *Facts) {
				f.says("Available", "True", "QuorumHealthy", "3 of 4 voters are healthy, 3 are wanted")
			},
			"Hint: Available is True (QuorumHealthy): 3 of 4 voters are healthy, 3 are wanted",
			"see which member is missing or is one too many, below and in Progressing",
			"runbooks/EtcdMemberDown.md",
		},
		"it hibernates": {
			func(f *Facts) {
				f.Cluster.Spec.Size = ptr.To[int32](0)
				f.says("Available", "False", "Hibernated", "spec.size is 0")
			},
			"Hint: Available is False (Hibernated): spec.size is 0",
			"set spec.size to wake the cluster",
			"operations/scale.md#hibernate-and-wake",
		},
		"there is no backup": {
			func(f *Facts) { f.Backups, f.Cluster.Spec.Backup, f.Cluster.Status.Backup = nil, nil, nil },
			"Hint: there is no verified backup",
			"kubectl etcd backup a -n default --store STORE --wait",
			"operations/backup.md",
		},
		"a volume is kept": {
			func(f *Facts) {
				aside := *f.Claims[0].DeepCopy()
				aside.Name, aside.Labels[v1beta1.LabelMember], aside.Labels[v1beta1.LabelQuarantined] = "a-7", "a-7", "true"
				f.Claims = append(f.Claims, aside)
			},
			"Hint: volumes of members that were removed are kept: a-7 (8Gi)",
			"nothing: they are deleted after 7d",
			"operations/replace.md",
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
			"see all: kubectl events -n default --types=Warning",
			"operations/troubleshoot.md#events",
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
			if what != c.what || first.Do != c.do || first.Page != Manual+c.page {
				t.Errorf("it says\n%s\n%s\n%s\nwanted\n%s\n%s\n%s", what, first.Do, first.Page, c.what, c.do, c.page)
			}
			if d.Healthy != (first.Severity == Hint) {
				t.Errorf("healthy is %t", d.Healthy)
			}
		})
	}
}

func size(text string) *resource.Quantity { return ptr.To(resource.MustParse(text)) }

// TestNothingIsWrong: a healthy cluster has no finding, and it is said what was looked at.
func TestNothingIsWrong(t *testing.T) {
	d := Of(healthy(t))
	if len(d.Findings) > 0 || !d.Healthy {
		t.Errorf("%+v", d.Findings)
	}
	const want = `default/a: Healthy

Nothing is wrong.

LOOKED AT
  the EtcdCluster, 3 Pods, 3 PersistentVolumeClaims, 1 PersistentVolumes, 3 Nodes, 1 EtcdBackups, 1 EtcdBackupStores, 0
  EtcdRestores, 1 NetworkPolicies, 1 PodDisruptionBudgets, 0 Events, 1 Deployments of the operator, the Lease of the
  operator
`
	if is := Text(d, 120); is != want {
		t.Errorf("%s\nwanted\n%s", is, want)
	}
}

// TestTheWorstComesFirst: under headings, whatever was looked at first.
func TestTheWorstComesFirst(t *testing.T) {
	f := healthy(t)
	f.Backups = nil
	f.Cluster.Status.Rollback = &v1beta1.Rollback{Refused: "3.7.0", Version: "3.6.16", Because: "a-2 did not start"}
	f.isDown(1)
	f.Cluster.Status.Members[1].Message = "it does not answer"
	f.says("Available", "False", "QuorumLost", "1 of 3 voters are healthy")
	f.Unread = []string{"Nodes could not be read: forbidden"}
	text := Text(Of(f), 120)
	at := 0
	for _, part := range []string{
		"THE SERVICE IS DOWN\n  1. Available is False", "See: " + Manual + "runbooks/EtcdNoQuorum.md",
		"REDUNDANCY IS LOST\n  2. member a-1 is not healthy: it does not answer", "WILL BE A PROBLEM\n", "3. there is no verified backup",
		"COULD NOT BE READ\n  Nodes could not be read: forbidden",
	} {
		next := strings.Index(text[at:], part)
		if next < 0 {
			t.Fatalf("%q is not there, or not in its place:\n%s", part, text)
		}
		at += next
	}
}

// TestAMemberIsNamedOnce: what conditions say of a member that is down is not said beside what Kubernetes says of its Pod.
func TestAMemberIsNamedOnce(t *testing.T) {
	f := healthy(t)
	f.isDown(1)
	f.Cluster.Status.ReadyMembers = 2
	f.says("Available", "True", "QuorumHealthy", "2 of 3 voters are healthy, 3 are wanted")
	f.says("Degraded", "True", "MemberDown", "a-1 not healthy")
	if d := Of(f); len(d.Findings) != 1 || !strings.HasPrefix(d.Findings[0].What, "member a-1 is not healthy") {
		t.Errorf("%+v", d.Findings)
	}
}

// TestDeleted: of a cluster that goes nothing is missing.
func TestDeleted(t *testing.T) {
	f := healthy(t)
	f.Cluster.DeletionTimestamp = ptr.To(metav1.NewTime(f.Now))
	f.Pods, f.Claims, f.Budgets = nil, nil, nil
	f.isDown(0)
	f.says("Available", "False", "Deleting", "the EtcdCluster is being deleted")
	if d := Of(f); len(d.Findings) != 1 || !d.Healthy {
		t.Errorf("%+v", d.Findings)
	}
}

// TestALearnerGetsItsVolumeYet: it is listed before it has one.
func TestALearnerGetsItsVolumeYet(t *testing.T) {
	f := healthy(t)
	f.Cluster.Status.Members = append(f.Cluster.Status.Members, v1beta1.MemberStatus{Name: "a-3", Role: v1beta1.RoleLearner, Healthy: true})
	if d := Of(f); len(d.Findings) > 0 {
		t.Errorf("%+v", d.Findings)
	}
}

// TestALeaseIsEnough: an operator that holds it leads, whatever runs it.
func TestALeaseIsEnough(t *testing.T) {
	f := healthy(t)
	f.Deployments = nil
	if d := Of(f); len(d.Findings) > 0 {
		t.Errorf("%+v", d.Findings)
	}
}

// TestWhatWasNotReadIsNotMissing: without rights for anything but the EtcdCluster nothing is said to be missing.
func TestWhatWasNotReadIsNotMissing(t *testing.T) {
	f := Facts{Now: healthy(t).Now, Cluster: healthy(t).Cluster}
	if d := Of(f); len(d.Findings) > 0 {
		t.Errorf("%+v", d.Findings)
	}
	f.isDown(0)
	f.Cluster.Status.Members[0].Message = "its Pod is not there"
	d := Of(f)
	if len(d.Findings) != 1 || d.Findings[0].What != "member a-0 is not healthy: its Pod is not there" {
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
