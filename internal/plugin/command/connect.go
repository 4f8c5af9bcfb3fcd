// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Connection is how to find the API server: what kubectl's flags of the same names say.
type Connection struct {
	rules     clientcmd.ClientConfigLoadingRules
	overrides clientcmd.ConfigOverrides
}

// Kubernetes is the API server, and the namespace that is meant.
type Kubernetes struct {
	client.Client
	// Logs opens the log of a container.
	Logs func(ctx context.Context, namespace, pod string, options *corev1.PodLogOptions) (io.ReadCloser, error)
	// Post asks a Pod through the API server.
	Post Post
	// Dial connects to the etcd of a Pod.
	Dial      Dial
	Namespace string
}

func (c *Connection) bind(flags *pflag.FlagSet) {
	c.rules = *clientcmd.NewDefaultClientConfigLoadingRules()
	flags.StringVar(&c.rules.ExplicitPath, clientcmd.RecommendedConfigPathFlag, "", "Path to the kubeconfig file to use for CLI requests.")
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.ClusterOverrideFlags.APIServer.ShortName = "s"
	names.AuthOverrideFlags.Username.LongName, names.AuthOverrideFlags.Password.LongName = "", "" // kubectl has them no more
	clientcmd.BindOverrideFlags(&c.overrides, flags, names)
}

// contexts are the names of all contexts of the kubeconfig, sorted.
func (c *Connection) contexts() ([]string, error) {
	config, err := c.rules.Load()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	if len(config.Contexts) == 0 {
		return nil, errors.New("the kubeconfig has no contexts: name it by --kubeconfig, or by the variable KUBECONFIG")
	}
	return slices.Sorted(maps.Keys(config.Contexts)), nil
}

// Scheme knows every kind that the plugin reads.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return scheme, v1beta1.AddToScheme(scheme)
}

// Open connects as kubectl does.
func (c *Connection) Open(version string) (*Kubernetes, error) {
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(&c.rules, &c.overrides)
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("find the API server: %w", err)
	}
	config.UserAgent = "kubectl-etcd/" + version
	config.QPS = -1 // the API server's own fairness limits us
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, fmt.Errorf("find the namespace: %w", err)
	}
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	objects, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	logs, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	open := func(ctx context.Context, namespace, pod string, options *corev1.PodLogOptions) (io.ReadCloser, error) {
		return logs.CoreV1().Pods(namespace).GetLogs(pod, options).Stream(ctx)
	}
	return &Kubernetes{Client: objects, Logs: open, Post: throughProxy(logs), Dial: throughForwarding(config, logs), Namespace: namespace}, nil
}
