// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
)

// reply is what a store answered when it did not do what it was asked.
type reply struct {
	Status  int    // of HTTP
	Code    string // the provider's own; empty if it has none, as for a HEAD of S3
	Message string // the provider's own
}

// classify says what an error of a library, the network or a file system means. It decides by types, codes and status; by words
// only where a provider has one code for two things.
func classify(do, name string, err error) error {
	if err == nil {
		return nil
	}
	if known := (*Error)(nil); errors.As(err, &known) {
		return err
	}
	e := &Error{Do: do, Name: name, cause: err}
	if r, ok := replyOf(err); ok {
		e.Kind, e.Code, e.Message = kindOfReply(r), r.Code, r.Message
	} else {
		e.Kind, e.Message = kindOfFailure(err)
	}
	if e.Kind == NotFound && (do == "write" || do == "list") {
		e.Kind = NoBucket // nothing else can be missing then
	}
	return e
}

func replyOf(err error) (reply, bool) {
	for _, read := range []func(error) (reply, bool){replyOfS3, replyOfGCS, replyOfAzure} {
		if r, ok := read(err); ok {
			return r, true
		}
	}
	return reply{}, false
}

// codes are those of S3 (Amazon, MinIO, Ceph, versitygw), Google (the reason) and Azure. Where a code is not here the status decides.
var codes = map[string]Kind{
	"NoSuchBucket":      NoBucket,
	"ContainerNotFound": NoBucket, "ContainerBeingDeleted": NoBucket, "ContainerDisabled": NoBucket,

	"NoSuchKey": NotFound, "NoSuchVersion": NotFound, "NotFound": NotFound,
	"notFound":     NotFound,
	"BlobNotFound": NotFound, "ResourceNotFound": NotFound,

	"PreconditionFailed": Exists,
	"conditionNotMet":    Exists,
	"BlobAlreadyExists":  Exists, "ConditionNotMet": Exists, "TargetConditionNotMet": Exists,

	"AccessDenied": Forbidden, "AccessDeniedException": Forbidden, "AllAccessDisabled": Forbidden, "AccountProblem": Forbidden,
	"InvalidAccessKeyId": Forbidden, "XAdminUserNotFound": Forbidden, "SignatureDoesNotMatch": Forbidden,
	"ExpiredToken": Forbidden, "ExpiredTokenException": Forbidden, "InvalidToken": Forbidden, "TokenRefreshRequired": Forbidden,
	"InvalidIdentityToken": Forbidden, "InvalidClientTokenId": Forbidden,
	"KMS.AccessDeniedException": Forbidden, "KMS.DisabledException": Forbidden, "KMS.NotFoundException": Forbidden,
	"authError": Forbidden, "required": Forbidden, "forbidden": Forbidden, "insufficientPermissions": Forbidden,
	"accountDisabled": Forbidden, "invalid_grant": Forbidden, "invalid_client": Forbidden, "unauthorized_client": Forbidden,
	"AuthenticationFailed": Forbidden, "InvalidAuthenticationInfo": Forbidden, "NoAuthenticationInformation": Forbidden,
	"AuthorizationFailure": Forbidden, "AuthorizationPermissionMismatch": Forbidden, "AuthorizationSourceIPMismatch": Forbidden,
	"InsufficientAccountPermissions": Forbidden, "KeyBasedAuthenticationNotPermitted": Forbidden,

	"ObjectLocked":          Locked,
	"retentionPolicyNotMet": Locked, "objectUnderActiveHold": Locked,
	"BlobImmutableDueToPolicy": Locked, "BlobImmutableDueToLegalHold": Locked,

	"QuotaExceeded": Full, "QuotaExceededException": Full, "InsufficientStorage": Full, "StorageFull": Full,
	"XMinioStorageFull": Full, "XMinioAdminBucketQuotaExceeded": Full,
	"quotaExceeded": Full,

	"RequestTimeTooSkewed": Skewed, "RequestExpired": Skewed, "RequestNotValidYet": Skewed,

	"PermanentRedirect": WrongRegion, "TemporaryRedirect": WrongRegion, "MovedPermanently": WrongRegion,
	"AuthorizationHeaderMalformed": WrongRegion, "IllegalLocationConstraintException": WrongRegion, "InvalidRegion": WrongRegion,

	"SlowDown": Busy, "ServiceUnavailable": Busy, "RequestLimitExceeded": Busy, "Throttling": Busy, "ThrottlingException": Busy,
	"ConditionalRequestConflict": Busy, "OperationAborted": Busy, "InternalError": Busy, "RequestTimeout": Busy,
	"rateLimitExceeded": Busy, "userRateLimitExceeded": Busy, "backendError": Busy, "internalError": Busy,
	"ServerBusy": Busy, "OperationTimedOut": Busy,

	"NotImplemented": Unsupported, "UnsupportedHeader": Unsupported, "MethodNotAllowed": Unsupported,
}

// statuses of HTTP, for answers without a code, or with one that is not known.
var statuses = map[int]Kind{
	http.StatusMovedPermanently: WrongRegion, http.StatusTemporaryRedirect: WrongRegion, http.StatusPermanentRedirect: WrongRegion,
	http.StatusUnauthorized: Forbidden, http.StatusForbidden: Forbidden,
	http.StatusNotFound:           NotFound,
	http.StatusPreconditionFailed: Exists,
	http.StatusRequestTimeout:     Busy, http.StatusTooManyRequests: Busy, http.StatusInternalServerError: Busy,
	http.StatusBadGateway: Busy, http.StatusServiceUnavailable: Busy, http.StatusGatewayTimeout: Busy,
	http.StatusInsufficientStorage: Full,
	http.StatusMethodNotAllowed:    Unsupported, http.StatusNotImplemented: Unsupported,
}

// words distinguish what has one code. Azure says AuthenticationFailed also for a date that is too far away, Google
// invalid_grant, Google notFound also for a bucket, and S3 AccessDenied for a lock.
var words = []struct {
	code, contains string
	kind           Kind
}{
	{"AuthenticationFailed", "date header too old", Skewed},
	{"AuthenticationFailed", "date header is too", Skewed},
	{"invalid_grant", "reasonable timeframe", Skewed},
	{"notFound", "bucket does not exist", NoBucket},
	{"AccessDenied", "object protected by object lock", Locked},
	{"AccessDenied", "worm protected", Locked},
}

func kindOfReply(r reply) Kind {
	for _, w := range words {
		if r.Code == w.code && strings.Contains(strings.ToLower(r.Message), w.contains) {
			return w.kind
		}
	}
	if kind, ok := codes[r.Code]; ok {
		return kind
	}
	kind, ok := statuses[r.Status]
	if !ok || kind == NotFound && r.Code != "" {
		return Unknown // what deletes takes NotFound for success: it must be the object that was not found
	}
	return kind
}

// errnos are what a file system says. Those of the network come to the same.
var errnos = map[syscall.Errno]Kind{
	syscall.ENOENT: NotFound, syscall.ENOTDIR: NotFound, syscall.EISDIR: NotFound,
	syscall.EEXIST: Exists,
	syscall.EACCES: Forbidden, syscall.EPERM: Forbidden, syscall.EROFS: Forbidden,
	syscall.ENOSPC: Full, syscall.EDQUOT: Full,
	syscall.EIO: Unreachable, syscall.ESTALE: Unreachable, syscall.ENOTCONN: Unreachable, syscall.EHOSTDOWN: Unreachable,
	syscall.ENAMETOOLONG: Invalid,
}

// kindOfFailure is for errors that are no answer of a server. Its words are never those of an error that has the whole URL in it,
// which may contain a SAS token.
func kindOfFailure(err error) (Kind, string) {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		verify    *tls.CertificateVerificationError
		errno     syscall.Errno
		operation *net.OpError
		dns       *net.DNSError
		request   *url.Error
	)
	switch {
	case errors.As(err, &verify):
		return Untrusted, verify.Error()
	case errors.As(err, &authority):
		return Untrusted, authority.Error()
	case errors.As(err, &host):
		return Untrusted, host.Error()
	case errors.As(err, &invalid):
		return Untrusted, invalid.Error()
	case errors.As(err, &dns):
		return Unreachable, dns.Error()
	case errors.As(err, &operation):
		return Unreachable, operation.Error()
	case errors.As(err, &errno) && errnos[errno] != "":
		return errnos[errno], errno.Error()
	case errors.As(err, &request):
		return Unreachable, request.Err.Error()
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, http.ErrHandlerTimeout):
		return Unreachable, "the connection ended early"
	case errors.Is(err, context.DeadlineExceeded):
		return Unreachable, err.Error()
	}
	return Unknown, err.Error()
}
