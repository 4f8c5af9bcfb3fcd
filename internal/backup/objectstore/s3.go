// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstore

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// The words of S3.
var (
	encryptions = map[v1beta1.S3EncryptionMode]types.ServerSideEncryption{
		v1beta1.EncryptionSSE: types.ServerSideEncryptionAes256, v1beta1.EncryptionKMS: types.ServerSideEncryptionAwsKms,
	}
	lockModes = map[v1beta1.S3LockMode]types.ObjectLockMode{
		v1beta1.LockGovernance: types.ObjectLockModeGovernance, v1beta1.LockCompliance: types.ObjectLockModeCompliance,
	}
)

func (c Config) openS3(ctx context.Context, spec v1beta1.S3Store) (Store, error) {
	prefix, err := folderOf(spec.Prefix)
	if err != nil {
		return nil, err
	}
	client, err := httpClient(c.CA, c.Proxy)
	if err != nil {
		return nil, err
	}
	options, err := c.s3Options(spec, client)
	if err != nil {
		return nil, err
	}
	api := s3.New(options)
	bucket, err := s3blob.OpenBucket(ctx, api, spec.Bucket, nil)
	if err != nil {
		return nil, err
	}
	return &remote{dialect: s3Dialect{api, spec, c.LockedUntil}, bucket: bucket, prefix: prefix, client: client}, nil
}

func (c Config) s3Options(spec v1beta1.S3Store, client *http.Client) (s3.Options, error) {
	spec.Region = cmp.Or(spec.Region, "us-east-1") // which most other stores expect
	if err := c.checkS3Address(spec); err != nil {
		return s3.Options{}, err
	}
	keys, err := c.s3Credentials(spec, client)
	if err != nil {
		return s3.Options{}, err
	}
	options := s3.Options{
		Region:           spec.Region,
		UsePathStyle:     spec.PathStyle,
		Credentials:      keys,
		HTTPClient:       client,
		RetryMaxAttempts: 3,
		// By default the library sends checksums after the content, and expects some, which many stores do not know.
		// write gives one that all take, and what is read has a hash of ours.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	}
	if spec.Endpoint != "" {
		if err := checkEndpoint(spec.Endpoint); err != nil {
			return s3.Options{}, err
		}
		options.BaseEndpoint = aws.String(spec.Endpoint)
	}
	return options, nil
}

// checkS3Address is about where requests go: to Amazon's address in the region, or to an endpoint that a user wrote.
func (c Config) checkS3Address(spec v1beta1.S3Store) error {
	byIdentity := c.Keys[v1beta1.KeyAccessKeyID] == "" && c.Keys[v1beta1.KeySecretAccessKey] == ""
	if spec.Endpoint == "" || byIdentity { // STS is asked in the region, too
		if err := checkRegion(spec.Region); err != nil {
			return err
		}
	}
	if spec.Endpoint != "" && byIdentity {
		return c.Allowed.mayGetTokens(amazonS3, spec.Endpoint)
	}
	return nil
}

// s3Dialect asks S3 itself where gocloud.dev has no words, such as versions and locks, or takes more memory.
type s3Dialect struct {
	api         *s3.Client
	spec        v1beta1.S3Store
	lockedUntil time.Time
}

// write sends the content from where it is; the library of gocloud.dev copies it several times. A checksum is what a request
// with a lock must have.
func (d s3Dialect) write(ctx context.Context, _ *blob.Bucket, key string, content []byte) error {
	sum := sha256.Sum256(content)
	in := &s3.PutObjectInput{
		Bucket:         &d.spec.Bucket,
		Key:            &key,
		Body:           bytes.NewReader(content),
		ContentType:    aws.String(contentType),
		IfNoneMatch:    aws.String("*"),
		ChecksumSHA256: aws.String(base64.StdEncoding.EncodeToString(sum[:])),
	}
	if encryption := d.spec.Encryption; encryption != nil {
		in.ServerSideEncryption = encryptions[encryption.Mode]
		if encryption.Key != "" {
			in.SSEKMSKeyId = aws.String(encryption.Key)
		}
	}
	if lock := d.spec.Lock; lock != nil && !d.lockedUntil.IsZero() {
		in.ObjectLockMode = lockModes[lock.Mode]
		in.ObjectLockRetainUntilDate = aws.Time(d.lockedUntil)
	}
	_, err := d.api.PutObject(ctx, in)
	return err
}

// remove names the version. Without it a bucket that keeps versions says yes, hides the object, and keeps its bytes, locked or not.
// It learns the version by reading the first byte: a HEAD is refused without a word, and a missing bucket or user would be taken
// for an object that is gone.
func (d s3Dialect) remove(ctx context.Context, key string) error {
	object, err := d.api.GetObject(ctx, &s3.GetObjectInput{Bucket: &d.spec.Bucket, Key: &key, Range: aws.String("bytes=0-0")})
	if err != nil {
		return err
	}
	if err := object.Body.Close(); err != nil {
		return err
	}
	_, err = d.api.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &d.spec.Bucket, Key: &key, VersionId: object.VersionId})
	return err
}

// lock compares with the store's own clock, by which the lock ends.
func (d s3Dialect) lock(ctx context.Context, key string) (bool, time.Time) {
	head, err := d.api.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &d.spec.Bucket, Key: &key})
	if err != nil {
		return false, time.Time{}
	}
	if head.ObjectLockLegalHoldStatus == types.ObjectLockLegalHoldStatusOn {
		return true, time.Time{}
	}
	until := aws.ToTime(head.ObjectLockRetainUntilDate)
	now, ok := awsmiddleware.GetServerTime(head.ResultMetadata)
	return ok && until.After(now), until
}

// replyOfS3 reads what S3, or the service that gives keys for it, said. A proxy before it has no code, or none of S3's.
func replyOfS3(err error) (reply, bool) {
	var r reply
	var answer interface{ HTTPStatusCode() int }
	if errors.As(err, &answer) {
		r.Status, r.Message = answer.HTTPStatusCode(), http.StatusText(answer.HTTPStatusCode())
	}
	var api smithy.APIError
	if !errors.As(err, &api) {
		return r, r.Status >= http.StatusMultipleChoices
	}
	r.Code = api.ErrorCode()
	if words := api.ErrorMessage(); words != "" {
		r.Message = words
	}
	return r, true
}
