// Package report turns a view and the step that was taken into what people read:
// status, conditions and events.
//
// It is pure. It must never write anything, nor say what a step will do before the
// plan has chosen it.
package report

import (
	"math/bits"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/build"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/plan"
)

// Status is the status after the step, given the error that it ended with. What
// the step wants remembered is in it.
func Status(c *v1alpha1.EtcdCluster, v cluster.View, step plan.Step, err error) v1alpha1.EtcdClusterStatus {
	status := *c.Status.DeepCopy()
	if err == nil {
		remember(&status, v, step)
		v, step = lookAhead(v, step)
	}
	if !v.Deleting {
		facts(&status, c, v)
	}
	status.ObservedGeneration = c.Generation
	status.Conditions = conditions(c, v, step, err)
	return status
}

// lookAhead is the view once the formed cluster is remembered, and the end of its
// bootstrap if nothing else is left to do: one write says both.
func lookAhead(v cluster.View, step plan.Step) (cluster.View, plan.Step) {
	s, formed := step.(plan.Remember)
	if !formed {
		return v, step
	}
	v.Record.ClusterID = s.ClusterID
	if next, _ := plan.Next(v); next == (plan.Done{}) {
		return v, next
	}
	return v, step
}

// remember writes down what only the status can remember.
func remember(status *v1alpha1.EtcdClusterStatus, v cluster.View, step plan.Step) {
	switch s := step.(type) {
	case plan.Freeze:
		status.Bootstrap = &v1alpha1.Bootstrap{Token: v.UID, Members: s.Members}
		status.NextSerial = max(status.NextSerial, after(v.Name, s.Members))
	case plan.Adopt:
		status.Bootstrap = &v1alpha1.Bootstrap{Token: s.Token, Members: s.Members, Adopted: s.Formed}
		status.NextSerial = max(status.NextSerial, after(v.Name, s.Members))
	case plan.Remember:
		status.ClusterID = s.ClusterID
	case plan.Reserve:
		status.Joining = s.Name
		status.NextSerial = max(status.NextSerial, after(v.Name, []string{s.Name}))
	case plan.Furnish, plan.Start, plan.Stop, plan.AddLearner, plan.Promote, plan.MoveLeader, plan.Remove,
		plan.Quarantine, plan.Wait, plan.Refuse, plan.Done:
	}
	if m, _ := v.Member(status.Joining); m.Role != cluster.Unlisted && v.Unread == "" {
		status.Joining = ""
	}
}

// after is the first serial that none of the names has.
func after(name string, members []string) int64 {
	next := 0
	for _, member := range members {
		next = max(next, cluster.Serial(name, member)+1)
	}
	return int64(next)
}

// facts are what is seen of the members, once they are a cluster.
func facts(status *v1alpha1.EtcdClusterStatus, c *v1alpha1.EtcdCluster, v cluster.View) {
	status.Selector = build.SelectorText(c)
	status.Endpoint = build.Endpoint(c)
	if !v.Formed() {
		return // while the first members start, their conditions say enough
	}
	status.Replicas = int32(len(v.Select(cluster.IsVoter)))                        //nolint:gosec // at most a few
	status.ReadyMembers = int32(len(v.Select(cluster.IsVoter, cluster.IsHealthy))) //nolint:gosec // at most a few
	old := map[string]v1alpha1.MemberStatus{}
	for _, m := range status.Members {
		old[m.Name] = m
	}
	status.Members = nil
	lowest := ""
	for _, m := range v.Members {
		if m.Role == cluster.Unlisted && !m.Pod.Exists {
			continue
		}
		status.Members = append(status.Members, member(m, old[m.Name]))
		if m.Version != "" && (lowest == "" || older(m.Version, lowest)) {
			lowest = m.Version
		}
	}
	if lowest != "" {
		status.Version = lowest
	}
}

func member(m cluster.Member, old v1alpha1.MemberStatus) v1alpha1.MemberStatus {
	status := v1alpha1.MemberStatus{
		Name: m.Name, Role: role(m), Version: m.Version, Healthy: m.Healthy, DBSize: old.DBSize,
		Message: problem(m),
	}
	if m.ID != 0 {
		status.ID = strconv.FormatUint(m.ID, 16)
	}
	if m.DBSize > 0 {
		status.DBSize = rounded(m.DBSize)
	}
	return status
}

func role(m cluster.Member) string {
	switch {
	case m.Role == cluster.Learner:
		return v1alpha1.RoleLearner
	case m.Role == cluster.Voter && m.Leader:
		return v1alpha1.RoleLeader
	case m.Role == cluster.Voter:
		return v1alpha1.RoleVoter
	default:
		return v1alpha1.RoleUnlisted
	}
}

func problem(m cluster.Member) string {
	var problems []string
	if m.Pod.Trouble != "" {
		problems = append(problems, m.Pod.Trouble)
	}
	if m.Complaint != "" {
		problems = append(problems, m.Complaint)
	}
	return strings.Join(problems, "; ")
}

// rounded is the size rounded up to a power of two: a size that grows with every
// write must not write the status with every write.
func rounded(size int64) *resource.Quantity {
	return resource.NewQuantity(1<<bits.Len64(uint64(size-1)), resource.BinarySI) //nolint:gosec // size is positive
}

// older compares full etcd versions by their numbers.
func older(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(x), len(y)) {
		m, _ := strconv.Atoi(x[i])
		n, _ := strconv.Atoi(y[i])
		if m != n {
			return m < n
		}
	}
	return false
}
