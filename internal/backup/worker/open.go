// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

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

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/objectstore"
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

// config is the store of the order, with what is in the Pod for it.
func (j job) config() (objectstore.Config, error) {
	c := objectstore.Config{Spec: j.Store, Mount: j.Folders.Volume}
	if j.Store.Volume != nil {
		return c, nil
	}
	credentials, ca := j.Store.CredentialsAndCA()
	var err error
	if c.Keys, err = j.keys(credentials); err != nil {
		return c, err
	}
	if c.CA, err = j.authorities(ca); err != nil {
		return c, err
	}
	if credentials == nil {
		c.AWS, c.Azure = j.identityAtAWS(), j.identityAtAzure()
	}
	if j.Backup != nil {
		c.LockedUntil = j.Backup.LockedUntil
	}
	c.Allowed, c.Proxy = j.Allowed, j.proxy()
	return c, nil
}

func (j job) identityAtAWS() objectstore.AWSIdentity {
	return objectstore.AWSIdentity{
		RoleARN: j.Getenv("AWS_ROLE_ARN"), TokenFile: j.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE"),
		AgentURL: j.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI"), AgentTokenFile: j.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
	}
}

func (j job) identityAtAzure() objectstore.AzureIdentity {
	return objectstore.AzureIdentity{
		ClientID: j.Getenv("AZURE_CLIENT_ID"), TenantID: j.Getenv("AZURE_TENANT_ID"), TokenFile: j.Getenv("AZURE_FEDERATED_TOKEN_FILE"),
	}
}

// proxy is the operator's, which has handed it on.
func (j job) proxy() objectstore.Proxy {
	return objectstore.Proxy{HTTPS: j.Getenv("HTTPS_PROXY"), HTTP: j.Getenv("HTTP_PROXY"), No: j.Getenv("NO_PROXY")}
}

// keys are the files of the store's Secret, without what an editor has put around them; nil if the store names none.
func (j job) keys(secret *v1beta1.SecretReference) (map[string]string, error) {
	if secret == nil {
		return nil, nil
	}
	keys := map[string]string{}
	for _, name := range []string{
		v1beta1.KeyAccessKeyID, v1beta1.KeySecretAccessKey, v1beta1.KeySessionToken, v1beta1.KeyCredentialsJSON, v1beta1.KeyAccountKey,
		v1beta1.KeySASToken,
	} {
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

func (j job) authorities(ca *v1beta1.CASource) ([]byte, error) {
	if ca == nil {
		return nil, nil
	}
	content, err := os.ReadFile(filepath.Join(j.Folders.CA, filepath.Base(ca.KeyName())))
	if err != nil {
		return nil, unreadable(ca.KeyName(), err)
	}
	return content, nil
}

// identities are those of age; nil if the order names none.
func (j job) identities(given bool) ([]byte, error) {
	if !given {
		return nil, nil
	}
	content, err := os.ReadFile(filepath.Join(j.Folders.Identities, v1beta1.KeyIdentities))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", archive.ErrWrongKey, err)
	}
	return content, nil
}

// unreadable is about a key of a Secret or ConfigMap that the store names.
func unreadable(name string, err error) error {
	return &objectstore.Error{Kind: objectstore.Invalid, Do: "read key", Name: name, Message: err.Error()}
}
