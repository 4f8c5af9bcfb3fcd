// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"cloud.google.com/go/storage"
	"gocloud.dev/blob"
	"gocloud.dev/blob/gcsblob"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

const (
	googleEndpoint = "https://storage.googleapis.com"
	googleScope    = storage.ScopeReadWrite
)

func (c Config) openGCS(ctx context.Context, spec v1beta1.GCSStore) (Store, error) {
	if os.Getenv("STORAGE_EMULATOR_HOST") != "" {
		// The library would send everything there, without credentials.
		return nil, &Error{Kind: Invalid, Do: "open", Name: spec.Bucket, Message: "STORAGE_EMULATOR_HOST is set in the environment"}
	}
	prefix, err := folderOf(spec.Prefix)
	if err != nil {
		return nil, err
	}
	endpoint := googleEndpoint
	if spec.Endpoint != "" {
		if err := checkEndpoint(spec.Endpoint); err != nil {
			return nil, err
		}
		endpoint = strings.TrimSuffix(spec.Endpoint, "/")
	}
	if err := c.Allowed.mayGetTokens(googleStorage, endpoint); err != nil {
		return nil, err
	}
	client, err := c.gcsClient(ctx, spec.Bucket)
	if err != nil {
		return nil, err
	}
	// Without authentication of its own the library looks for credentials nowhere; the client has them.
	api, err := storage.NewClient(ctx, option.WithHTTPClient(client), option.WithoutAuthentication(),
		option.WithEndpoint(endpoint+"/storage/v1/"), storage.WithJSONReads())
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	// Everything that is done here may be repeated. By default the library tries until the context ends.
	api.SetRetry(storage.WithPolicy(storage.RetryAlways), storage.WithMaxAttempts(3), storage.WithErrorFunc(mayRetry))
	bucket, err := gcsblob.OpenBucket(ctx, nil, spec.Bucket, &gcsblob.Options{Client: api})
	if err != nil {
		return nil, fmt.Errorf("open bucket: %w", err)
	}
	return &remote{dialect: gcsDialect{api.Bucket(spec.Bucket)}, bucket: bucket, prefix: prefix, client: client}, nil
}

// gcsClient adds a token to every request: by the key of a service account, or by the metadata server, which knows the identity of the
// ServiceAccount (Workload Identity Federation for GKE). Other kinds of credentials are refused: they name addresses and programs to ask.
func (c Config) gcsClient(ctx context.Context, bucket string) (*http.Client, error) {
	client, err := httpClient(c.CA, c.Proxy)
	if err != nil {
		return nil, err
	}
	tokens := google.ComputeTokenSource("", googleScope)
	if credentials := c.Keys[v1beta1.KeyCredentialsJSON]; credentials != "" {
		key, err := google.JWTConfigFromJSON([]byte(credentials), googleScope)
		if err != nil {
			return nil, &Error{Kind: Invalid, Do: "use credentials", Name: bucket, Message: "not the key of a service account in JSON", cause: err}
		}
		// A token is fetched for many requests, so that no single one's context may end it.
		asking := *client
		asking.Timeout = shortest
		tokens = key.TokenSource(context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, &asking))
	}
	client.Transport = &oauth2.Transport{Base: client.Transport, Source: tokens}
	return client, nil
}

type gcsDialect struct{ bucket *storage.BucketHandle }

// mayRetry adds a connection that ended before the answer, which the library takes for an answer.
func mayRetry(err error) bool { return storage.ShouldRetry(err) || errors.Is(err, io.EOF) }

// write limits the retries, for which the library knows no limit: it would forget what the store said.
func (gcsDialect) write(ctx context.Context, bucket *blob.Bucket, key string, content []byte) error {
	retries := 0
	limited := func(err error) bool {
		retries++
		return retries <= 2 && mayRetry(err)
	}
	return upload(ctx, bucket, key, content, func(as func(any) bool) error {
		var object **storage.ObjectHandle
		if !as(&object) {
			return errors.New("the library of Google's storage has another request than it had")
		}
		*object = (*object).Retryer(storage.WithPolicy(storage.RetryAlways), storage.WithErrorFunc(limited))
		return nil
	})
}

func (d gcsDialect) remove(ctx context.Context, key string) error {
	return d.bucket.Object(key).Delete(ctx)
}

// lock is asked after the store refused a deletion. What the object says then is in force.
func (d gcsDialect) lock(ctx context.Context, key string) (bool, time.Time) {
	o, err := d.bucket.Object(key).Attrs(ctx)
	if err != nil {
		return false, time.Time{}
	}
	if o.TemporaryHold || o.EventBasedHold {
		return true, time.Time{}
	}
	until := o.RetentionExpirationTime
	if o.Retention != nil && o.Retention.RetainUntil.After(until) {
		until = o.Retention.RetainUntil
	}
	return !until.IsZero(), until
}

// replyOfGCS reads what Google, or the service that gives tokens for it, said.
func replyOfGCS(err error) (reply, bool) {
	if refused := (*oauth2.RetrieveError)(nil); errors.As(err, &refused) {
		return replyOfTokens(refused), true
	}
	switch answer := (*googleapi.Error)(nil); {
	case errors.Is(err, storage.ErrBucketNotExist):
		return reply{Status: http.StatusNotFound, Code: "notFound", Message: "The specified bucket does not exist."}, true
	case errors.As(err, &answer):
		return replyOfGoogle(answer), true
	case errors.Is(err, storage.ErrObjectNotExist):
		return reply{Status: http.StatusNotFound, Code: "notFound", Message: "No such object."}, true
	}
	return reply{}, false
}

// replyOfGoogle reads the body where the library did not: it does so for all requests but those of contents.
func replyOfGoogle(answer *googleapi.Error) reply {
	var body struct{ Error googleapi.Error }
	if len(answer.Errors) == 0 && json.Unmarshal([]byte(answer.Body), &body) == nil {
		answer = &googleapi.Error{Code: answer.Code, Message: body.Error.Message, Errors: body.Error.Errors}
	}
	r := reply{Status: answer.Code, Message: answer.Message}
	switch {
	case len(answer.Errors) > 0:
		r.Code = answer.Errors[0].Reason
	case answer.Code == http.StatusNotFound:
		r.Code = "notFound"
	}
	if r.Message == "" {
		r.Message = strings.TrimSpace(answer.Body)
	}
	return r
}

// replyOfTokens reads the body, as the library does not for keys of service accounts.
func replyOfTokens(refused *oauth2.RetrieveError) reply {
	r := reply{Code: refused.ErrorCode, Message: refused.ErrorDescription}
	if refused.Response != nil {
		r.Status = refused.Response.StatusCode
	}
	var body struct {
		Error       string
		Description string `json:"error_description"`
	}
	if r.Code == "" && json.Unmarshal(refused.Body, &body) == nil {
		r.Code, r.Message = body.Error, body.Description
	}
	return r
}
