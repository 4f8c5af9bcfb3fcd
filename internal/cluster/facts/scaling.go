// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/memory"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// refusedAfter is for how long the kubelet or the scheduler may find no room.
const refusedAfter = 2 * time.Minute

// usages are what members have used, if they were asked for it, and which lacked memory.
func (j *builder) usages() {
	for i, m := range j.v.Members {
		if pod := j.pods[m.Name]; pod != nil {
			killed(&j.v.Members[i].Pod, pod)
		}
		for _, a := range j.Answers {
			if a.Member == m.Name && a.Timings != nil && m.Role == cluster.Voter && m.Healthy {
				j.v.Usages = append(j.v.Usages, cluster.Usage{Member: m.Name, CPUSeconds: a.Timings.CPUSeconds, Memory: int64(a.Timings.Memory)})
			}
		}
	}
}

// autoscale is what the spec says of compute resources beyond it.
func autoscale(s Snapshot, v cluster.View) cluster.Autoscale {
	c := s.Cluster
	if c.Spec.Autoscale == nil || IsLeftAlone(c) || v.Record.Recovering != "" {
		return cluster.Autoscale{}
	}
	cpu, mem, limit := c.Computing(corev1.ResourceCPU), c.Computing(corev1.ResourceMemory), c.MemberResources().Limits[corev1.ResourceMemory]
	a := cluster.Autoscale{Wanted: true, Resizes: s.Resizes != specs.ResizesNothing, MemoryLimit: limit.Value()}
	a.CPU.Range, a.Memory.Range = cluster.Range{Now: cpu.Now, Most: cpu.Most}, cluster.Range{Now: mem.Now, Most: mem.Most}
	return a
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

// killed records how much memory a Pod's etcd may have, and when it was killed for want of more.
func killed(p *cluster.Pod, pod *corev1.Pod) {
	limit, status := specs.Etcd(pod).Resources.Limits[corev1.ResourceMemory], specs.EtcdStatus(pod)
	p.MemoryLimit = limit.Value()
	for _, state := range []corev1.ContainerState{status.State, status.LastTerminationState} {
		if end := state.Terminated; end != nil && end.Reason == "OOMKilled" {
			p.OOMKilled = max(p.OOMKilled, end.FinishedAt.Unix())
		}
	}
}

// beyond is what members are given beyond the spec.
func beyond(c *v1beta1.EtcdCluster) cluster.Computing {
	return cluster.Computing{CPU: c.Computing(corev1.ResourceCPU).Now, Memory: c.Computing(corev1.ResourceMemory).Now}
}
