// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstore

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"time"

	_ "golang.org/x/crypto/x509roots/fallback" // authorities of the Web, where the system has none: the image has no files of them
	"golang.org/x/net/http/httpproxy"
)

// httpClient is ours instead of the libraries' own, which look at the environment for proxies and authorities. It trusts the
// authorities of the system, or those of Mozilla's program where the system has none, and those in ca (PEM) besides.
func httpClient(ca []byte, proxy Proxy) (*http.Client, error) {
	authorities, err := x509.SystemCertPool()
	if err != nil {
		authorities = x509.NewCertPool()
	}
	if len(ca) > 0 && !authorities.AppendCertsFromPEM(ca) {
		return nil, &Error{Kind: Invalid, Do: "read", Name: "certificate authority", Message: "it has no certificate in PEM"}
	}
	transport := &http.Transport{
		Proxy: proxy.choose(),
		// Three tries of a connection fit into the shortest deadline.
		DialContext:         (&net.Dialer{Timeout: 3 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSClientConfig:     &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: 5 * time.Second,
		MaxIdleConnsPerHost: 4, // parts on their way, and a listing
		IdleConnTimeout:     30 * time.Second,
		DisableCompression:  true, // what is stored is compressed; ranges are of bytes as stored
	}
	// A redirection says that the region is wrong: following it would send credentials to an address that is not configured.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Transport: transport, CheckRedirect: stay}, nil
}

// Proxy is what requests to a store go through, as the variables of these names say it. Nothing is set: they go directly.
type Proxy struct {
	HTTPS, HTTP string // HTTPS_PROXY, HTTP_PROXY
	No          string // NO_PROXY
}

// nearby are addresses of the node itself, where agents of clouds give tokens to Pods.
const nearby = "169.254.0.0/16,fd00:ec2::23"

func (p Proxy) choose() func(*http.Request) (*url.URL, error) {
	config := httpproxy.Config{HTTPSProxy: p.HTTPS, HTTPProxy: p.HTTP, NoProxy: p.No + "," + nearby}
	of := config.ProxyFunc()
	return func(r *http.Request) (*url.URL, error) { return of(r.URL) }
}

// checkEndpoint checks an endpoint that a user wrote.
func checkEndpoint(endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		return &Error{Kind: Invalid, Do: "use endpoint", Name: endpoint, Message: "not an URL such as https://storage.example:9000"}
	}
	return nil
}
