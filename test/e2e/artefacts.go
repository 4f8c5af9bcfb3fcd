// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// keepArtefacts saves what there is to know about a spec that failed. Secrets are
// not among it.
func keepArtefacts() {
	report := CurrentSpecReport()
	if !report.Failed() {
		return
	}
	name := regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(report.FullText()), "-")
	folder := filepath.Join(top, "artifacts", name[:min(len(name), 120)])
	_ = os.MkdirAll(folder, 0o750)
	keep(folder, "failure.txt", []byte(report.FailureMessage()+"\n"+report.FailureLocation().String()+"\n"))
	for _, o := range operators {
		if log, err := os.ReadFile(o.logFile()); err == nil {
			keep(folder, "operator-"+o.namespace+".log", log)
			keep(folder, "writes-"+o.namespace+".txt", []byte(strings.Join(o.Written(), "\n")))
		}
	}
	for _, namespace := range namespaces {
		keepObjects(folder, namespace)
		keepLogs(folder, namespace)
	}
}

func keep(folder, name string, text []byte) {
	if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
		GinkgoWriter.Println("cannot keep", name, err)
	}
}

func keepObjects(folder, namespace string) {
	lists := map[string]client.ObjectList{
		"etcdclusters": &v1beta1.EtcdClusterList{}, "pods": &corev1.PodList{}, "claims": &corev1.PersistentVolumeClaimList{},
		"services": &corev1.ServiceList{}, "budgets": &policyv1.PodDisruptionBudgetList{}, "events": &eventsv1.EventList{},
		"networkpolicies": &networkingv1.NetworkPolicyList{},
		"jobs":            &batchv1.JobList{}, "backups": &v1beta1.EtcdBackupList{}, "stores": &v1beta1.EtcdBackupStoreList{},
		"users": &v1beta1.EtcdUserList{}, "roles": &v1beta1.EtcdRoleList{},
		"drills": &v1beta1.EtcdDrillList{},
	}
	for name, list := range lists {
		if err := api.List(ctx, list, client.InNamespace(namespace)); err != nil {
			continue
		}
		if text, err := yaml.Marshal(list); err == nil {
			keep(folder, name+"-"+namespace+".yaml", text)
		}
	}
}

func keepLogs(folder, namespace string) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return
	}
	var list corev1.PodList
	_ = api.List(ctx, &list, client.InNamespace(namespace))
	for _, p := range list.Items {
		for _, previous := range []bool{false, true} {
			stream, err := clients.CoreV1().Pods(namespace).GetLogs(p.Name, &corev1.PodLogOptions{Previous: previous}).Stream(context.Background())
			if err != nil {
				continue
			}
			text, _ := io.ReadAll(stream)
			_ = stream.Close()
			suffix := ".log"
			if previous {
				suffix = ".previous.log"
			}
			keep(folder, "pod-"+p.Name+suffix, text)
		}
	}
}
