// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package addons installs what runs inside the cluster: names, storage and,
// on request, the Operator Lifecycle Manager.
package addons

import (
	"context"
	_ "embed"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/layout"
)

//go:embed manifests/coredns.yaml
var coredns string

//go:embed manifests/storage.yaml
var storage string

// Installer applies manifests and asks whether they took effect.
type Installer struct {
	layout layout.Layout
	client kubernetes.Interface
}

// Connect makes an installer for a cluster whose API server runs.
func Connect(l layout.Layout) (*Installer, error) {
	config, err := clientcmd.BuildConfigFromFlags("", l.Admin())
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst, config.Timeout = 100, 200, 10*time.Second
	config.WarningHandler = rest.NoWarnings{}
	client, err := kubernetes.NewForConfig(config)
	return &Installer{layout: l, client: client}, err
}

// Basics installs what every cluster has.
func (i *Installer) Basics(ctx context.Context) error {
	names := strings.ReplaceAll(coredns, layout.DNSService, i.layout.Families.First(layout.DNSService, layout.DNSService6))
	return i.apply(ctx, names+"---\n"+storage)
}

// apply leaves the merging to kubectl; server-side, it is repeatable.
func (i *Installer) apply(ctx context.Context, manifests string) error {
	command := exec.CommandContext(ctx, filepath.Join(i.layout.Bin(), "kubectl"),
		"--kubeconfig", i.layout.Admin(), "apply", "--server-side", "--force-conflicts",
		"--field-manager", layout.Name, "--filename", "-")
	command.Stdin = strings.NewReader(manifests)
	out, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("kubectl apply: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// NodeReady returns nil once the node takes pods, and has said so since then:
// that a node died is noticed late.
func (i *Installer) NodeReady(ctx context.Context, name string, since time.Time) error {
	node, err := i.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, condition := range node.Status.Conditions {
		// The API knows whole seconds only.
		fresh := !condition.LastHeartbeatTime.Time.Before(since.Truncate(time.Second))
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue && fresh {
			return nil
		}
	}
	return fmt.Errorf("node %s is not ready", name)
}

// Available returns nil once all of a deployment's pods are ready.
func (i *Installer) Available(ctx context.Context, namespace, name string) error {
	deployment, err := i.client.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	status := deployment.Status
	if status.ObservedGeneration >= deployment.Generation && status.UpdatedReplicas == *deployment.Spec.Replicas &&
		status.AvailableReplicas >= status.UpdatedReplicas {
		return nil
	}
	return fmt.Errorf("%s has %d of %d pods available", name, status.AvailableReplicas, *deployment.Spec.Replicas)
}
