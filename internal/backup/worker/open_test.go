package worker

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

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

// Keys are files, and an identity is in the environment. With keys, the environment is not looked at; and only what a backup
// writes is locked.
func TestConfig(t *testing.T) {
	until := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	s3 := jobspec.S3{Bucket: "b", Prefix: "p", Region: "r", PathStyle: true, KMS: true, KMSKey: "k", LockMode: "COMPLIANCE", LockUntil: &until}
	all := map[string]string{
		"accessKeyID": "id\n", "secretAccessKey": " secret \n", "sessionToken": "token", "credentials.json": "{}\n", "accountKey": "key\n",
		"sasToken": "sas\n", "other": "x",
	}
	proxy := objectstore.Proxy{HTTPS: "of HTTPS_PROXY", HTTP: "of HTTP_PROXY", No: "of NO_PROXY"}
	encrypted := objectstore.Encryption{KMS: true, KMSKey: "k"}
	for name, c := range map[string]struct {
		verb  jobspec.Verb
		where jobspec.Store
		want  objectstore.Config
	}{
		"S3 by keys": {jobspec.Check, jobspec.Store{S3: &s3, Keys: true, CA: "ca.crt"}, objectstore.S3{
			Bucket: "b", Prefix: "p", Region: "r", PathStyle: true, CA: []byte("PEM"), AccessKeyID: "id", SecretAccessKey: "secret",
			SessionToken: "token", Encryption: encrypted, Proxy: proxy,
		}},
		"S3 by identity, for a backup": {jobspec.Backup, jobspec.Store{S3: &s3}, objectstore.S3{
			Bucket: "b", Prefix: "p", Region: "r", PathStyle: true, Encryption: encrypted, Proxy: proxy,
			Lock: objectstore.Lock{Mode: objectstore.Compliance, Until: until}, Identity: objectstore.AWSIdentity{
				RoleARN: "of AWS_ROLE_ARN", TokenFile: "of AWS_WEB_IDENTITY_TOKEN_FILE",
				AgentURL: "of AWS_CONTAINER_CREDENTIALS_FULL_URI", AgentTokenFile: "of AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
			},
		}},
		"Google by keys": {jobspec.Check, jobspec.Store{GCS: &jobspec.GCS{Bucket: "b"}, Keys: true}, objectstore.GCS{
			Bucket: "b", CredentialsJSON: []byte("{}"), Proxy: proxy,
		}},
		"Google by identity": {
			jobspec.Check,
			jobspec.Store{GCS: &jobspec.GCS{Bucket: "b", Endpoint: "e"}, Allowed: []string{"e"}},
			objectstore.GCS{
				Bucket: "b", Endpoint: "e", CredentialsJSON: []byte{}, Allowed: objectstore.Endpoints{"e"}, Proxy: proxy,
			},
		},
		"Azure by keys": {jobspec.Check, jobspec.Store{Azure: &jobspec.Azure{Container: "c", Account: "a"}, Keys: true}, objectstore.Azure{
			Container: "c", Account: "a", AccountKey: "key", SASToken: "sas", Proxy: proxy,
		}},
		"Azure by identity": {jobspec.Check, jobspec.Store{Azure: &jobspec.Azure{Container: "c", Account: "a"}}, objectstore.Azure{
			Container: "c", Account: "a", Proxy: proxy, Identity: objectstore.AzureIdentity{
				ClientID: "of AZURE_CLIENT_ID", TenantID: "of AZURE_TENANT_ID", TokenFile: "of AZURE_FEDERATED_TOKEN_FILE",
			},
		}},
		"volume": {jobspec.Backup, jobspec.Store{Volume: &jobspec.Volume{Path: "etcd"}}, objectstore.Volume{Path: "/backups", Prefix: "etcd"}},
	} {
		t.Run(name, func(t *testing.T) {
			j := job{Order: jobspec.Order{Verb: c.verb, Store: c.where}, Environment: pod(t, all)}
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
	for _, where := range []jobspec.Store{{Keys: true, S3: &jobspec.S3{Bucket: "b"}}, {CA: "other.crt", S3: &jobspec.S3{Bucket: "b"}}} {
		_, err := job{Order: jobspec.Order{Verb: jobspec.Check, Store: where}, Environment: in}.config()
		if !errors.Is(err, objectstore.Invalid) || failure(err).Reason != jobspec.StoreFailed {
			t.Errorf("%v", err)
		}
	}
}
