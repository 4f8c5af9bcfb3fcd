package runner

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/store"
	"github.com/etcd-operator/etcd-operator/internal/task"
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

// Keys are files, and an identity is in the environment. With keys, the environment is not looked at; and only what a backup
// writes is locked.
func TestConfig(t *testing.T) {
	until := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	s3 := task.S3{Bucket: "b", Prefix: "p", Region: "r", PathStyle: true, KMS: true, KMSKey: "k", LockMode: "COMPLIANCE", LockUntil: &until}
	all := map[string]string{
		"accessKeyID": "id\n", "secretAccessKey": " secret \n", "sessionToken": "token", "credentials.json": "{}\n", "accountKey": "key\n",
		"sasToken": "sas\n", "other": "x",
	}
	proxy := store.Proxy{HTTPS: "of HTTPS_PROXY", HTTP: "of HTTP_PROXY", No: "of NO_PROXY"}
	encrypted := store.Encryption{KMS: true, KMSKey: "k"}
	for name, c := range map[string]struct {
		verb  task.Verb
		where task.Store
		want  store.Config
	}{
		"S3 by keys": {task.Check, task.Store{S3: &s3, Keys: true, CA: "ca.crt"}, store.S3{
			Bucket: "b", Prefix: "p", Region: "r", PathStyle: true, CA: []byte("PEM"), AccessKeyID: "id", SecretAccessKey: "secret",
			SessionToken: "token", Encryption: encrypted, Proxy: proxy,
		}},
		"S3 by identity, for a backup": {task.Backup, task.Store{S3: &s3}, store.S3{
			Bucket: "b", Prefix: "p", Region: "r", PathStyle: true, Encryption: encrypted, Proxy: proxy,
			Lock: store.Lock{Mode: store.Compliance, Until: until}, Identity: store.AWSIdentity{
				RoleARN: "of AWS_ROLE_ARN", TokenFile: "of AWS_WEB_IDENTITY_TOKEN_FILE",
				AgentURL: "of AWS_CONTAINER_CREDENTIALS_FULL_URI", AgentTokenFile: "of AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
			},
		}},
		"Google by keys": {task.Check, task.Store{GCS: &task.GCS{Bucket: "b"}, Keys: true}, store.GCS{
			Bucket: "b", CredentialsJSON: []byte("{}"), Proxy: proxy,
		}},
		"Google by identity": {task.Check, task.Store{GCS: &task.GCS{Bucket: "b", Endpoint: "e"}, Allowed: []string{"e"}}, store.GCS{
			Bucket: "b", Endpoint: "e", CredentialsJSON: []byte{}, Allowed: store.Endpoints{"e"}, Proxy: proxy,
		}},
		"Azure by keys": {task.Check, task.Store{Azure: &task.Azure{Container: "c", Account: "a"}, Keys: true}, store.Azure{
			Container: "c", Account: "a", AccountKey: "key", SASToken: "sas", Proxy: proxy,
		}},
		"Azure by identity": {task.Check, task.Store{Azure: &task.Azure{Container: "c", Account: "a"}}, store.Azure{
			Container: "c", Account: "a", Proxy: proxy, Identity: store.AzureIdentity{
				ClientID: "of AZURE_CLIENT_ID", TenantID: "of AZURE_TENANT_ID", TokenFile: "of AZURE_FEDERATED_TOKEN_FILE",
			},
		}},
		"volume": {task.Backup, task.Store{Volume: &task.Volume{Path: "etcd"}}, store.Volume{Path: "/backups", Prefix: "etcd"}},
	} {
		t.Run(name, func(t *testing.T) {
			j := job{Order: task.Order{Verb: c.verb, Store: c.where}, Environment: pod(t, all)}
			got, err := j.config()
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%v\n%+v, and it should be\n%+v", err, got, c.want)
			}
		})
	}
}

// A Secret that changed under the Job is a matter of the store's configuration, whose user can correct it.
func TestKeysThatCannotBeRead(t *testing.T) {
	in := pod(t, nil)
	if err := os.Mkdir(filepath.Join(in.Folders.Keys, "accessKeyID"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, where := range []task.Store{{Keys: true, S3: &task.S3{Bucket: "b"}}, {CA: "other.crt", S3: &task.S3{Bucket: "b"}}} {
		_, err := job{Order: task.Order{Verb: task.Check, Store: where}, Environment: in}.config()
		if !errors.Is(err, store.Invalid) || failure(err).Reason != task.StoreFailed {
			t.Errorf("%v", err)
		}
	}
}
