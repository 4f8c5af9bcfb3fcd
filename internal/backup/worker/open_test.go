// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/objectstore"
)

// pod is where a Job runs whose Secrets have these files.
func pod(t *testing.T, keys map[string]string) Environment {
	t.Helper()
	in := Environment{
		Folders: Folders{Keys: t.TempDir(), CA: t.TempDir(), Volume: "/backups"},
		Getenv:  func(name string) string { return "of " + name },
	}
	for name, content := range keys {
		if err := os.WriteFile(filepath.Join(in.Folders.Keys, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(in.Folders.CA, "ca.crt"), []byte("PEM"), 0o600); err != nil {
		t.Fatal(err)
	}
	return in
}

// Keys are files, and an identity is in the environment. With keys, the environment is not searched for one; and only what a backup
// writes is locked.
func TestConfig(t *testing.T) {
	all := map[string]string{
		"accessKeyID": "id\n", "secretAccessKey": " secret \n", "sessionToken": "token", "credentials.json": "{}\n", "accountKey": "key\n",
		"sasToken": "sas\n", "other": "x",
	}
	keys := map[string]string{
		"accessKeyID": "id", "secretAccessKey": "secret", "sessionToken": "token", "credentials.json": "{}", "accountKey": "key",
		"sasToken": "sas",
	}
	proxy := objectstore.Proxy{HTTPS: "of HTTPS_PROXY", HTTP: "of HTTP_PROXY", No: "of NO_PROXY"}
	secret, ca := &v1beta1.SecretReference{Secret: "keys"}, &v1beta1.CASource{ConfigMap: "authorities"}
	byKeys := objectstore.Config{Keys: keys, CA: []byte("PEM"), Proxy: proxy}
	byIdentity := objectstore.Config{
		Proxy: proxy, AWS: objectstore.AWSIdentity{
			RoleARN: "of AWS_ROLE_ARN", TokenFile: "of AWS_WEB_IDENTITY_TOKEN_FILE",
			AgentURL: "of AWS_CONTAINER_CREDENTIALS_FULL_URI", AgentTokenFile: "of AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
		}, Azure: objectstore.AzureIdentity{
			ClientID: "of AZURE_CLIENT_ID", TenantID: "of AZURE_TENANT_ID", TokenFile: "of AZURE_FEDERATED_TOKEN_FILE",
		},
	}
	ofBackup := byIdentity
	ofBackup.LockedUntil, ofBackup.Allowed = time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC), objectstore.Endpoints{"e"}
	for _, c := range []struct {
		store v1beta1.EtcdBackupStoreSpec
		want  objectstore.Config
	}{
		{v1beta1.EtcdBackupStoreSpec{S3: &v1beta1.S3Store{Credentials: secret, CA: ca}}, byKeys},
		{v1beta1.EtcdBackupStoreSpec{S3: &v1beta1.S3Store{Bucket: "b"}}, byIdentity},
		{v1beta1.EtcdBackupStoreSpec{S3: &v1beta1.S3Store{Bucket: "b"}}, ofBackup},
		{v1beta1.EtcdBackupStoreSpec{GCS: &v1beta1.GCSStore{Credentials: secret, CA: ca}}, byKeys},
		{v1beta1.EtcdBackupStoreSpec{GCS: &v1beta1.GCSStore{Bucket: "b"}}, byIdentity},
		{v1beta1.EtcdBackupStoreSpec{Azure: &v1beta1.AzureStore{Credentials: secret, CA: ca}}, byKeys},
		{v1beta1.EtcdBackupStoreSpec{Azure: &v1beta1.AzureStore{Container: "c", Account: "a"}}, byIdentity},
		{v1beta1.EtcdBackupStoreSpec{Volume: &v1beta1.VolumeStore{Path: "etcd"}}, objectstore.Config{}},
	} {
		order := jobspec.Order{Store: c.store, Allowed: c.want.Allowed}
		if !c.want.LockedUntil.IsZero() {
			order.Backup = &jobspec.BackupOrder{LockedUntil: c.want.LockedUntil}
		}
		c.want.Spec, c.want.Mount = c.store, "/backups"
		got, err := job{Order: order, Environment: pod(t, all)}.config()
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v\n%+v, and it should be\n%+v", err, got, c.want)
		}
	}
}

// A Secret that changed under the Job is a matter of the store's configuration, whose user can correct it.
func TestKeysThatCannotBeRead(t *testing.T) {
	in := pod(t, nil)
	if err := os.Mkdir(filepath.Join(in.Folders.Keys, "accessKeyID"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, s3 := range []v1beta1.S3Store{
		{Credentials: &v1beta1.SecretReference{Secret: "keys"}}, {CA: &v1beta1.CASource{Secret: "authorities", Key: "other.crt"}},
	} {
		order := jobspec.Order{Verb: jobspec.Check, Store: v1beta1.EtcdBackupStoreSpec{S3: &s3}}
		_, err := job{Order: order, Environment: in}.config()
		if !errors.Is(err, objectstore.Invalid) || failure(err).Reason != jobspec.StoreFailed {
			t.Errorf("%v", err)
		}
	}
}
