// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// Dial connects to etcd in a Pod as who a Secret says: by its certificate, and its name and password if it has them. Without a Secret there
// is no TLS. The connection ends with stop.
type Dial func(ctx context.Context, pod client.ObjectKey, as *corev1.Secret) (member etcd.Client, stop func(), err error)

// throughForwarding reaches etcd by a port of this machine that the API server forwards to the Pod.
func throughForwarding(config *rest.Config, server kubernetes.Interface) Dial {
	return func(ctx context.Context, pod client.ObjectKey, as *corev1.Secret) (etcd.Client, func(), error) {
		target, err := targetOf(as)
		if err != nil {
			return nil, nil, err
		}
		ctx, cancel := context.WithCancel(ctx)
		if target.Address, err = forward(ctx, config, server, pod); err != nil {
			cancel()
			return nil, nil, fmt.Errorf("forward a port to Pod %s: %w", pod.Name, err)
		}
		pool := etcd.NewPool()
		member, err := pool.Client("", target)
		return member, func() { pool.Keep("", nil); cancel() }, err
	}
}

// targetOf is a member on this machine, seen from here: its certificate is good for localhost, too.
func targetOf(as *corev1.Secret) (etcd.Target, error) {
	if as == nil {
		return etcd.Target{}, nil
	}
	pair, err := tls.X509KeyPair(as.Data[corev1.TLSCertKey], as.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return etcd.Target{}, fmt.Errorf("read the certificate in Secret %s: %w", as.Name, err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(as.Data["ca.crt"]) {
		return etcd.Target{}, fmt.Errorf("read the authority in ca.crt of Secret %s: there is none", as.Name)
	}
	return etcd.Target{
		ServerName: "localhost", User: string(as.Data["username"]), Password: string(as.Data["password"]),
		TLS: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authorities, Certificates: []tls.Certificate{pair}, ServerName: "localhost"},
	}, nil
}

// forward opens a port of this machine, as kubectl port-forward does, until the context ends.
func forward(ctx context.Context, config *rest.Config, server kubernetes.Interface, pod client.ObjectKey) (address string, err error) {
	url := server.CoreV1().RESTClient().Post().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("portforward").URL()
	websockets, err := portforward.NewSPDYOverWebsocketDialerForStreaming(url, config)
	if err != nil {
		return "", err
	}
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return "", err
	}
	older := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	dialer := portforward.NewFallbackDialerForStreaming(websockets, older, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	ready, ended := make(chan struct{}), make(chan error, 1)
	const host = "127.0.0.1"
	ports := []string{"0:" + strconv.Itoa(v1beta1.ClientPort)}
	f, err := portforward.NewOnAddressesForStreamingWithContext(ctx, dialer, []string{host}, ports, ready, io.Discard, io.Discard)
	if err != nil {
		return "", err
	}
	go func() { ended <- f.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-ended:
		return "", err
	}
	opened, err := f.GetPorts()
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(host, strconv.Itoa(int(opened[0].Local))), nil
}
