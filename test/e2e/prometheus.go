// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// prometheus is a real one in a process of its own, which does by the objects of clusters what the Prometheus Operator would configure.
type prometheus struct{ url string }

// startPrometheus has it scrape an operator, and members as their PodMonitors say, and evaluate the rules of their PrometheusRules. Rules
// wait seconds instead of minutes.
func startPrometheus(operator string, clusters ...*v1beta1.EtcdCluster) *prometheus {
	GinkgoHelper()
	program := filepath.Join(top, "bin/prometheus")
	if _, err := os.Stat(program); err != nil {
		Skip("there is no bin/prometheus: make test-monitoring")
	}
	folder, address := GinkgoT().TempDir(), freeNodeAddress()
	jobs := []any{map[string]any{
		"job_name": "etcd-operator", "honor_labels": true, "static_configs": []any{map[string]any{"targets": []string{operator}}},
	}}
	var rules []string
	for _, c := range clusters {
		jobs = append(jobs, scrapedBy(monitorOf(c, specs.PodMonitorKind.Kind)))
		file := filepath.Join(folder, c.Name+".yaml")
		write(file, hastened(monitorOf(c, specs.PrometheusRuleKind.Kind)))
		rules = append(rules, file)
	}
	configuration := filepath.Join(folder, "prometheus.yml")
	write(configuration, map[string]any{
		"global":         map[string]any{"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
		"scrape_configs": jobs, "rule_files": rules,
	})
	log, err := os.Create(filepath.Join(folder, "log"))
	Expect(err).NotTo(HaveOccurred())
	command := exec.Command(program, "--config.file="+configuration, "--storage.tsdb.path="+filepath.Join(folder, "data"),
		"--web.listen-address="+address)
	command.Stdout, command.Stderr = log, log
	Expect(command.Start()).To(Succeed())
	DeferCleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		_ = log.Close()
	})
	p := &prometheus{"http://" + address}
	Eventually(func() error {
		_, err := http.Get(p.url + "/-/ready")
		return err
	}).Should(Succeed())
	return p
}

func write(file string, content any) {
	GinkgoHelper()
	text, err := yaml.Marshal(content)
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(file, text, 0o600)).To(Succeed())
}

// monitorOf is the spec of an object that the operator has made.
func monitorOf(c *v1beta1.EtcdCluster, kind string) map[string]any {
	GinkgoHelper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(specs.PodMonitorKind.GroupVersion().WithKind(kind))
	Eventually(func() error { return api.Get(ctx, client.ObjectKeyFromObject(c), object) }).Should(Succeed())
	spec, found, err := unstructured.NestedMap(object.Object, "spec")
	Expect(errors.Join(err)).NotTo(HaveOccurred())
	Expect(found).To(BeTrue())
	return spec
}

// scrapedBy is the job that the Prometheus Operator makes of a PodMonitor with one endpoint.
func scrapedBy(monitor map[string]any) map[string]any {
	GinkgoHelper()
	labels, _, _ := unstructured.NestedStringMap(monitor, "selector", "matchLabels")
	cluster := labels[v1beta1.LabelCluster]
	endpoint := monitor["podMetricsEndpoints"].([]any)[0].(map[string]any)
	relabelings := []any{
		map[string]any{
			"source_labels": []string{"__meta_kubernetes_pod_label_etcd_operator_dev_cluster", "__meta_kubernetes_pod_container_port_name"},
			"regex":         cluster + ";" + endpoint["port"].(string), "action": "keep",
		},
		map[string]any{"source_labels": []string{"__meta_kubernetes_namespace"}, "target_label": "namespace"},
		map[string]any{"source_labels": []string{"__meta_kubernetes_pod_name"}, "target_label": "pod"},
	}
	names := map[string]string{"sourceLabels": "source_labels", "targetLabel": "target_label"}
	for _, step := range endpoint["relabelings"].([]any) {
		made := map[string]any{}
		for field, value := range step.(map[string]any) {
			if name, other := names[field]; other {
				field = name
			}
			made[field] = value
		}
		relabelings = append(relabelings, made)
	}
	return map[string]any{
		"job_name": cluster, "relabel_configs": relabelings,
		"kubernetes_sd_configs": []any{map[string]any{"role": "pod", "kubeconfig_file": os.Getenv("KUBECONFIG")}},
	}
}

// hastened are rules that fire after three seconds.
func hastened(rules map[string]any) map[string]any {
	for _, group := range rules["groups"].([]any) {
		for _, rule := range group.(map[string]any)["rules"].([]any) {
			if _, waits := rule.(map[string]any)["for"]; waits {
				rule.(map[string]any)["for"] = "3s"
			}
		}
	}
	return rules
}

// ask is the data of an answer of its HTTP API.
func (p *prometheus) ask(path string, into any) error {
	answer, err := (&http.Client{Timeout: 10 * time.Second}).Get(p.url + path)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", path, answer.Status)
	}
	return json.NewDecoder(answer.Body).Decode(&struct {
		Data any `json:"data"`
	}{into})
}

// fires are the alerts that fire for a cluster.
func (p *prometheus) fires(g Gomega, c *v1beta1.EtcdCluster) []string {
	var found struct {
		Alerts []struct {
			Labels map[string]string `json:"labels"`
			State  string            `json:"state"`
		} `json:"alerts"`
	}
	g.Expect(p.ask("/api/v1/alerts", &found)).To(Succeed())
	names := map[string]bool{}
	for _, a := range found.Alerts {
		if a.State == "firing" && a.Labels["namespace"] == c.Namespace && a.Labels["cluster"] == c.Name {
			names[a.Labels["alertname"]] = true
		}
	}
	all := []string{}
	for name := range names {
		all = append(all, name)
	}
	return all
}

// draw draws the dashboards of what it has seen in the last minutes for the documentation, if E2E_PICTURES names a folder.
func (p *prometheus) draw(c *v1beta1.EtcdCluster) {
	GinkgoHelper()
	to := os.Getenv("E2E_PICTURES")
	if to == "" {
		return
	}
	for _, name := range []string{"etcd-fleet", "etcd-cluster", "etcd-backups"} {
		command := exec.Command("go", "run", "./render", "-prometheus="+p.url, "-range=3m", "-out="+filepath.Join(to, name+".png"),
			"-dashboard="+filepath.Join(top, "config/monitoring/dashboards", name+".json"), "-set=namespace="+c.Namespace, "-set=cluster="+c.Name,
			"-set=__rate_interval=10s")
		command.Dir = filepath.Join(top, "test/monitoring")
		command.Stdout, command.Stderr = GinkgoWriter, GinkgoWriter
		Expect(command.Run()).To(Succeed())
	}
}

// count is how many series a query finds.
func (p *prometheus) count(g Gomega, query string) int {
	var found struct {
		Result []any `json:"result"`
	}
	g.Expect(p.ask("/api/v1/query?query="+url.QueryEscape(query), &found)).To(Succeed())
	return len(found.Result)
}
