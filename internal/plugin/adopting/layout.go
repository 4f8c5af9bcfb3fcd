// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package adopting

import (
	"cmp"
	"net"
	"net/url"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Layout is how others lay a cluster out, and what is to be known of it.
type Layout struct {
	Name string
	Note string // what to do or to avoid meanwhile; empty: nothing
}

// The layouts that are known, by labels that those who make them write.
var (
	bitnami = Layout{"a StatefulSet of Bitnami's chart", "run no helm upgrade meanwhile; images from before late 2024 remove their member " +
		"when a Pod ends: restart none"}
	coreos = Layout{"Pods of coreos/etcd-operator", "scale that operator to 0 first: it would start members again; " +
		"the Pods are yours to delete"}
	etcdIO  = Layout{"a StatefulSet of etcd-io/etcd-operator", "scale that operator to 0 first: it scales the StatefulSet back"}
	kubeadm = Layout{"static Pods of kubeadm", "set dnsPolicy ClusterFirstWithHostNet in each file before, and move the file from the " +
		"node's folder of manifests when its member has left; API servers need the new endpoints first"}
	statefulSet   = Layout{"a StatefulSet", "stop what changes it by itself, such as another operator or helm upgrade"}
	barePods      = Layout{"Pods without a StatefulSet", "the Pods are yours to delete when their members have left"}
	unknownLayout = Layout{"endpoints outside of this namespace", "what runs the members is not known: stop each when it has left"}
)

func layoutOf(s Source) Layout {
	if len(s.Pods) == 0 && s.StatefulSet == nil {
		return unknownLayout
	}
	var has map[string]string
	if s.StatefulSet != nil {
		has = s.StatefulSet.Labels
	} else {
		has = s.Pods[0].Labels
	}
	switch {
	case s.StatefulSet == nil && has["app"] == "etcd" && has["etcd_cluster"] != "":
		return coreos
	case s.StatefulSet == nil && has["component"] == "etcd" && has["tier"] == "control-plane":
		return kubeadm
	case s.StatefulSet == nil:
		return barePods
	case strings.HasPrefix(has["helm.sh/chart"], "etcd-") || strings.Contains(s.setting("DATA_DIR", "data-dir"), "/bitnami/"):
		return bitnami
	case has["app"] == s.StatefulSet.Name && has["controller"] == s.StatefulSet.Name:
		return etcdIO
	default:
		return statefulSet
	}
}

// container is that which runs etcd; nil if there is none.
func (s Source) container() *corev1.Container {
	var all []corev1.Container
	switch {
	case len(s.Pods) > 0:
		all = s.Pods[0].Spec.Containers
	case s.StatefulSet != nil:
		all = s.StatefulSet.Spec.Template.Spec.Containers
	}
	for i, c := range all {
		if c.Name == "etcd" || strings.Contains(c.Image, "etcd") || len(all) == 1 {
			return &all[i]
		}
	}
	return nil
}

// setting is what a flag of etcd has, or its variable; empty if neither is set where that can be seen.
func (s Source) setting(variable, flag string) string {
	c := s.container()
	if c == nil {
		return ""
	}
	for _, env := range c.Env {
		if env.Name == "ETCD_"+variable {
			return env.Value
		}
	}
	words := strings.Fields(strings.Join(append(append([]string{}, c.Command...), c.Args...), " "))
	for i, word := range words {
		name, value, hasValue := strings.Cut(strings.TrimLeft(word, "-"), "=")
		switch {
		case name != flag || !strings.HasPrefix(word, "-"):
		case hasValue:
			return strings.Trim(value, `"'`)
		case i+1 < len(words):
			return strings.Trim(words[i+1], `"'`)
		}
	}
	return ""
}

// Client is the scheme and the port by which clients connect.
func (s Source) Client() (scheme, port string) {
	all := strings.Join(s.Endpoints, ",") + "," + s.setting("ADVERTISE_CLIENT_URLS", "advertise-client-urls") + "," +
		s.setting("LISTEN_CLIENT_URLS", "listen-client-urls")
	for text := range strings.SplitSeq(all, ",") {
		before, after, isURL := strings.Cut(text, "://")
		if !isURL {
			continue
		}
		scheme = cmp.Or(scheme, before)
		if i := strings.LastIndex(after, ":"); i >= 0 {
			port = cmp.Or(port, strings.TrimRight(after[i+1:], "/"))
		}
	}
	if !isNumber.MatchString(port) {
		port = ""
	}
	return cmp.Or(scheme, "http"), cmp.Or(port, "2379")
}

var isNumber = regexp.MustCompile(`^[0-9]+$`)

// URLs are those of the members: what was named, or of each Pod by its name where a headless Service gives it one, else by its address.
func (s Source) URLs() []string {
	if len(s.Endpoints) > 0 {
		return s.Endpoints
	}
	scheme, port := s.Client()
	var all []string
	for _, pod := range s.Pods {
		host := pod.Status.PodIP
		switch {
		case s.StatefulSet != nil && s.StatefulSet.Spec.ServiceName != "":
			host = pod.Name + "." + s.StatefulSet.Spec.ServiceName + "." + pod.Namespace + ".svc"
		case pod.Spec.Hostname != "" && pod.Spec.Subdomain != "":
			host = pod.Spec.Hostname + "." + pod.Spec.Subdomain + "." + pod.Namespace + ".svc"
		}
		if host != "" {
			all = append(all, (&url.URL{Scheme: scheme, Host: net.JoinHostPort(host, port)}).String())
		}
	}
	return all
}

// Version is the version of etcd that the image's tag names; empty if it names none.
func (s Source) Version() string {
	c := s.container()
	if c == nil {
		return ""
	}
	return inTag.FindString(c.Image[strings.LastIndex(c.Image, ":")+1:])
}

var inTag = regexp.MustCompile(`[0-9]+\.[0-9]+\.[0-9]+`)

// Password names the Secret and the key of root's password, by a variable of the container; empty if none is seen.
func (s Source) Password() (secret, key string) {
	c := s.container()
	if c == nil {
		return "", ""
	}
	for _, env := range c.Env {
		if ref := env.ValueFrom; strings.HasSuffix(env.Name, "ROOT_PASSWORD") && ref != nil && ref.SecretKeyRef != nil {
			return ref.SecretKeyRef.Name, ref.SecretKeyRef.Key
		}
	}
	return "", ""
}
