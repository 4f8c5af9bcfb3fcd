// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package daemons

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/layout"
)

const patience = 2 * time.Second

// answers is well when a GET returns 200. The daemons' health ports have
// certificates that they made up, so that these are not verified.
func answers(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		return get(ctx, url, &tls.Config{InsecureSkipVerify: true})
	}
}

// answersClient asks the API server as its administrator.
func answersClient(l layout.Layout, path string) func(context.Context) error {
	return func(ctx context.Context) error {
		config, err := identity(l)
		if err != nil {
			return err
		}
		return get(ctx, "https://127.0.0.1:"+layout.APIPort+path, config)
	}
}

func identity(l layout.Layout) (*tls.Config, error) {
	file := func(name string) string { return filepath.Join(l.PKI(), name) }
	pair, err := tls.LoadX509KeyPair(file("admin.crt"), file("admin.key"))
	if err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(file("ca.crt"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool}, nil
}

func get(ctx context.Context, url string, config *tls.Config) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}

func accepts(network, address string) func(context.Context) error {
	return func(ctx context.Context) error {
		connection, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, network, address)
		if err != nil {
			return err
		}
		return connection.Close()
	}
}
