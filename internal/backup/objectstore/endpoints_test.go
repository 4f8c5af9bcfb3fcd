// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstore_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/objectstore"
)

// tokenStores are configurations whose credentials can be used by any server that gets them, for an endpoint.
func tokenStores(t *testing.T) map[string]func(endpoint string, allowed ...string) objectstore.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	must(t, os.WriteFile(file, []byte("token"), 0o600))
	key := serviceAccount(t, "https://oauth2.googleapis.com/token")
	amazon := objectstore.AWSIdentity{RoleARN: "arn:aws:iam::1:role/a", TokenFile: file}
	entra := objectstore.AzureIdentity{ClientID: "client", TenantID: "11111111-1111-1111-1111-111111111111", TokenFile: file}
	return map[string]func(endpoint string, allowed ...string) objectstore.Config{
		"S3 by identity": func(endpoint string, allowed ...string) objectstore.Config {
			return objectstore.Config{Spec: s3At(endpoint, ""), AWS: amazon, Allowed: allowed}
		},
		"Google by identity": func(endpoint string, allowed ...string) objectstore.Config {
			return inGoogle(endpoint, "", allowed...)
		},
		"Google by a key": func(endpoint string, allowed ...string) objectstore.Config {
			return inGoogle(endpoint, key, allowed...)
		},
		"Azure by identity": func(endpoint string, allowed ...string) objectstore.Config {
			return objectstore.Config{Spec: azureAt(endpoint, "account"), Azure: entra, Allowed: allowed}
		},
		"Azure by a SAS token": func(endpoint string, allowed ...string) objectstore.Config {
			return objectstore.Config{Spec: azureAt(endpoint, "account"), Keys: token, Allowed: allowed}
		},
	}
}

var (
	token = map[string]string{v1beta1.KeySASToken: "sig=x"}
	pair  = map[string]string{v1beta1.KeyAccessKeyID: "a", v1beta1.KeySecretAccessKey: "b", v1beta1.KeySessionToken: "c"}
)

func s3At(endpoint, region string) v1beta1.EtcdBackupStoreSpec {
	return v1beta1.EtcdBackupStoreSpec{S3: &v1beta1.S3Store{Bucket: "b", Endpoint: endpoint, Region: region}}
}

func azureAt(endpoint, account string) v1beta1.EtcdBackupStoreSpec {
	return v1beta1.EtcdBackupStoreSpec{Azure: &v1beta1.AzureStore{Container: "b", Account: account, Endpoint: endpoint}}
}

// TestTokensGoToTheirProvider: what is no endpoint of the provider is refused before it is asked, unless the administrator allows it.
func TestTokensGoToTheirProvider(t *testing.T) {
	for name, config := range tokenStores(t) {
		own, _, _ := strings.Cut(name, " ")
		refused := map[string]bool{
			"": false, "https://evil.example": true, "http://evil.example": true, "https://10.0.0.1:9000": true,
			"https://evil.example/.amazonaws.com":           true,
			"https://s3.eu-central-1.amazonaws.com":         own != "S3",
			"https://s3.dualstack.eu-west-1.amazonaws.com":  own != "S3",
			"http://s3.eu-central-1.amazonaws.com":          true,
			"http://s3.eu-central-1.amazonaws.com:443":      true,
			"https://s3.eu-central-1.amazonaws.com:8443":    true,
			"https://s3.amazonaws.com.evil.example":         true,
			"https://x.execute-api.eu-west-1.amazonaws.com": true, "https://x.elb.amazonaws.com": true,
			"https://storage.googleapis.com":              own != "Google",
			"http://storage.googleapis.com":               true,
			"https://x.storage.googleapis.com":            true,
			"https://account.blob.core.windows.net":       own != "Azure",
			"https://account.blob.core.usgovcloudapi.net": own != "Azure",
			"http://account.blob.core.windows.net":        true,
			"https://x.azurewebsites.net":                 true,
		}
		for endpoint, isRefused := range refused {
			_, err := objectstore.Open(t.Context(), config(endpoint))
			if isRefused {
				wantKind(t, err, objectstore.Invalid)
				if !strings.Contains(err.Error(), "--"+objectstore.EndpointsFlag+" ") {
					t.Errorf("the flag is cut off: %s", err)
				}
			} else if err != nil {
				t.Errorf("%s, %q: %v", name, endpoint, err)
			}
		}
		for _, allowed := range []string{"evil.example", "*.example", "https://evil.example:443", "*"} {
			if _, err := objectstore.Open(t.Context(), config("https://evil.example", "other.example", allowed)); err != nil {
				t.Errorf("%s, allowed by %q: %v", name, allowed, err)
			}
			_, err := objectstore.Open(t.Context(), config("http://evil.example", allowed))
			wantKind(t, err, objectstore.Invalid)
		}
		for _, allowed := range []string{"evil.example:8443", "*.evil.example", "http://evil.example", "il.example"} {
			_, err := objectstore.Open(t.Context(), config("https://evil.example", allowed))
			wantKind(t, err, objectstore.Invalid)
		}
	}
}

// An account or a region is a part of an address: neither can make it another one.
func TestPartsOfAddresses(t *testing.T) {
	for name, config := range map[string]objectstore.Config{
		"account, by token": {Spec: azureAt("", "evil.example/x"), Keys: token},
		"account, port":     {Spec: azureAt("", "evil.example:443#"), Keys: token},
		"region":            {Spec: s3At("", "evil.example#"), Keys: pair},
		"region of STS": {
			Spec: s3At("https://s3.amazonaws.com", "x.evil.example/"), AWS: objectstore.AWSIdentity{RoleARN: "a", TokenFile: "b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := objectstore.Open(t.Context(), config)
			wantKind(t, err, objectstore.Invalid)
		})
	}
}

// Keys that only sign may be used with any endpoint, as those of stores in the same cluster, also without TLS.
func TestKeysThatSignGoAnywhere(t *testing.T) {
	for _, config := range []objectstore.Config{
		{Spec: s3At("http://minio:9000", "my_region"), Keys: pair},
		{Spec: azureAt("http://azurite:10000/account", "account"), Keys: map[string]string{v1beta1.KeyAccountKey: azureKey}},
	} {
		if _, err := objectstore.Open(t.Context(), config); err != nil {
			t.Error(err)
		}
	}
}

func TestEndpointsFlag(t *testing.T) {
	var all objectstore.Endpoints
	err := all.Set("https://a.example:9000, *.b.example,http://*")
	if err != nil || all.String() != "https://a.example:9000,*.b.example,http://*" {
		t.Errorf("%s: %v", &all, err)
	}
	for _, wrong := range []string{"ftp://a", "https://a/path", "a*", "*a.example", "https://", "user@a", "a?b", "a.*.b"} {
		if err := new(objectstore.Endpoints).Set(wrong); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}

// TestAudienceIsFixed: an endpoint that asks for a token of another service gets none of it.
func TestAudienceIsFixed(t *testing.T) {
	var asked atomic.Pointer[[]string]
	asked.Store(&[]string{})
	entra := func(scopes []string) { asked.Store(new(append(*asked.Load(), scopes...))) }
	storage := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate",
			`Bearer authorization_uri="https://login.microsoftonline.com/t/oauth2/authorize" resource_id="https://vault.azure.net"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(storage.Close)
	err := objectstore.AskAzure(t.Context(), storage.URL, storage.Client(), entra)
	got := strings.Join(*asked.Load(), " ")
	if strings.Contains(got, "vault") || !strings.Contains(got, "https://storage.azure.com/.default") {
		t.Errorf("tokens for %q were asked for: %v", got, err)
	}
}
