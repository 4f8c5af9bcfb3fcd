// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package witness

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// A Run is one image in one Pod.
type Run struct{ UID, Image string }

// sights are what was seen of a cluster's Pods.
type sights struct {
	pods       map[string]corev1.Pod
	fewest     int              // that were ready at once
	fewestElse int              // that were, but in the last hand-over of a roll
	runs       map[string][]Run // what each member ran, in order
	diary      []string         // when each Pod became ready, and ceased to be
	cut        []string         // Pods that were gone before their container had ended

	proven map[string]string    // what each ran when the kubelet found it ready
	wavers map[string]time.Time // when each was found unready, although nobody has changed it
}

// wavering is how long the kubelet takes a word back: on a busy machine a probe is late, and beside
// a container that it has just exchanged it may remember the one before. A member that
// nobody has changed counts as ready meanwhile.
const wavering = 30 * time.Second

// begin takes Pods as they are: those that are ready have been for long.
func begin(all []corev1.Pod) sights {
	s := sights{
		pods: map[string]corev1.Pod{}, runs: map[string][]Run{},
		proven: map[string]string{}, wavers: map[string]time.Time{},
	}
	for _, p := range all {
		s.pods[p.Name], s.runs[p.Name] = p, []Run{runOf(&p)}
		if IsReady(p) {
			s.proven[p.Name] = specOf(&p)
		}
	}
	s.fewest = s.ready(time.Time{})
	s.fewestElse = s.fewest
	return s
}

// see takes one Pod as the API server tells of it.
func (s *sights) see(kind watch.EventType, p *corev1.Pod, at time.Time) {
	was, is := IsReady(s.pods[p.Name]), kind != watch.Deleted && IsReady(*p)
	unchanged := kind != watch.Deleted && p.DeletionTimestamp == nil && s.proven[p.Name] == specOf(p)
	switch {
	case is && !was:
		s.proven[p.Name] = specOf(p)
	case !unchanged:
		delete(s.wavers, p.Name)
	case was && !is:
		s.wavers[p.Name] = at
	}
	if was != is {
		s.diary = append(s.diary, fmt.Sprintf("%s %s ready: %t", at.Format("15:04:05.000"), p.Name, is))
	}
	switch {
	case kind != watch.Deleted:
		s.pods[p.Name] = *p
		if seen := runOf(p); !slices.Contains(s.runs[p.Name], seen) {
			s.runs[p.Name] = append(s.runs[p.Name], seen)
		}
	default:
		delete(s.pods, p.Name)
		if !hasEnded(*p) {
			s.cut = append(s.cut, fmt.Sprintf("%s: %+v", p.Name, p.Status.ContainerStatuses))
		}
	}
	s.count(at)
}

func (s *sights) count(at time.Time) {
	ready := s.ready(at)
	s.fewest = min(s.fewest, ready)
	if !s.handsOverLast() {
		s.fewestElse = min(s.fewestElse, ready)
	}
}

func (s *sights) ready(at time.Time) int {
	count := 0
	for name, p := range s.pods {
		if IsReady(p) || at.Sub(s.wavers[name]) < wavering && !s.wavers[name].IsZero() {
			count++
		}
	}
	return count
}

// handsOverLast says whether this is the last hand-over of a roll: a member is back that the kubelet
// has yet to find ready, and all that are ready run the same as it.
func (s *sights) handsOverLast() bool {
	all := slices.Collect(maps.Values(s.pods))
	ready := slices.DeleteFunc(slices.Clone(all), func(p corev1.Pod) bool { return !IsReady(p) })
	return slices.ContainsFunc(all, func(back corev1.Pod) bool {
		spec := specOf(&back)
		differs := func(p corev1.Pod) bool { return specOf(&p) != spec }
		awaited := isRunning(back) && !IsReady(back) && s.proven[back.Name] != spec
		return awaited && len(ready) > 0 && !slices.ContainsFunc(ready, differs)
	})
}

// IsReady says whether the kubelet finds the Pod ready, and nobody has told it to end.
func IsReady(p corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	}) && p.DeletionTimestamp == nil
}

func isRunning(p corev1.Pod) bool {
	return p.DeletionTimestamp == nil && len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].State.Running != nil
}

func hasEnded(p corev1.Pod) bool {
	return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].State.Terminated != nil
}

func runOf(p *corev1.Pod) Run { return Run{string(p.UID), p.Spec.Containers[0].Image} }

// specOf is all by which the members' Pods can differ that is no matter of who they are or where
// they run, which Kubernetes also writes into labels. Members serve clients or not by a label; that is no part of it. Whom they trust, and
// since when no certificate was revoked, is in annotations.
func specOf(p *corev1.Pod) string {
	labels, spec := maps.Clone(p.Labels), p.Spec.DeepCopy()
	delete(labels, "app.kubernetes.io/component")
	delete(labels, v1beta1.LabelMember)
	delete(labels, corev1.LabelTopologyZone)
	delete(labels, corev1.LabelTopologyRegion)
	spec.NodeName = ""
	text, err := json.Marshal([]any{labels, spec, p.Annotations[v1beta1.AnnotationTrust], p.Annotations[v1beta1.AnnotationRevokedAt]})
	if err != nil {
		panic(err) // a Pod that was read can be written
	}
	return strings.ReplaceAll(string(text), p.Name, "MEMBER")
}
