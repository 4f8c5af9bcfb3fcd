// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstore

import (
	"crypto/x509"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/aws/smithy-go"
	"golang.org/x/oauth2"
	"google.golang.org/api/googleapi"
)

func TestClassify(t *testing.T) {
	for _, test := range []struct {
		err  error
		want Kind
		says string
	}{
		{s3Said("NoSuchKey", "gone"), NotFound, "(NoSuchKey): gone"},
		{s3Said("NoSuchBucket", ""), NoBucket, ""},
		{s3Said("PreconditionFailed", ""), Exists, ""},
		{s3Said("SignatureDoesNotMatch", ""), Forbidden, ""},
		{s3Said("AccessDenied", "Access Denied"), Forbidden, ""},
		{s3Said("AccessDenied", "Access Denied because object protected by object lock."), Locked, ""},
		{s3Said("RequestTimeTooSkewed", ""), Skewed, ""},
		{s3Said("AuthorizationHeaderMalformed", "the region 'x' is wrong"), WrongRegion, ""},
		{s3Said("XAdminUserNotFound", ""), Forbidden, ""},
		{azureSaid(404, "SomethingElseNotFound", ""), Unknown, ""},
		{s3Said("SomethingNew", "words"), Unknown, "(SomethingNew): words"},

		{googleSaid(403, "forbidden", "does not have storage.objects.create access"), Forbidden, "(forbidden): does not have"},
		{googleSaid(403, "retentionPolicyNotMet", ""), Locked, ""},
		{googleSaid(404, "notFound", "The specified bucket does not exist."), NoBucket, ""},
		{googleSaid(404, "notFound", "No such object: b/a"), NotFound, ""},
		{googleSaid(412, "conditionNotMet", ""), Exists, ""},
		{googleSaid(429, "rateLimitExceeded", ""), Busy, ""},
		{&googleapi.Error{Code: 401, Body: "<Error>x</Error>"}, Forbidden, "<Error>x</Error>"},
		{storage.ErrObjectNotExist, NotFound, ""},
		{storage.ErrBucketNotExist, NoBucket, ""},
		{tokenSaid("invalid_grant", "Invalid JWT Signature."), Forbidden, "(invalid_grant): Invalid JWT Signature."},
		{tokenSaid("invalid_grant", "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe."), Skewed, ""},

		{azureSaid(403, "AuthenticationFailed", "Signature did not match."), Forbidden, "(AuthenticationFailed): Signature did not match."},
		{azureSaid(403, "AuthenticationFailed", "Request date header too old: 'Mon, 01 Jan 2024'"), Skewed, "too old"},
		{azureSaid(404, "ContainerNotFound", ""), NoBucket, ""},
		{azureSaid(409, "BlobAlreadyExists", ""), Exists, ""},
		{azureSaid(409, "BlobImmutableDueToPolicy", ""), Locked, ""},
		{azureSaid(503, "ServerBusy", ""), Busy, ""},
		{azureSaid(507, "", ""), Full, ""},

		{&os.PathError{Op: "write", Err: syscall.ENOSPC}, Full, "no space left on device"},
		{&os.PathError{Op: "write", Err: syscall.EDQUOT}, Full, ""},
		{&os.PathError{Op: "open", Err: syscall.EROFS}, Forbidden, ""},
		{&os.PathError{Op: "open", Err: syscall.EACCES}, Forbidden, ""},
		{&os.PathError{Op: "open", Err: syscall.ENOENT}, NotFound, ""},
		{&os.PathError{Op: "read", Err: syscall.ESTALE}, Unreachable, ""},

		{requested(x509.UnknownAuthorityError{}), Untrusted, "unknown authority"},
		{requested(x509.HostnameError{Host: "a", Certificate: &x509.Certificate{}}), Untrusted, ""},
		{requested(&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}), Unreachable, "connection refused"},
		{requested(&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "a"}}), Unreachable, "no such host"},
		{requested(errors.New("http: server gave HTTP response to HTTPS client")), Unreachable, "HTTP response"},
		{io.ErrUnexpectedEOF, Unreachable, ""},
		{errors.New("something else"), Unknown, "something else"},
	} {
		t.Run(fmt.Sprint(test.err), func(t *testing.T) {
			got := classify("read", "a", fmt.Errorf("wrapped: %w", test.err))
			if !errors.Is(got, test.want) {
				t.Errorf("%v, want %s", got, test.want)
			}
			if !errors.Is(got, test.err) {
				t.Error("the cause is lost")
			}
			if !strings.Contains(got.Error(), test.says) {
				t.Errorf("%q does not say %q", got, test.says)
			}
			if strings.Contains(got.Error(), "secret") {
				t.Errorf("%q has a token in it", got)
			}
		})
	}
}

// A write or a listing needs no object: what was not found is the bucket.
func TestWhatIsMissingForAWrite(t *testing.T) {
	for do, want := range map[string]Kind{"read": NotFound, "delete": NotFound, "write": NoBucket, "list": NoBucket} {
		if got := classify(do, "a", azureSaid(404, "", "")); !errors.Is(got, want) {
			t.Errorf("%s: %v, want %s", do, got, want)
		}
	}
}

// TestEveryKindHasAdvice: every one that is declared, whether or not a store is known to say it.
func TestEveryKindHasAdvice(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "error.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	kinds := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if !is || fmt.Sprint(spec.Type) != "Kind" {
			return true
		}
		kinds++
		said, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil || Kind(said).Advice() == "" {
			t.Errorf("%s has none (%v)", spec.Names[0], err)
		}
		return false
	})
	if kinds < 17 || len(advice) != kinds {
		t.Errorf("there are %d kinds, and advice for %d", kinds, len(advice))
	}
	for kind, text := range advice {
		if strings.HasSuffix(text, ".") || strings.Contains(text, ". ") {
			t.Errorf("%s: not one sentence without a full stop: %s", kind, text)
		}
	}
}

func s3Said(code, message string) error { return &smithy.GenericAPIError{Code: code, Message: message} }

func googleSaid(status int, reason, message string) error {
	return &googleapi.Error{Code: status, Message: message, Errors: []googleapi.ErrorItem{{Reason: reason}}}
}

func tokenSaid(code, description string) error {
	return &oauth2.RetrieveError{Response: &http.Response{StatusCode: 400}, ErrorCode: code, ErrorDescription: description}
}

func azureSaid(status int, code, detail string) error {
	body := io.NopCloser(strings.NewReader("<Error><Code>x</Code><Message>" + detail + "</Message></Error>"))
	return &azcore.ResponseError{StatusCode: status, ErrorCode: code, RawResponse: &http.Response{
		StatusCode: status, Body: body, Request: &http.Request{Method: http.MethodGet, URL: &url.URL{}},
	}}
}

// requested is an error of net/http, whose text has the whole URL.
func requested(err error) error {
	return &url.Error{Op: "Get", URL: "https://a/b?sig=secret", Err: err}
}
