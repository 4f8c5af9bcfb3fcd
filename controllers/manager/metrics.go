// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// How the certificate of the metrics endpoint is given, for messages that say what to change.
const (
	MetricsCertFlag     = "metrics-cert-path"
	MetricsCertVariable = "METRICS_CERT_PATH"
)

// MetricsCertificate names the files of a certificate and its key. They are looked at again every ten seconds, and when the folder
// reports a change, so that a renewed certificate is served without a restart.
type MetricsCertificate struct {
	Folder           string // default: none, and a self-signed certificate
	Certificate, Key string // files in it; default: tls.crt and tls.key, as in a Secret of the type kubernetes.io/tls
}

// metricsOptions serve metrics over HTTPS to clients that Kubernetes authenticates and authorizes.
func metricsOptions(chosen Options) (metricsserver.Options, error) {
	served := metricsserver.Options{BindAddress: chosen.MetricsAddress}
	if err := chosen.checkMetricsCertificate(); err != nil {
		return served, err
	}
	if chosen.InsecureMetrics {
		return served, nil
	}
	c := chosen.MetricsCertificate
	served.SecureServing, served.FilterProvider = true, filters.WithAuthenticationAndAuthorization
	served.CertDir, served.CertName, served.KeyName = c.Folder, c.Certificate, c.Key
	return served, nil
}

// checkMetricsCertificate reports at the start what would otherwise show when metrics are read: the server takes a self-signed
// certificate in place of a missing one.
func (chosen Options) checkMetricsCertificate() error {
	c, given := chosen.MetricsCertificate, "--"+MetricsCertFlag+" or "+MetricsCertVariable
	switch {
	case c == (MetricsCertificate{}):
		return nil
	case c.Folder == "":
		return errors.New("--metrics-cert-name and --metrics-cert-key name files in a folder: name that by " + given)
	case chosen.InsecureMetrics:
		return fmt.Errorf("%s names a certificate, but with --metrics-insecure none is shown: leave out one of the two", given)
	case chosen.MetricsAddress == "0":
		return fmt.Errorf("%s names a certificate, but with --metrics-bind-address=0 nothing shows it: leave out one of the two", given)
	}
	certificate, key := cmp.Or(c.Certificate, corev1.TLSCertKey), cmp.Or(c.Key, corev1.TLSPrivateKeyKey)
	if _, err := tls.LoadX509KeyPair(filepath.Join(c.Folder, certificate), filepath.Join(c.Folder, key)); err != nil {
		return fmt.Errorf("read the certificate of the metrics endpoint from %s: %w; mount a Secret with %s and %s there, "+
			"or leave out %s for a self-signed certificate", c.Folder, err, certificate, key, given)
	}
	return nil
}
