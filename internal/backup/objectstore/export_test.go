// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstore

import (
	"context"
	"crypto/x509"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// AskAzure asks an endpoint with a token that asked makes, as the identity of a ServiceAccount does.
func AskAzure(ctx context.Context, endpoint string, client *http.Client, asked func(scopes []string)) error {
	options := &container.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: client}}
	api, err := container.NewClient(endpoint+"/b", storageTokens{tokenMaker(asked)}, options)
	if err == nil {
		_, err = api.GetProperties(ctx, nil)
	}
	return err
}

type tokenMaker func(scopes []string)

func (m tokenMaker) GetToken(_ context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	m(options.Scopes)
	return azcore.AccessToken{Token: "token", ExpiresOn: time.Now().Add(time.Hour)}, nil
}

// Authorities are those that the connections of a store trust, which names none itself.
func Authorities() (*x509.CertPool, error) {
	client, err := httpClient(nil, Proxy{})
	if err != nil {
		return nil, err
	}
	return client.Transport.(*http.Transport).TLSClientConfig.RootCAs, nil //nolint:forcetypeassert // httpClient makes no other
}

// ProxyOf is through what a request to an address goes; empty if directly.
func ProxyOf(p Proxy, address string) string {
	request, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		return err.Error()
	}
	through, err := p.choose()(request)
	if err != nil || through == nil {
		return ""
	}
	return through.String()
}
