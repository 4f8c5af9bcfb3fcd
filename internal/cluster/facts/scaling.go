package facts

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/memory"
	"github.com/etcd-operator/etcd-operator/internal/cluster/scale"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

const (
	// refusedAfter is for how long the kubelet or the scheduler may find no room.
	refusedAfter = 2 * time.Minute
	// killedFor is for how long it counts that a member was killed for want of memory.
	killedFor = 10 * time.Minute
)

// usages are what members have used, if they were asked for it.
func (j *builder) usages() {
	for _, m := range j.v.Members {
		for _, a := range j.Answers {
			if a.Member == m.Name && a.Timings != nil && m.Role == cluster.Voter && m.Healthy {
				j.v.Usages = append(j.v.Usages, cluster.Usage{Member: m.Name, CPUSeconds: a.Timings.CPUSeconds, Memory: int64(a.Timings.Memory)})
			}
		}
	}
}

// scaling is what compute resources members are to have beyond the spec. They only grow: what was given stays given.
func scaling(s Snapshot, v cluster.View, remembered *memory.Cluster) cluster.Scaling {
	c := s.Cluster
	if c.Spec.Autoscale == nil || IsLeftAlone(c) || v.Record.Recovering != "" {
		return cluster.Scaling{}
	}
	cpu, mem := c.Computing(corev1.ResourceCPU), c.Computing(corev1.ResourceMemory)
	look := scale.Look{
		At: s.Now, Members: v.Count(cluster.IsVoter), Usages: v.Usages,
		CPU: scale.Range{Now: cpu.Now, Most: cpu.Most}, Memory: scale.Range{Now: mem.Now, Most: mem.Most},
	}
	wants := remembered.Scale(look)
	if was := v.Record.Scaled.Refused; was != "" || slices.ContainsFunc(v.Members, cluster.IsCramped) {
		return refused(v, was, beyond(c), s.Now.Unix())
	}
	if name := killed(s); name != "" && mem.Now < mem.Most {
		wants = cluster.Scaling{
			Size: cluster.Computing{Memory: scale.NextMemory(look.Memory)},
			Why:  fmt.Sprintf("%s was killed for want of memory: it had %d MiB", name, mem.Now>>20),
		}
	}
	if wants.Why == "" || s.Resizes == specs.ResizesNothing {
		return cluster.Scaling{}
	}
	wants.Size = cluster.Computing{CPU: cmp.Or(wants.Size.CPU, cpu.Now), Memory: cmp.Or(wants.Size.Memory, mem.Now)}
	wants.At = s.Now.Unix()
	return wants
}

// refused says once that a member cannot have what it is given, and once that all of them have it. Meanwhile none is given more.
func refused(v cluster.View, was string, size cluster.Computing, at int64) cluster.Scaling {
	waits := func(m cluster.Member) bool { return m.Pod.Change == cluster.Resize || m.Pod.Resizing != "" }
	i := slices.IndexFunc(v.Members, cluster.IsCramped)
	switch {
	case i >= 0 && was == "":
		return cluster.Scaling{Size: size, Why: v.Members[i].Pod.Cramped, Refused: true, At: at}
	case i < 0 && was != "" && !slices.ContainsFunc(v.Members, waits):
		return cluster.Scaling{Size: size, Why: "every member has it now", At: at}
	}
	return cluster.Scaling{}
}

// leaveCramped leaves a member as it runs that cannot have what it is given beyond the spec: neither another Pod nor another member is
// changed for it, and nothing waits.
func (j *builder) leaveCramped(remembered *memory.Cluster) {
	if !j.c.IsScaled() {
		return
	}
	for i := range j.v.Members {
		pod := &j.v.Members[i].Pod
		has := j.pods[j.v.Members[i].Name]
		if has == nil {
			continue
		}
		denied := remembered.ResizeRefused(j.v, has.Name, j.Now)
		if denied != "" && pod.Change == cluster.Resize {
			pod.Change = cluster.Same
		}
		if pod.Cramped = cmp.Or(denied, crampedBy(has, j.Snapshot)); pod.Cramped != "" {
			pod.Resizing = ""
		}
	}
}

// crampedBy says why a Pod cannot have what it was given beyond the spec; empty if it can.
func crampedBy(pod *corev1.Pod, s Snapshot) string {
	pending := hasCondition(pod, corev1.PodResizePending, corev1.ConditionTrue)
	unplaced := hasCondition(pod, corev1.PodScheduled, corev1.ConditionFalse)
	waits := func(c *corev1.PodCondition) bool {
		return c != nil && !s.isRecent(c.LastTransitionTime.Time, refusedAfter)
	}
	switch {
	case pod.DeletionTimestamp != nil:
	case waits(unplaced):
		return fmt.Sprintf("no node has room for %s: %s", pod.Name, unplaced.Message)
	case pending != nil && pending.Reason == corev1.PodReasonInfeasible, waits(pending), specs.IsStuck(pod, s.Now):
		return fmt.Sprintf("%s cannot have it where it runs: %s", pod.Name, resizing(pod))
	}
	return ""
}

// killed is a member whose etcd was killed for want of the memory that it is to have now; empty if there is none.
func killed(s Snapshot) string {
	since := ptr.Deref(s.Cluster.Status.Autoscale, v1beta1.AutoscaleStatus{}).Since
	for i := range s.Pods {
		pod := &s.Pods[i]
		status := specs.EtcdStatus(pod)
		for _, state := range []corev1.ContainerState{status.State, status.LastTerminationState} {
			wanted := s.Cluster.MemberResources().Limits[corev1.ResourceMemory]
			had := specs.Etcd(pod).Resources.Limits[corev1.ResourceMemory]
			if end := state.Terminated; end != nil && end.Reason == "OOMKilled" && s.isRecent(end.FinishedAt.Time, killedFor) &&
				had.Cmp(wanted) >= 0 && end.FinishedAt.After(since.Time) {
				return pod.Name
			}
		}
	}
	return ""
}

// beyond is what members are given beyond the spec.
func beyond(c *v1beta1.EtcdCluster) cluster.Computing {
	return cluster.Computing{CPU: c.Computing(corev1.ResourceCPU).Now, Memory: c.Computing(corev1.ResourceMemory).Now}
}
