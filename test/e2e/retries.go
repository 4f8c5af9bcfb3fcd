// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patience is how long a look is repeated that could not be had. What it shows is
// judged at once.
const patience = 90 * time.Second

// surely looks again while something keeps it from looking. It is for what must hold now;
// inside of Eventually the look itself is what is to be repeated, with its own Gomega.
func surely[T any](look func(g Gomega) T) T {
	GinkgoHelper()
	var found T
	Eventually(func(g Gomega) { found = look(g) }).WithTimeout(patience).Should(Succeed())
	return found
}

// patient asks again where a busy API server gave no answer. That something is not
// there, or is not allowed, is one.
type patient struct{ client.Client }

// Get reads an object.
func (p patient) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return retry.OnError(often, gaveNoAnswer, func() error { return p.Client.Get(ctx, key, object, options...) })
}

// List reads a list.
func (p patient) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return retry.OnError(often, gaveNoAnswer, func() error { return p.Client.List(ctx, list, options...) })
}

var often = wait.Backoff{Duration: patience / 40, Factor: 1, Steps: 40}

func gaveNoAnswer(err error) bool {
	for _, is := range []func(error) bool{
		apierrors.IsServerTimeout, apierrors.IsTimeout, apierrors.IsTooManyRequests, apierrors.IsServiceUnavailable, apierrors.IsInternalError,
		utilnet.IsConnectionRefused, utilnet.IsConnectionReset, utilnet.IsHTTP2ConnectionLost, utilnet.IsProbableEOF, utilnet.IsTimeout,
	} {
		if is(err) {
			return true
		}
	}
	return false
}
