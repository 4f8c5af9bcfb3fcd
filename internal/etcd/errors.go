// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// refusals are the answers with which etcd puts a change off.
var refusals = []error{
	rpctypes.ErrMemberLearnerNotReady,
	rpctypes.ErrTooManyLearners,
	rpctypes.ErrUnhealthy,
	rpctypes.ErrMemberNotEnoughStarted,
	rpctypes.ErrClusterVersionUnavailable,
}

// failed wraps err, once, into what callers can test for: our own errors, and
// those of the context, also when etcd or gRPC reported that the time was up.
func failed(verb string, err error) error {
	switch {
	case notReady(err):
		return fmt.Errorf("%s: %w: %s", verb, ErrNotReady, rpctypes.ErrorDesc(err))
	case is(err, rpctypes.Error(rpctypes.ErrGRPCNotSupportedForLearner)):
		return fmt.Errorf("%s: %w", verb, ErrLearner)
	}
	switch status.Code(err) {
	case codes.DeadlineExceeded:
		return ended(verb, context.DeadlineExceeded, err)
	case codes.Canceled:
		return ended(verb, context.Canceled, err)
	}
	return fmt.Errorf("%s: %w", verb, rpctypes.Error(err))
}

// ended keeps what gRPC adds to the context's own error, such as that there was
// no connection yet, without saying the rest twice.
func ended(verb string, cause, err error) error {
	detail, same := strings.CutPrefix(rpctypes.ErrorDesc(err), cause.Error())
	if !same {
		detail = ": " + detail
	}
	return fmt.Errorf("%s: %w%s", verb, cause, detail)
}

// IsAway says whether a call failed because a member that it takes is not there, or not
// what it was a moment ago: it has ended, is ending, does not answer in time, or no
// longer leads.
func IsAway(err error) bool {
	var answer rpctypes.EtcdError
	switch {
	case is(err, rpctypes.ErrNotLeader), is(err, rpctypes.ErrBadLeaderTransferee), errors.Is(err, context.DeadlineExceeded):
		return true
	case errors.As(err, &answer):
		return answer.Code() == codes.Unavailable
	default:
		return status.Code(err) == codes.Unavailable
	}
}

// leaderless are the answers of a member that knows no leader, or whose leader makes no progress.
var leaderless = []error{
	rpctypes.ErrNoLeader, rpctypes.ErrLeaderChanged, rpctypes.ErrTimeoutDueToLeaderFail, rpctypes.ErrTimeoutDueToConnectionLost,
}

// IsSlow says whether a member has taken the connection, and did not answer in time: the network between is open.
func IsSlow(err error) bool {
	return is(err, rpctypes.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) && !isUnconnected(err)
}

// isUnconnected says whether gRPC had no connection when the time was up.
func isUnconnected(err error) bool {
	words := fmt.Sprint(err)
	says := func(some string) bool { return strings.Contains(words, some) }
	return slices.ContainsFunc([]string{"waiting for connections", "LB policy", "balancer error", "i/o timeout"}, says)
}

// Silence is what was seen of a member that did not answer, in a few words that stay the same; empty if none say it.
func Silence(err error) string {
	switch {
	case err == nil:
		return ""
	case slices.ContainsFunc(leaderless, func(answer error) bool { return is(err, answer) }):
		return "it has no leader"
	case strings.Contains(fmt.Sprint(err), "connection refused"):
		return "it refuses connections"
	case isUnconnected(err):
		return "no connection in time"
	case IsSlow(err):
		return "it has taken the connection, and does not answer in time"
	default:
		return ""
	}
}

// WantsUser says whether etcd did not answer because authentication is enabled, and neither a
// certificate nor a token names the user.
func WantsUser(err error) bool { return is(err, rpctypes.ErrUserEmpty) }

// WantsRoot says whether etcd did not answer because authentication is enabled, and the caller is none of its
// users or lacks the role that the call needs, which is root for a snapshot.
func WantsRoot(err error) bool {
	return WantsUser(err) || is(err, rpctypes.ErrPermissionDenied) || is(err, rpctypes.ErrUserNotFound) ||
		slices.ContainsFunc(authRefusals, func(words string) bool { return strings.Contains(fmt.Sprint(err), words) })
}

// IsFull says whether etcd takes no more data: it has raised the alarm NOSPACE.
func IsFull(err error) bool { return is(err, rpctypes.ErrNoSpace) }

// authRefusals are what etcd 3.5 says of a snapshot: an error of its package auth without a code.
var authRefusals = []string{"auth: user name is empty", "auth: permission denied", "auth: user not found"}

func is(err, answer error) bool { return errors.Is(rpctypes.Error(err), answer) }

// refused says whether etcd answered, and declined. After any other error the
// change may still happen, so nothing may be concluded from the member list.
func refused(err error) bool {
	return is(err, rpctypes.ErrPeerURLExist) || is(err, rpctypes.ErrMemberExist) || notReady(err)
}

func notReady(err error) bool {
	return slices.ContainsFunc(refusals, func(refusal error) bool { return is(err, refusal) })
}
