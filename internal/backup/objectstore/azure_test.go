// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstore_test

import (
	"net"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/objectstore"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// The account that every azurite has, as its documentation says; it is no secret.
const (
	azureAccount = "devstoreaccount1"
	azureKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// newAzure runs azurite.
func newAzure(t *testing.T) world {
	t.Helper()
	address := process.FreeAddress(t)
	_, port, err := net.SplitHostPort(address)
	must(t, err)
	// The version of the API that the library speaks is newer than what this azurite knows.
	run(t, address, "azurite/node_modules/.bin/azurite-blob", "--blobHost", "127.0.0.1", "--blobPort", port,
		"--inMemoryPersistence", "--silent", "--disableTelemetry", "--skipApiVersionCheck")
	key, err := container.NewSharedKeyCredential(azureAccount, azureKey)
	must(t, err)
	api, err := container.NewClientWithSharedKeyCredential("http://"+address+"/"+azureAccount+"/backups", key, nil)
	must(t, err)
	_, err = api.Create(t.Context(), nil)
	must(t, err)
	return world{address: address, refusals: azureRefusals, config: func(address string, ca []byte, prefix string) objectstore.Config {
		c := azureConfig(address, prefix)
		c.CA = ca
		return c
	}}
}

func azureConfig(address, prefix string) objectstore.Config {
	return objectstore.Config{
		Spec: v1beta1.EtcdBackupStoreSpec{Azure: &v1beta1.AzureStore{
			Container: "backups", Prefix: prefix, Account: azureAccount, Endpoint: address + "/" + azureAccount,
		}},
		Keys: map[string]string{v1beta1.KeyAccountKey: azureKey}, Allowed: objectstore.Endpoints{address},
	}
}

var azureRefusals = []refusal{
	{"right", 403, azureError("AuthorizationPermissionMismatch", "no right"), objectstore.Forbidden, "AuthorizationPermissionMismatch"},
	{"skew", 403, azureError("AuthenticationFailed", "Request date header too old: 'x'"), objectstore.Skewed, "AuthenticationFailed"},
	{"busy", 503, azureError("ServerBusy", "The server is busy."), objectstore.Busy, "ServerBusy"},
	{"full", 507, azureError("InsufficientStorage", "full"), objectstore.Full, "InsufficientStorage"},
}

func azureError(code, message string) string {
	return "<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>" + code + "</Code><Message>" + message + "</Message></Error>"
}

func TestAzure(t *testing.T) {
	conforms(t, newAzure(t).open)
}

func TestAzureFaults(t *testing.T) {
	survives(t, newAzure(t))
}

// What the server itself refuses.
func TestAzureRefusals(t *testing.T) {
	address := newAzure(t).address
	for name, c := range map[string]struct {
		change func(*objectstore.Config)
		want   objectstore.Kind
	}{
		"key":       {func(c *objectstore.Config) { c.Keys[v1beta1.KeyAccountKey] = "d3Jvbmc=" }, objectstore.Forbidden},
		"expired":   {func(c *objectstore.Config) { c.Keys = sasToken(t, "", -time.Hour) }, objectstore.Forbidden},
		"container": {func(c *objectstore.Config) { c.Spec.Azure.Container = "nothing" }, objectstore.NoBucket},
	} {
		t.Run(name, func(t *testing.T) {
			config := azureConfig("http://"+address, "")
			c.change(&config)
			refuses(t, open(t, config), c.want)
		})
	}
}

func TestAzureSASToken(t *testing.T) {
	config := azureConfig("http://"+newAzure(t).address, "")
	config.Keys = sasToken(t, "?", time.Hour)
	check(t, open(t, config))
}

func sasToken(t *testing.T, before string, lasts time.Duration) map[string]string {
	t.Helper()
	key, err := container.NewSharedKeyCredential(azureAccount, azureKey)
	must(t, err)
	all := sas.ContainerPermissions{Read: true, Write: true, Create: true, Delete: true, List: true}
	values := sas.BlobSignatureValues{
		ContainerName: "backups", Permissions: all.String(), ExpiryTime: time.Now().UTC().Add(lasts), Protocol: sas.ProtocolHTTPSandHTTP,
	}
	token, err := values.SignWithSharedKey(key)
	must(t, err)
	return map[string]string{v1beta1.KeySASToken: before + token.Encode()}
}
