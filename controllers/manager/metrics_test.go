// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
)

// metricsHost is the name by which Prometheus knows the metrics endpoint in this test.
const metricsHost = "metrics.example.svc"

// mounted is a folder in which the kubelet has mounted a Secret: links to a folder that is replaced as a whole.
type mounted string

// put brings the files of a pair into the folder, and takes those before away.
func (m mounted) put(t *testing.T, version string, pair pki.Pair) {
	t.Helper()
	folder, data, next := string(m), filepath.Join(string(m), "..data"), filepath.Join(string(m), "..next")
	before, _ := os.Readlink(data)
	err := errors.Join(
		os.Mkdir(filepath.Join(folder, version), 0o700),
		os.WriteFile(filepath.Join(folder, version, "tls.crt"), pair.CertPEM, 0o600),
		os.WriteFile(filepath.Join(folder, version, "tls.key"), pair.KeyPEM, 0o600),
		os.Symlink(version, next), os.Rename(next, data),
	)
	if before == "" {
		err = errors.Join(err, os.Symlink("..data/tls.crt", filepath.Join(folder, "tls.crt")),
			os.Symlink("..data/tls.key", filepath.Join(folder, "tls.key")))
	} else {
		err = errors.Join(err, os.RemoveAll(filepath.Join(folder, before)))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func metricsPair(t *testing.T, ca pki.Pair) pki.Pair {
	t.Helper()
	pair, err := pki.Issue(rand.Reader, time.Now(), ca, pki.Request{
		CommonName: "metrics", DNSNames: []string{metricsHost}, Server: true, Lifetime: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// shown is the certificate that is shown to a client that trusts that authority.
func shown(address string, ca pki.Pair) (*x509.Certificate, error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.CertPEM)
	connection, err := tls.DialWithDialer(&net.Dialer{Timeout: 5 * time.Second}, "tcp", address,
		&tls.Config{RootCAs: roots, ServerName: metricsHost, MinVersion: tls.VersionTLS12})
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	return connection.ConnectionState().PeerCertificates[0], nil
}

// serve serves metrics as a manager does, but to everybody: there is no API server to ask who it is.
func serve(t *testing.T, options metricsserver.Options) string {
	t.Helper()
	options.FilterProvider = nil
	server, err := metricsserver.NewServer(options, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	address := ""
	soon(t, 10*time.Second, func() error {
		told, is := server.(interface{ GetBindAddr() string })
		if !is || told.GetBindAddr() == "" {
			return errors.New("the server has no address yet")
		}
		address = told.GetBindAddr()
		return nil
	})
	return address
}

// TestMetricsCertificateIsRenewed: who trusts the authority reads metrics by the name in the certificate, and the next certificate is
// served without a restart, as the kubelet brings it.
func TestMetricsCertificateIsRenewed(t *testing.T) {
	ca, err := pki.NewCA(rand.Reader, time.Now(), "test", 2*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	folder := mounted(t.TempDir())
	folder.put(t, "..1", metricsPair(t, ca))
	options, err := metricsOptions(Options{MetricsAddress: "127.0.0.1:0", MetricsCertificate: MetricsCertificate{Folder: string(folder)}})
	if err != nil || !options.SecureServing || options.FilterProvider == nil {
		t.Fatalf("%+v, %v", options, err)
	}
	address := serve(t, options)
	var first *x509.Certificate
	soon(t, 10*time.Second, func() (err error) {
		first, err = shown(address, ca)
		return err
	})
	folder.put(t, "..2", metricsPair(t, ca))
	soon(t, 30*time.Second, func() error {
		second, err := shown(address, ca)
		if err == nil && second.Equal(first) {
			err = errors.New("the first certificate is still served")
		}
		return err
	})
}

// soon wants something to be so before long.
func soon(t *testing.T, lasts time.Duration, is func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(lasts); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err = is(); err == nil {
			return
		}
	}
	t.Fatal(err)
}

// TestMetricsCertificateIsChecked: what would have no effect, or another one than requested, is reported at the start, with what to do.
func TestMetricsCertificateIsChecked(t *testing.T) {
	ca, err := pki.NewCA(rand.Reader, time.Now(), "test", 2*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	full, empty, mixed := mounted(t.TempDir()), t.TempDir(), mounted(t.TempDir())
	pair := metricsPair(t, ca)
	full.put(t, "..1", pair)
	mixed.put(t, "..1", pki.Pair{CertPEM: metricsPair(t, ca).CertPEM, KeyPEM: pair.KeyPEM})
	for name, c := range map[string]struct {
		chosen Options
		says   string
	}{
		"empty folder": {Options{MetricsCertificate: MetricsCertificate{Folder: empty}}, "mount a Secret with tls.crt and tls.key there"},
		"other names": {
			Options{MetricsCertificate: MetricsCertificate{Folder: string(full), Certificate: "a.crt", Key: "a.key"}},
			"mount a Secret with a.crt and a.key there",
		},
		"another's key": {Options{MetricsCertificate: MetricsCertificate{Folder: string(mixed)}}, "does not match"},
		"no folder":     {Options{MetricsCertificate: MetricsCertificate{Key: "a.key"}}, "name that by --metrics-cert-path or METRICS_CERT_PATH"},
		"plain HTTP": {
			Options{InsecureMetrics: true, MetricsCertificate: MetricsCertificate{Folder: string(full)}}, "--metrics-insecure",
		},
		"no metrics": {
			Options{MetricsAddress: "0", MetricsCertificate: MetricsCertificate{Folder: string(full)}}, "--metrics-bind-address=0",
		},
	} {
		_, err := metricsOptions(c.chosen)
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(fmt.Sprint(err), "PRIVATE KEY") {
			t.Errorf("%s: got %v, want an error that says %q", name, err, c.says)
		}
	}
	for _, chosen := range []Options{{}, {InsecureMetrics: true}, {MetricsAddress: "0"}} {
		if options, err := metricsOptions(chosen); err != nil || options.SecureServing == chosen.InsecureMetrics {
			t.Errorf("%+v without a certificate: %+v, %v", chosen, options, err)
		}
	}
}
