// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package adopting says how a running cluster of etcd that others have made becomes an EtcdCluster: which one is meant, whether it can be
// adopted, what happens, and the EtcdCluster for it.
//
// It must never ask anything itself. Whether the cluster can be adopted, internal/cluster/facts says, as it says it to the operator.
package adopting

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Objects are those of a namespace among which the cluster is looked for.
type Objects struct {
	StatefulSets []appsv1.StatefulSet
	Services     []corev1.Service
	Pods         []corev1.Pod
	Claims       []corev1.PersistentVolumeClaim // if volumes are to be kept
}

// Source is a running cluster as Kubernetes shows it.
type Source struct {
	Name        string
	Layout      Layout
	StatefulSet *appsv1.StatefulSet // that runs it; nil: none
	Services    []corev1.Service    // by which clients reach it, and no member reaches another
	Headless    []corev1.Service    // by which members, and maybe clients, reach members
	Pods        []corev1.Pod
	Endpoints   []string // that were named; without Pods nothing else is known
	// Claims are all of the namespace, if volumes are to be kept.
	Claims []corev1.PersistentVolumeClaim
}

// Find is the cluster that is meant: by URLs, or by the name of a StatefulSet or a Service, with or without its kind.
func Find(all Objects, named []string) (Source, error) {
	if len(named) == 0 {
		return Source{}, errors.New("name a StatefulSet, a Service or endpoints such as http://etcd-0.etcd.default.svc:2379")
	}
	if strings.Contains(named[0], "://") {
		return byEndpoints(all, named)
	}
	if len(named) > 1 {
		return Source{}, errors.New("one StatefulSet or Service is to be named, or several endpoints")
	}
	kind, name, hasKind := strings.Cut(named[0], "/")
	if !hasKind {
		kind, name = "", named[0]
	}
	isSet := slices.Contains([]string{"", "statefulset", "statefulsets", "sts"}, strings.ToLower(kind))
	isService := slices.Contains([]string{"", "service", "services", "svc"}, strings.ToLower(kind))
	i := slices.IndexFunc(all.StatefulSets, func(s appsv1.StatefulSet) bool { return s.Name == name })
	n := slices.IndexFunc(all.Services, func(s corev1.Service) bool { return s.Name == name })
	switch {
	case !isSet && !isService:
		return Source{}, fmt.Errorf("%s is neither a StatefulSet nor a Service", named[0])
	case isSet && i >= 0:
		return ofPods(all, name, owned(all.Pods, name)), nil
	case isService && n >= 0:
		return ofService(all, all.Services[n])
	default:
		return Source{}, fmt.Errorf("there is no %s in this namespace: name a StatefulSet, a Service or endpoints", named[0])
	}
}

func byEndpoints(all Objects, urls []string) (Source, error) {
	s := Source{Endpoints: urls}
	var pods []corev1.Pod
	for _, text := range urls {
		u, err := url.Parse(text)
		if err != nil || u.Port() == "" || u.Scheme != "http" && u.Scheme != "https" {
			return Source{}, fmt.Errorf("%s is no endpoint: write a URL with scheme, host and port, such as http://10.0.0.5:2379", text)
		}
		s.Name = cmp.Or(s.Name, strings.Split(u.Hostname(), ".")[0])
		for _, pod := range all.Pods {
			if isAt(pod, u.Hostname()) {
				pods = append(pods, pod)
			}
		}
		if n := slices.IndexFunc(all.Services, func(svc corev1.Service) bool { return isService(svc, u.Hostname()) }); n >= 0 {
			found, err := ofService(all, all.Services[n])
			found.Endpoints = urls
			return found, err
		}
	}
	if len(pods) == 0 {
		s.Layout = unknownLayout
		return s, nil
	}
	found := ofPods(all, pods[0].Name, siblings(all, pods))
	found.Endpoints = urls
	return found, nil
}

// isAt says whether a host is that of the Pod: an address, or its name in a headless Service.
func isAt(pod corev1.Pod, host string) bool {
	isAddress := host == pod.Status.PodIP || host == pod.Status.HostIP && pod.Spec.HostNetwork
	return isAddress || strings.HasPrefix(host, cmp.Or(pod.Spec.Hostname, pod.Name)+".")
}

func isService(s corev1.Service, host string) bool {
	isClusterIP := s.Spec.ClusterIP == host && host != ""
	return isClusterIP || host == s.Name || strings.HasPrefix(host, s.Name+"."+s.Namespace)
}

// siblings are the Pods of one owner, or with the labels of a cluster, if one of them is among those that were named.
func siblings(all Objects, named []corev1.Pod) []corev1.Pod {
	first := named[0]
	if name := ownerOf(first); name != "" {
		return owned(all.Pods, name)
	}
	of := first.Labels["etcd_cluster"]
	if of == "" {
		return named
	}
	return slices.DeleteFunc(slices.Clone(all.Pods), func(p corev1.Pod) bool { return p.Labels["etcd_cluster"] != of })
}

// ownerOf is the StatefulSet of a Pod; empty if none has made it.
func ownerOf(pod corev1.Pod) string {
	if owner := metav1.GetControllerOf(&pod); owner != nil && owner.Kind == "StatefulSet" {
		return owner.Name
	}
	return ""
}

func owned(pods []corev1.Pod, set string) []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(p corev1.Pod) bool { return ownerOf(p) != set })
}

func ofService(all Objects, service corev1.Service) (Source, error) {
	if len(service.Spec.Selector) == 0 {
		return Source{}, fmt.Errorf("Service %s has no selector: name the endpoints of its members", service.Name) //nolint:staticcheck // a kind
	}
	pods := slices.DeleteFunc(slices.Clone(all.Pods), func(p corev1.Pod) bool { return !selects(service, p) })
	if len(pods) == 0 {
		return Source{}, fmt.Errorf("Service %s selects no Pod", service.Name) //nolint:staticcheck // a kind
	}
	return ofPods(all, service.Name, pods), nil
}

func selects(service corev1.Service, pod corev1.Pod) bool {
	return len(service.Spec.Selector) > 0 && labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels))
}

// ofPods is the cluster that these Pods run.
func ofPods(all Objects, name string, pods []corev1.Pod) Source {
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	s := Source{Name: name, Pods: pods, Claims: all.Claims}
	for _, set := range all.StatefulSets {
		if len(pods) > 0 && ownerOf(pods[0]) == set.Name || len(pods) == 0 && set.Name == name {
			s.StatefulSet = &set
		}
	}
	for _, service := range all.Services {
		switch {
		case len(pods) == 0 || !selects(service, pods[0]):
		case service.Spec.ClusterIP == corev1.ClusterIPNone:
			s.Headless = append(s.Headless, service)
		default:
			s.Services = append(s.Services, service)
		}
	}
	s.Layout = layoutOf(s)
	return s
}
