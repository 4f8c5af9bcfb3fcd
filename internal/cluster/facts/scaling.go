package facts

import (
	"cmp"
	"fmt"
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
	// refusedFor is for how long members are given no more after that was refused.
	refusedFor = time.Hour
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

// scaling is what compute resources members are to have beyond the spec.
func scaling(s Snapshot, v cluster.View, remembered *memory.Cluster) cluster.Scaling {
	c := s.Cluster
	if c.Spec.Autoscale == nil || IsLeftAlone(c) || v.Record.Recovering != "" {
		return cluster.Scaling{}
	}
	cpu, mem := c.Computing(corev1.ResourceCPU), c.Computing(corev1.ResourceMemory)
	refused, has := cmp.Or(remembered.ResizeRefused(v), refusedScaling(s)), given(s, cpu, mem)
	if refused != "" && has != beyond(c) { // else it is undone, and Pods are about to be resized
		return cluster.Scaling{Size: has, Why: refused, Refused: true, At: s.Now.Unix()}
	}
	look := scale.Look{
		At: s.Now, Members: v.Count(cluster.IsVoter), Usages: v.Usages, Window: c.Spec.Autoscale.StabilizationWindow.Duration,
		CPU: scale.Range(cpu), Memory: scale.Range(mem),
	}
	wants := remembered.Scale(look)
	if name := killed(s); name != "" && mem.Now < mem.Most {
		wants = cluster.Scaling{
			Size: cluster.Computing{Memory: scale.NextMemory(look.Memory)},
			Why:  fmt.Sprintf("%s was killed for want of memory: it had %d MiB", name, mem.Now>>20),
		}
	}
	wants.Size = cluster.Computing{CPU: cmp.Or(wants.Size.CPU, cpu.Now), Memory: cmp.Or(wants.Size.Memory, mem.Now)}
	grows := wants.Size.CPU > cpu.Now || wants.Size.Memory > mem.Now
	last := ptr.Deref(c.Status.Autoscale, v1beta1.AutoscaleStatus{})
	cannot := s.Resizes == specs.ResizesNothing || wants.Size.Memory < mem.Now && s.Resizes != specs.ResizesAll
	if wants.Why == "" || cannot || grows && last.Refused != "" && s.isRecent(last.Since.Time, refusedFor) {
		return cluster.Scaling{}
	}
	wants.At = s.Now.Unix()
	return wants
}

// refusedScaling says why a Pod cannot have what it was given beyond the spec; empty if it can.
func refusedScaling(s Snapshot) string {
	for i := range s.Pods {
		pod := &s.Pods[i]
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
	}
	return ""
}

// given is the least that any Pod really has of what it is to have.
func given(s Snapshot, cpu, mem v1beta1.Computing) cluster.Computing {
	for i := range s.Pods {
		if has := specs.EtcdStatus(&s.Pods[i]).Resources; has != nil {
			cpu.Now = least(cpu, corev1.ResourceCPU, *has)
			mem.Now = least(mem, corev1.ResourceMemory, *has)
		} else { // it does not run: what the spec says has room anywhere
			cpu.Now, mem.Now = cpu.Least, mem.Least
		}
	}
	return cluster.Computing{CPU: cpu.Now, Memory: mem.Now}
}

func least(is v1beta1.Computing, of corev1.ResourceName, has corev1.ResourceRequirements) int64 {
	quantity, limited := has.Limits[of]
	if !limited {
		quantity = has.Requests[of]
	}
	return max(is.Least, min(is.Now, v1beta1.AmountOf(of, quantity)))
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
