// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// scraped is how many clusters the operator has figures of. They have no members, because so many that run do not fit on a machine:
	// BenchmarkScrapeOf100Clusters in controllers/metrics has the figures of three members each.
	scraped = 100
	// Goals of one scrape: seconds, and MiB of text.
	scrapeSeconds, scrapeMiB = 1, 20
)

// scrape measures what one scrape of the operator's metrics takes beside many clusters.
func scrape(ctx context.Context, b *bench) (rows []row, err error) {
	if err := b.hibernate(ctx, scraped); err != nil {
		return nil, err
	}
	token, forget, err := b.metricsToken(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, forget()) }()
	leader, _, err := b.standingBy(ctx)
	if err != nil {
		return nil, err
	}
	var took, size sample
	for i := range b.n {
		begin := time.Now()
		bytes, err := scrapeOnce(ctx, leader.Status.PodIP, token)
		if err != nil {
			return nil, err
		}
		took.seconds(time.Since(begin))
		size.add(float64(bytes) / mebibyte)
		b.progress("%d of %d: %d bytes after %s", i+1, b.n, bytes, time.Since(begin).Round(time.Millisecond))
		if err := sleep(ctx, rest); err != nil {
			return nil, err
		}
	}
	return []row{
		alone("scrape-100", "s", took.percentile(100), atMost(scrapeSeconds), took),
		alone("scrape-100-size", "MiB", size.percentile(100), atMost(scrapeMiB), size),
	}, b.forgetAll(ctx)
}

// scrapeOnce asks the replica at that address as Prometheus does, with a connection of its own, and reads all of the answer.
func scrapeOnce(ctx context.Context, address, token string) (int64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+net.JoinHostPort(address, "8443")+"/metrics", nil)
	if err != nil {
		return 0, fmt.Errorf("ask for metrics: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	asks := http.Client{Timeout: patience, Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the operator's certificate is of its own making
	}}
	response, err := asks.Do(request)
	if err != nil {
		return 0, fmt.Errorf("ask for metrics: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // it is only read
	size, err := io.Copy(io.Discard, response.Body)
	if err != nil {
		return 0, fmt.Errorf("read metrics: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("ask for metrics: %s", response.Status)
	}
	return size, nil
}

// metricsToken is one of an account that may read the metrics, until it is forgotten.
func (b *bench) metricsToken(ctx context.Context) (token string, forget func() error, err error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "reader"}}
	if err := b.client.Create(ctx, account); err != nil {
		return "", nil, fmt.Errorf("create ServiceAccount: %w", err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-metrics-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "etcd-operator-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: account.Namespace, Name: account.Name}},
	}
	if err := b.client.Create(ctx, binding); err != nil {
		return "", nil, fmt.Errorf("create ClusterRoleBinding: %w", err)
	}
	forget = func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		return errors.Join(b.client.Delete(ctx, binding), b.client.Delete(ctx, account))
	}
	request := &authenticationv1.TokenRequest{}
	if err := b.client.SubResource("token").Create(ctx, account, request); err != nil {
		return "", nil, errors.Join(fmt.Errorf("create token: %w", err), forget())
	}
	return request.Status.Token, forget, nil
}
