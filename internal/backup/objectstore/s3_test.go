// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstore_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/objectstore"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

const (
	s3Key    = "test"
	s3Secret = "testsecret"
)

// newS3 runs versitygw, which keeps versions if asked to.
func newS3(t *testing.T, flags ...string) world {
	t.Helper()
	program, data, address := server(t, "versitygw"), t.TempDir(), process.FreeAddress(t)
	must(t, os.Mkdir(filepath.Join(data, "backups"), 0o700))
	_, port, err := net.SplitHostPort(address)
	must(t, err)
	arguments := append([]string{"--port", "127.0.0.1:" + port, "--region", "us-east-1", "--quiet"}, flags...)
	command := exec.Command(program, append(arguments, "posix", "--versioning-dir", t.TempDir(), data)...)
	command.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+s3Key, "ROOT_SECRET_KEY="+s3Secret)
	start(t, address, command)
	return world{address: address, refusals: s3Refusals, config: func(address string, ca []byte, prefix string) objectstore.Config {
		c := s3Config(address, prefix)
		c.CA = ca
		return c
	}}
}

func s3Config(address, prefix string) objectstore.Config {
	return objectstore.Config{
		Spec: v1beta1.EtcdBackupStoreSpec{S3: &v1beta1.S3Store{Bucket: "backups", Prefix: prefix, Endpoint: address, PathStyle: true}},
		Keys: map[string]string{v1beta1.KeyAccessKeyID: s3Key, v1beta1.KeySecretAccessKey: s3Secret},
	}
}

var s3Refusals = []refusal{
	{"right", 403, s3Error("AccessDenied", "not authorized"), objectstore.Forbidden, "AccessDenied"},
	{"expired", 400, s3Error("ExpiredToken", "The provided token has expired."), objectstore.Forbidden, "ExpiredToken"},
	{"skew", 403, s3Error("RequestTimeTooSkewed", "The difference is too large."), objectstore.Skewed, "RequestTimeTooSkewed"},
	{
		"region", 301, s3Error("PermanentRedirect", "must be addressed using the specified endpoint"), objectstore.WrongRegion,
		"PermanentRedirect",
	},
	{"full", 507, s3Error("XMinioStorageFull", "minimum free drive threshold"), objectstore.Full, "XMinioStorageFull"},
	{"quota", 403, s3Error("QuotaExceeded", "quota"), objectstore.Full, "QuotaExceeded"},
	{"busy", 503, s3Error("SlowDown", "Please reduce your request rate."), objectstore.Busy, "SlowDown"},
	{"condition", 501, s3Error("NotImplemented", "If-None-Match"), objectstore.Unsupported, "NotImplemented"},
	{"proxy", 502, "<html>bad gateway</html>", objectstore.Busy, "BadGateway"},
}

func s3Error(code, message string) string {
	return "<Error><Code>" + code + "</Code><Message>" + message + "</Message></Error>"
}

func TestS3(t *testing.T) {
	conforms(t, newS3(t).open)
}

func TestS3Faults(t *testing.T) {
	survives(t, newS3(t))
}

// What the server itself refuses.
func TestS3Refusals(t *testing.T) {
	address := newS3(t).address
	for name, c := range map[string]struct {
		change func(*objectstore.Config)
		want   objectstore.Kind
	}{
		"key":    {func(c *objectstore.Config) { c.Keys[v1beta1.KeyAccessKeyID] = "nobody" }, objectstore.Forbidden},
		"secret": {func(c *objectstore.Config) { c.Keys[v1beta1.KeySecretAccessKey] = "wrong" }, objectstore.Forbidden},
		"region": {func(c *objectstore.Config) { c.Spec.S3.Region = "eu-central-1" }, objectstore.WrongRegion},
		"bucket": {func(c *objectstore.Config) { c.Spec.S3.Bucket = "nothing" }, objectstore.NoBucket},
	} {
		t.Run(name, func(t *testing.T) {
			config := s3Config("http://"+address, "")
			c.change(&config)
			refuses(t, open(t, config), c.want)
		})
	}
}

// The agent of EKS Pod Identity gives keys to every client that has the token of the ServiceAccount.
func TestS3Identity(t *testing.T) {
	w := newS3(t)
	token := filepath.Join(t.TempDir(), "token")
	must(t, os.WriteFile(token, []byte("token of the ServiceAccount\n"), 0o600))
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "token of the ServiceAccount" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = fmt.Fprintf(w, `{"AccessKeyId": %q, "SecretAccessKey": %q, "Expiration": %q}`, // the client may have gone
			s3Key, s3Secret, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	}))
	t.Cleanup(agent.Close)
	config := s3Config("http://"+w.address, "")
	config.Keys, config.Allowed = nil, objectstore.Endpoints{config.Spec.S3.Endpoint}
	_, err := objectstore.Open(t.Context(), config)
	wantKind(t, err, objectstore.Invalid)
	config.AWS = objectstore.AWSIdentity{AgentURL: agent.URL, AgentTokenFile: token}
	check(t, open(t, config))

	must(t, os.WriteFile(token, []byte("wrong"), 0o600))
	refuses(t, open(t, config), objectstore.Forbidden)
}

func TestS3ReadOnly(t *testing.T) {
	s := newS3(t, "--readonly").open(t, "")
	wantKind(t, s.Put(t.Context(), "a", []byte("content")), objectstore.Forbidden)
}

// A bucket that keeps versions says yes to a deletion without one, and keeps the bytes.
func TestS3DeletesBytes(t *testing.T) {
	w := newS3(t)
	api := s3API(w)
	bucket(t, api, "versions", false)
	_, err := api.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
		Bucket: aws.String("versions"), VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	})
	must(t, err)
	config := s3Config("http://"+w.address, "")
	config.Spec.S3.Bucket = "versions"
	s := open(t, config)
	put(t, s, "a", "content")
	must(t, s.Delete(t.Context(), "a"))
	left, err := api.ListObjectVersions(t.Context(), &s3.ListObjectVersionsInput{Bucket: aws.String("versions")})
	must(t, err)
	if len(left.Versions)+len(left.DeleteMarkers) > 0 {
		t.Errorf("%d versions and %d markers are left", len(left.Versions), len(left.DeleteMarkers))
	}
}

func TestS3LockedUntil(t *testing.T) {
	w := newS3(t)
	bucket(t, s3API(w), "locked", true)
	until := time.Now().Add(time.Hour).Truncate(time.Second).UTC()
	for _, mode := range []v1beta1.S3LockMode{v1beta1.LockCompliance, v1beta1.LockGovernance} {
		config := s3Config("http://"+w.address, string(mode))
		config.Spec.S3.Bucket, config.Spec.S3.Lock, config.LockedUntil = "locked", &v1beta1.S3Lock{Mode: mode}, until
		s := open(t, config)
		put(t, s, "a", "content")
		err := s.Delete(t.Context(), "a")
		wantKind(t, err, objectstore.Locked)
		if e := (*objectstore.Error)(nil); !errors.As(err, &e) || !e.Until.Equal(until) {
			t.Errorf("%v, want until %s", err, until)
		}
		wantContent(t, s, "a", "content")
	}
}

func s3API(w world) *s3.Client {
	return s3.New(s3.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://" + w.address), UsePathStyle: true, HTTPClient: http.DefaultClient,
		Credentials: credentials.NewStaticCredentialsProvider(s3Key, s3Secret, ""),
	})
}

func bucket(t *testing.T, api *s3.Client, name string, lock bool) {
	t.Helper()
	_, err := api.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name, ObjectLockEnabledForBucket: &lock})
	must(t, err)
}
