// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// writeStatus writes the status of an object as it is given. It is the only place that writes one. The API server refuses it if the
// object has changed since it was read, or is gone.
func writeStatus(ctx context.Context, to client.Client, object client.Object) error {
	return wrapped("write status of "+object.GetName(), to.Status().Update(ctx, object, client.FieldOwner(v1beta1.FieldOwner)))
}

// reportStatus writes the status of an object that may be gone, and needs none then.
func reportStatus(ctx context.Context, to client.Client, object client.Object) error {
	return client.IgnoreNotFound(writeStatus(ctx, to, object))
}

// gone is errIdle for an object that does not exist, and else the error with what was done.
func gone(what string, err error) error {
	if apierrors.IsNotFound(err) {
		return errIdle
	}
	return wrapped(what, err)
}

// wrapped puts before an error what was done; nil stays nil.
func wrapped(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
