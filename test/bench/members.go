// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// Clusters of the operator and of the floor have the same names: the Pods of c are
// c-0, c-1 and c-2, its Secret for clients is c-client. So both are watched and
// asked by the same code, at the same cost.
const instanceLabel = "app.kubernetes.io/instance"

func memberNames(cluster string, size int) []string {
	var all []string
	for i := range size {
		all = append(all, cluster+"-"+strconv.Itoa(i))
	}
	return all
}

// pod is the Pod as the watch brought it; nil if there is none.
func (b *bench) pod(ctx context.Context, name string) (*corev1.Pod, error) {
	var pod corev1.Pod
	err := b.seen.Get(ctx, client.ObjectKey{Namespace: b.namespace, Name: name}, &pod)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("get pod %s: %w", name, err)
	}
	if err != nil {
		return nil, nil //nolint:nilerr // no Pod is an answer
	}
	return &pod, nil
}

// answer waits until every member of the cluster has answered a linearizable read,
// each asked at its own Pod, and none at the Pod that is gone.
func (b *bench) answer(ctx context.Context, cluster string, size int, gone types.UID) error {
	all := memberNames(cluster, size)
	errs := make([]error, len(all))
	var group sync.WaitGroup
	for i, name := range all {
		group.Go(func() { errs[i] = b.answerOf(ctx, cluster, name, gone) })
	}
	group.Wait()
	return errors.Join(errs...)
}

func (b *bench) answerOf(ctx context.Context, cluster, name string, gone types.UID) error {
	var pod *corev1.Pod
	err := poll(ctx, name+" to get an address", blink, patience, func() (bool, error) {
		var err error
		pod, err = b.pod(ctx, name)
		return pod != nil && pod.UID != gone && pod.Status.PodIP != "", err
	})
	if err != nil {
		return err
	}
	member, err := b.dial(ctx, cluster, pod)
	if err != nil {
		return err
	}
	return poll(ctx, name+" to answer", blink, patience, func() (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		return member.Read(ctx) == nil, nil
	})
}

// dial makes a client for one member. Its connection is kept.
func (b *bench) dial(ctx context.Context, cluster string, pod *corev1.Pod) (etcd.Client, error) {
	config, err := b.identity(ctx, cluster)
	if err != nil {
		return nil, err
	}
	member, err := b.members.Client(cluster, etcd.Target{
		Instance:   string(pod.UID),
		Address:    pod.Status.PodIP + ":" + strconv.Itoa(v1beta1.ClientPort),
		ServerName: pod.Name + "." + cluster + "." + b.namespace + ".svc",
		TLS:        config,
	})
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", pod.Name, err)
	}
	return member, nil
}

// identity is what the Secret for clients gives an application, the same for each member.
func (b *bench) identity(ctx context.Context, cluster string) (*tls.Config, error) {
	var secret corev1.Secret
	if err := b.client.Get(ctx, client.ObjectKey{Namespace: b.namespace, Name: cluster + "-client"}, &secret); err != nil {
		return nil, fmt.Errorf("get the Secret for clients: %w", err)
	}
	config, err := pki.ClientConfig(secret.Data[specs.CAKey],
		pki.Pair{CertPEM: secret.Data[corev1.TLSCertKey], KeyPEM: secret.Data[corev1.TLSPrivateKeyKey]})
	if err != nil {
		return nil, fmt.Errorf("read the Secret for clients: %w", err)
	}
	known, _ := b.identities.LoadOrStore(string(secret.UID)+secret.ResourceVersion, config)
	return known.(*tls.Config), nil
}
