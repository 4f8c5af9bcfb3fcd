// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusters "github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// letsUsersIn: etcd has a user and its role, authentication is enabled, a certificate is revoked, and both go again.
func letsUsersIn(ctx context.Context, w *world) error {
	c, err := w.newCluster(ctx, 1)
	if err != nil {
		return err
	}
	role := &clusters.EtcdRole{ObjectMeta: metav1.ObjectMeta{Name: w.name}, Spec: clusters.EtcdRoleSpec{
		Cluster: c.Name, Permissions: []clusters.EtcdPermission{{Access: clusters.ReadWriteAccess, Prefix: ptr.To("/app/")}},
	}}
	user := &clusters.EtcdUser{
		ObjectMeta: metav1.ObjectMeta{Name: w.name}, Spec: clusters.EtcdUserSpec{Cluster: c.Name, Roles: []string{role.Name}},
	}
	for _, object := range []client.Object{role, user} {
		if err := w.create(ctx, object); err != nil {
			return err
		}
	}
	err = w.says(ctx, role, clusters.ConditionReady, func() []metav1.Condition { return role.Status.Conditions })
	if err != nil {
		return err
	}
	err = w.says(ctx, user, clusters.ConditionReady, func() []metav1.Condition { return user.Status.Conditions })
	if err != nil {
		return err
	}
	before := client.MergeFrom(c.DeepCopy())
	c.Spec.Auth.Enabled = true
	if err := w.api.Patch(ctx, c, before); err != nil {
		return fmt.Errorf("enable authentication: %w", err)
	}
	err = w.says(ctx, c, clusters.ConditionAuthEnabled, func() []metav1.Condition { return c.Status.Conditions })
	if err != nil {
		return err
	}
	if err := w.revokes(ctx, c, "abc"); err != nil {
		return err
	}
	return w.goes(ctx, user, role)
}

// revokes has a certificate refused by all members. For one that an application mounts it would take two minutes longer: until what is
// issued instead has come into all Pods.
func (w *world) revokes(ctx context.Context, c *clusters.EtcdCluster, serial string) error {
	before := client.MergeFrom(c.DeepCopy())
	c.Spec.TLS.Revocations = []clusters.Revocation{{Serial: serial, Reason: "scorecard"}}
	if err := w.api.Patch(ctx, c, before); err != nil {
		return fmt.Errorf("revoke %s: %w", serial, err)
	}
	return w.until(ctx, "certificate "+serial+" to be revoked", func() (string, error) {
		if err := w.api.Get(ctx, client.ObjectKeyFromObject(c), c); err != nil {
			return "", err //nolint:wrapcheck // until says what for
		}
		switch told := c.Status.Revocations; {
		case told == nil:
			return "the operator has not looked at it", nil
		case told.Phase != clusters.RevocationDone || !slices.Contains(told.Serials, serial):
			return fmt.Sprintf("%v are %s", told.Serials, told.Phase), nil
		default:
			return "", nil
		}
	})
}

// goes deletes objects, and waits until they are gone.
func (w *world) goes(ctx context.Context, objects ...client.Object) error {
	for _, object := range objects {
		if err := w.api.Delete(ctx, object); err != nil {
			return fmt.Errorf("delete %s: %w", object.GetName(), err)
		}
		err := w.until(ctx, fmt.Sprintf("%T %s to be gone", object, object.GetName()), func() (string, error) {
			err := w.api.Get(ctx, client.ObjectKeyFromObject(object), object)
			if apierrors.IsNotFound(err) {
				return "", nil
			}
			return "it is still there", err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
