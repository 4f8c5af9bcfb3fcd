package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/objectstore"
)

// Names of files with keys, as the Secrets have them (api/v1alpha1: Key…).
const (
	accessKeyID, secretAccessKey, sessionToken = "accessKeyID", "secretAccessKey", "sessionToken"
	credentialsJSON                            = "credentials.json"
	accountKey, sasToken                       = "accountKey", "sasToken"
	identities                                 = "identities"
)

// objects is a store in the words of the archive.
type objects struct{ objectstore.Store }

func (o objects) List(ctx context.Context, folder string) iter.Seq2[archive.Object, error] {
	return func(yield func(archive.Object, error) bool) {
		for object, err := range o.Store.List(ctx, folder) {
			if !yield(archive.Object(object), err) {
				return
			}
		}
	}
}

// open opens the store of the order, with the keys that are there.
func (j job) open(ctx context.Context) (objects, error) {
	config, err := j.config()
	if err != nil {
		return objects{}, err
	}
	opened, err := objectstore.Open(ctx, config)
	return objects{opened}, err
}

func (j job) config() (objectstore.Config, error) {
	keys, err := j.keys()
	if err != nil {
		return nil, err
	}
	ca, err := j.authorities()
	if err != nil {
		return nil, err
	}
	switch where := j.Store; {
	case where.S3 != nil:
		return j.s3(*where.S3, keys, ca), nil
	case where.GCS != nil:
		g := where.GCS
		return objectstore.GCS{
			Bucket: g.Bucket, Prefix: g.Prefix, Endpoint: g.Endpoint, CA: ca, CredentialsJSON: []byte(keys[credentialsJSON]),
			Allowed: j.Store.Allowed, Proxy: j.proxy(),
		}, nil
	case where.Azure != nil:
		return j.azure(*where.Azure, keys, ca), nil
	case where.Volume != nil:
		return objectstore.Volume{Path: j.Folders.Volume, Prefix: where.Volume.Path}, nil
	}
	return nil, &unclear{"it names no store"}
}

func (j job) s3(where jobspec.S3, keys map[string]string, ca []byte) objectstore.S3 {
	s := objectstore.S3{
		Bucket: where.Bucket, Prefix: where.Prefix, Endpoint: where.Endpoint, Region: where.Region, PathStyle: where.PathStyle, CA: ca,
		AccessKeyID: keys[accessKeyID], SecretAccessKey: keys[secretAccessKey], SessionToken: keys[sessionToken],
		Allowed: j.Store.Allowed, Proxy: j.proxy(),
		Encryption: objectstore.Encryption{AES256: where.AES256, KMS: where.KMS, KMSKey: where.KMSKey},
	}
	if j.Verb == jobspec.Backup && where.LockUntil != nil {
		s.Lock = objectstore.Lock{Mode: objectstore.LockMode(where.LockMode), Until: *where.LockUntil}
	}
	if !j.Store.Keys {
		s.Identity = objectstore.AWSIdentity{
			RoleARN: j.Getenv("AWS_ROLE_ARN"), TokenFile: j.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE"),
			AgentURL: j.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI"), AgentTokenFile: j.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
		}
	}
	return s
}

func (j job) azure(where jobspec.Azure, keys map[string]string, ca []byte) objectstore.Azure {
	a := objectstore.Azure{
		Container: where.Container, Prefix: where.Prefix, Account: where.Account, Endpoint: where.Endpoint, CA: ca,
		AccountKey: keys[accountKey], SASToken: keys[sasToken], Allowed: j.Store.Allowed, Proxy: j.proxy(),
	}
	if !j.Store.Keys {
		a.Identity = objectstore.AzureIdentity{
			ClientID: j.Getenv("AZURE_CLIENT_ID"), TenantID: j.Getenv("AZURE_TENANT_ID"), TokenFile: j.Getenv("AZURE_FEDERATED_TOKEN_FILE"),
		}
	}
	return a
}

// proxy is the operator's, which has handed it on.
func (j job) proxy() objectstore.Proxy {
	return objectstore.Proxy{HTTPS: j.Getenv("HTTPS_PROXY"), HTTP: j.Getenv("HTTP_PROXY"), No: j.Getenv("NO_PROXY")}
}

// keys are the files of the store's Secret, without what an editor has put around them.
func (j job) keys() (map[string]string, error) {
	keys := map[string]string{}
	if !j.Store.Keys {
		return keys, nil
	}
	for _, name := range []string{accessKeyID, secretAccessKey, sessionToken, credentialsJSON, accountKey, sasToken} {
		content, err := os.ReadFile(filepath.Join(j.Folders.Keys, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, unreadable(name, err)
		}
		keys[name] = strings.TrimSpace(string(content))
	}
	return keys, nil
}

func (j job) authorities() ([]byte, error) {
	if j.Store.CA == "" {
		return nil, nil
	}
	content, err := os.ReadFile(filepath.Join(j.Folders.CA, filepath.Base(j.Store.CA)))
	if err != nil {
		return nil, unreadable(j.Store.CA, err)
	}
	return content, nil
}

// identities are those of age; nil if the order names none.
func (j job) identities(given bool) ([]byte, error) {
	if !given {
		return nil, nil
	}
	content, err := os.ReadFile(filepath.Join(j.Folders.Identities, identities))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", archive.ErrWrongKey, err)
	}
	return content, nil
}

// unreadable is about a key of a Secret or ConfigMap that the store names.
func unreadable(name string, err error) error {
	return &objectstore.Error{Kind: objectstore.Invalid, Do: "read key", Name: name, Message: err.Error()}
}
