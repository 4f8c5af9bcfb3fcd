package objectstore

import (
	"bytes"
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
)

// S3 is a bucket of Amazon S3, or of a store that speaks its language.
type S3 struct {
	Bucket    string
	Prefix    string // a folder; empty for the whole bucket
	Endpoint  string // such as https://minio.example:9000; empty for Amazon's in Region
	Region    string // empty is us-east-1, which most other stores expect
	PathStyle bool   // the bucket in the path instead of the name of the host
	CA        []byte // PEM; authorities that are trusted besides the system's
	Proxy     Proxy

	// AccessKeyID and SecretAccessKey are both set, or Identity is.
	AccessKeyID     string
	SecretAccessKey string
	SessionToken    string // of temporary keys
	Identity        AWSIdentity
	Allowed         Endpoints // that Identity may be used with, besides Amazon's

	Encryption Encryption
	Lock       Lock
}

// Encryption is how an S3 store encrypts objects. Nothing set leaves it to the bucket.
type Encryption struct {
	AES256 bool   // by a key of the store's
	KMS    bool   // by a key of its key management, which excludes AES256
	KMSKey string // its ID or ARN; empty for the bucket's
}

// Lock keeps every object that is written from being deleted. The bucket must have been created with object lock.
type Lock struct {
	Mode  LockMode  // none if empty
	Until time.Time // the same for all objects of a backup
}

// LockMode is how strict a lock is.
type LockMode string

// The modes of S3.
const (
	Governance LockMode = "GOVERNANCE" // users with a special right can remove it
	Compliance LockMode = "COMPLIANCE" // no user can
)

func (c S3) open(ctx context.Context) (Store, error) {
	prefix, err := folderOf(c.Prefix)
	if err != nil {
		return nil, err
	}
	client, err := httpClient(c.CA, c.Proxy)
	if err != nil {
		return nil, err
	}
	options, err := c.options(client)
	if err != nil {
		return nil, err
	}
	api := s3.New(options)
	bucket, err := s3blob.OpenBucket(ctx, api, c.Bucket, nil)
	if err != nil {
		return nil, err
	}
	return &remote{dialect: s3Dialect{api, c.Bucket, c.Encryption, c.Lock}, bucket: bucket, prefix: prefix, client: client}, nil
}

func (c S3) options(client *http.Client) (s3.Options, error) {
	if c.Encryption.AES256 && c.Encryption.KMS {
		return s3.Options{}, &Error{Kind: Invalid, Do: "use encryption", Name: c.Bucket, Message: "AES256 and KMS exclude each other"}
	}
	region := c.Region
	if region == "" {
		region = "us-east-1"
	}
	if err := c.checkAddress(region); err != nil {
		return s3.Options{}, err
	}
	keys, err := c.credentials(region, client)
	if err != nil {
		return s3.Options{}, err
	}
	options := s3.Options{
		Region:           region,
		UsePathStyle:     c.PathStyle,
		Credentials:      keys,
		HTTPClient:       client,
		RetryMaxAttempts: 3,
		// By default the library sends checksums after the content, and expects some, which many stores do not know.
		// write gives one that all take, and what is read has a hash of ours.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	}
	if c.Endpoint != "" {
		if err := checkEndpoint(c.Endpoint); err != nil {
			return s3.Options{}, err
		}
		options.BaseEndpoint = aws.String(c.Endpoint)
	}
	return options, nil
}

// checkAddress is about where requests go: to Amazon's address in the region, or to an endpoint that a user wrote.
func (c S3) checkAddress(region string) error {
	byIdentity := c.AccessKeyID == "" && c.SecretAccessKey == ""
	if c.Endpoint == "" || byIdentity { // STS is asked in the region, too
		if err := checkRegion(region); err != nil {
			return err
		}
	}
	if c.Endpoint != "" && byIdentity {
		return c.Allowed.mayGetTokens(amazonS3, c.Endpoint)
	}
	return nil
}

func (e Encryption) kind() types.ServerSideEncryption {
	switch {
	case e.AES256:
		return types.ServerSideEncryptionAes256
	case e.KMS:
		return types.ServerSideEncryptionAwsKms
	}
	return ""
}

// s3Dialect asks S3 itself where gocloud.dev has no words, such as versions and locks, or takes more memory.
type s3Dialect struct {
	api        *s3.Client
	bucket     string
	encryption Encryption
	keep       Lock
}

// write sends the content from where it is; the library of gocloud.dev copies it several times. A checksum is what a request
// with a lock must have.
func (d s3Dialect) write(ctx context.Context, _ *blob.Bucket, key string, content []byte) error {
	sum := sha256.Sum256(content)
	in := &s3.PutObjectInput{
		Bucket:               &d.bucket,
		Key:                  &key,
		Body:                 bytes.NewReader(content),
		ContentType:          aws.String(contentType),
		IfNoneMatch:          aws.String("*"),
		ChecksumSHA256:       aws.String(base64.StdEncoding.EncodeToString(sum[:])),
		ServerSideEncryption: d.encryption.kind(),
	}
	if d.encryption.KMSKey != "" {
		in.SSEKMSKeyId = aws.String(d.encryption.KMSKey)
	}
	if d.keep.Mode != "" {
		in.ObjectLockMode = types.ObjectLockMode(d.keep.Mode)
		in.ObjectLockRetainUntilDate = aws.Time(d.keep.Until)
	}
	_, err := d.api.PutObject(ctx, in)
	return err
}

// remove names the version. Without it a bucket that keeps versions says yes, hides the object, and keeps its bytes, locked or not.
// It learns the version by reading the first byte: a HEAD is refused without a word, and a missing bucket or user would be taken
// for an object that is gone.
func (d s3Dialect) remove(ctx context.Context, key string) error {
	object, err := d.api.GetObject(ctx, &s3.GetObjectInput{Bucket: &d.bucket, Key: &key, Range: aws.String("bytes=0-0")})
	if err != nil {
		return err
	}
	if err := object.Body.Close(); err != nil {
		return err
	}
	_, err = d.api.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &d.bucket, Key: &key, VersionId: object.VersionId})
	return err
}

// lock compares with the store's own clock, by which the lock ends.
func (d s3Dialect) lock(ctx context.Context, key string) (bool, time.Time) {
	head, err := d.api.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &d.bucket, Key: &key})
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
