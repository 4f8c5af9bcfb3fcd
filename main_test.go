// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestRelatedImages: one for each version that is named in full; a name that means none is
// a mistake of whoever packaged the operator, and is told at the start.
func TestRelatedImages(t *testing.T) {
	got, err := relatedImages([]string{
		"PATH=/bin", "RELATED_IMAGE_ETCD_3_6_16=mirror.example/etcd@sha256:1", "RELATED_IMAGE_ETCD_3_7_3=",
		"RELATED_IMAGE_MANAGER=mirror.example/etcd-operator@sha256:2", "RELATED_IMAGE_ETCD_3_5_35=mirror.example/etcd:v3.5.35?a=b",
	})
	want := specs.Images{"3.6.16": "mirror.example/etcd@sha256:1", "3.5.35": "mirror.example/etcd:v3.5.35?a=b"}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	for _, wrong := range []string{"3_6", "", "3_06_16", "NEWEST"} {
		name := "RELATED_IMAGE_ETCD_" + wrong
		if _, err := relatedImages([]string{name + "=x"}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got error %v, want one that names it", name, err)
		}
	}
}

// TestProxyOf: what the environment says of proxies is not for the API server; what the
// kubeconfig says is.
func TestProxyOf(t *testing.T) {
	request := &http.Request{URL: &url.URL{Scheme: "https", Host: "10.96.0.1"}}
	config := &rest.Config{}
	if proxy, err := proxyOf(config)(request); proxy != nil || err != nil {
		t.Errorf("the environment decides: %v, %v", proxy, err)
	}
	named := &url.URL{Scheme: "http", Host: "proxy.example:3128"}
	config.Proxy = http.ProxyURL(named)
	if proxy, err := proxyOf(config)(request); proxy != named || err != nil {
		t.Errorf("got %v, %v; want that of the kubeconfig", proxy, err)
	}
}

// TestParse: what Operator Lifecycle Manager says by the environment.
func TestParse(t *testing.T) {
	t.Setenv("OPERATOR_CONDITION_NAME", "")
	for namespaces, want := range map[string]string{"": "", "one": "one", "one,two": "one two", " one , two,": "one two"} {
		t.Setenv("WATCH_NAMESPACE", namespaces)
		chosen, _, err := parse(nil)
		if got := strings.Join(chosen.Namespaces, " "); got != want || err != nil || chosen.HasOperatorCondition {
			t.Errorf("%q: got %q, %v, an OperatorCondition %t", namespaces, got, err, chosen.HasOperatorCondition)
		}
	}
	t.Setenv("OPERATOR_CONDITION_NAME", "etcd-operator.v0.3.0")
	if chosen, _, err := parse(nil); err != nil || !chosen.HasOperatorCondition {
		t.Errorf("the OperatorCondition is not seen: %v", err)
	}
	chosen, _, err := parse([]string{
		"--allowed-images=a/*", "--allowed-priority-classes=b", "--allowed-tolerations=c=d:NoExecute", "--allowed-labels=e,f",
		"--allowed-annotations=g/h", "--allowed-store-endpoints=https://i:1,*.j",
	})
	l := chosen.Limits
	got := fmt.Sprint(l.Images, l.PriorityClasses, l.Tolerations, l.Labels, l.Annotations, chosen.StoreEndpoints)
	if err != nil || got != "[a/*] [b] [c=d:NoExecute] [e f] [g/h] [https://i:1 *.j]" {
		t.Errorf("limits: %s, %v", got, err)
	}
	if chosen, _, err := parse([]string{"--task-image-pull-secrets=k, l"}); err != nil || fmt.Sprint(chosen.TaskPullSecrets) != "[k l]" {
		t.Errorf("pull secrets of Jobs: %v, %v", chosen.TaskPullSecrets, err)
	}
	if _, _, err := parse([]string{"--allowed-images=a*"}); err == nil || !strings.Contains(err.Error(), "allowed-images") {
		t.Errorf("a pattern that means nothing: %v", err)
	}
	t.Setenv("METRICS_CERT_PATH", "/from/environment")
	for want, args := range map[string][]string{
		"{/from/environment  }":    nil,
		"{/from/flag c.crt k.key}": {"--metrics-cert-path=/from/flag", "--metrics-cert-name=c.crt", "--metrics-cert-key=k.key"},
	} {
		if chosen, _, err := parse(args); err != nil || fmt.Sprint(chosen.MetricsCertificate) != want {
			t.Errorf("%q: the certificate of metrics is %v, want %s: %v", args, chosen.MetricsCertificate, want, err)
		}
	}
	if _, _, err := parse([]string{"--leader-elect", "extra"}); err == nil {
		t.Error("an argument that means nothing is accepted")
	}
}

// TestClusterDomain: the domain is found in what a kubelet writes for a Pod, and in nothing else.
func TestClusterDomain(t *testing.T) {
	for resolver, want := range map[string]string{
		"search operators.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n": "cluster.local",
		"nameserver 10.96.0.10\nsearch operators.svc.corp.example. svc.corp.example. corp.example. office.example.\n":  "corp.example",
		"search office.example\n": "", "search\n": "", "": "", "search svc.\n": "", "# search svc.no\n": "",
	} {
		if got := clusterDomain(resolver); got != want {
			t.Errorf("%q: got %q, want %q", resolver, got, want)
		}
	}
	if chosen, _, err := parse([]string{"--cluster-domain=corp.example"}); err != nil || chosen.Domain != "corp.example" {
		t.Errorf("got %q, %v", chosen.Domain, err)
	}
}

// TestJobProxy: Jobs get the operator's proxy, in either spelling, and none with a password, which every Pod would show.
func TestJobProxy(t *testing.T) {
	of := func(values map[string]string) func(string) string {
		return func(name string) string { return values[name] }
	}
	all, _ := jobProxy(of(map[string]string{"https_proxy": "http://proxy:3128", "NO_PROXY": ".svc"}))
	want := []corev1.EnvVar{{Name: "HTTPS_PROXY", Value: "http://proxy:3128"}, {Name: "NO_PROXY", Value: ".svc"}}
	if !slices.Equal(all, want) {
		t.Errorf("%v", all)
	}
	all, withheld := jobProxy(of(map[string]string{"HTTPS_PROXY": "http://user:word@proxy:3128"}))
	if len(all) > 0 || !slices.Equal(withheld, []string{"HTTPS_PROXY"}) {
		t.Errorf("with a password: %v, %v", all, withheld)
	}
}
