// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

const (
	// manyUsers is how many one cluster has.
	manyUsers = 1000
	// usersAtOnce is how many are sent to the API server at a time.
	usersAtOnce = 16
	// look is the pause between two looks at all of them: each takes a while.
	look = 100 * time.Millisecond
)

// users times a thousand EtcdUsers of a new cluster until each can connect, and then one more at a time.
func users(ctx context.Context, b *bench) ([]row, error) {
	for _, object := range []client.Object{&v1beta1.EtcdUser{}, &v1beta1.EtcdRole{}} {
		if _, err := b.seen.GetInformer(ctx, object); err != nil {
			return nil, fmt.Errorf("watch %T: %w", object, err)
		}
	}
	var all, oneMore, removal sample
	for i := range min(b.n, 3) {
		name := fmt.Sprintf("users-%d", i)
		if _, err := b.apply(ctx, b.threeMembers(name)); err != nil {
			return nil, err
		}
		if err := b.rested(ctx, name, 3); err != nil {
			return nil, err
		}
		took, err := b.manyUsers(ctx, name)
		if err != nil {
			return nil, err
		}
		all.seconds(took)
		if err := b.oneMoreUser(ctx, name, &oneMore); err != nil {
			return nil, err
		}
		gone, err := timed(func() error { return b.usersGo(ctx, name) })
		if err != nil {
			return nil, err
		}
		removal.seconds(gone)
		b.progress("%d: %d users after %s, one more after %v s, all gone after %s", i+1, manyUsers, took, oneMore.median(), gone)
		if err := b.remove(ctx, name); err != nil {
			return nil, err
		}
	}
	return []row{
		alone("users-1000", "s", all.median(), atMost(20), all),
		alone("users-one-more", "s", oneMore.median(), atMost(1), oneMore),
		alone("users-1000-deleted", "s", removal.median(), nil, removal),
	}, nil
}

// manyUsers sends a role and the users that have it, and waits until all are in place.
func (b *bench) manyUsers(ctx context.Context, cluster string) (time.Duration, error) {
	all := make([]*v1beta1.EtcdUser, manyUsers)
	for i := range all {
		all[i] = b.user(cluster, fmt.Sprintf("%s-%d", cluster, i), "")
	}
	return timed(func() error {
		if err := b.client.Create(ctx, b.role(cluster)); err != nil {
			return fmt.Errorf("create EtcdRole: %w", err)
		}
		err := atOnce(slices.Collect(slices.Chunk(all, (manyUsers+usersAtOnce-1)/usersAtOnce)), func(some []*v1beta1.EtcdUser) error {
			for _, u := range some {
				if err := b.client.Create(ctx, u); err != nil {
					return fmt.Errorf("create EtcdUser: %w", err)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		return poll(ctx, fmt.Sprintf("%d users of %s", manyUsers, cluster), look, patience, func() (bool, error) {
			var found v1beta1.EtcdUserList
			err := b.seen.List(ctx, &found, client.InNamespace(b.namespace), client.UnsafeDisableDeepCopy)
			return inPlace(found.Items, cluster) == manyUsers, err
		})
	})
}

// oneMoreUser times one user after the other beside all the others.
func (b *bench) oneMoreUser(ctx context.Context, cluster string, took *sample) error {
	for i := range b.n {
		if err := resting(ctx); err != nil {
			return err
		}
		u := b.user(cluster, fmt.Sprintf("%s-more-%d", cluster, i), "")
		one, err := timed(func() error { return b.userConnects(ctx, u) })
		if err != nil {
			return err
		}
		took.seconds(one)
	}
	return nil
}

// userConnects creates a user, and waits until it can connect.
func (b *bench) userConnects(ctx context.Context, u *v1beta1.EtcdUser) error {
	if err := b.client.Create(ctx, u); err != nil {
		return fmt.Errorf("create EtcdUser: %w", err)
	}
	return poll(ctx, u.Name+" to be in place", blink, patience, func() (bool, error) {
		var found v1beta1.EtcdUser
		err := b.seen.Get(ctx, client.ObjectKeyFromObject(u), &found)
		return isInPlace(&found), client.IgnoreNotFound(err)
	})
}

// user may do what the role of the cluster allows. The name in etcd is that of the object unless another one is given.
func (b *bench) user(cluster, name, inEtcd string) *v1beta1.EtcdUser {
	return &v1beta1.EtcdUser{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.namespace},
		Spec:       v1beta1.EtcdUserSpec{Cluster: cluster, UserName: inEtcd, Roles: []string{cluster}},
	}
}

// role may read and write every key.
func (b *bench) role(cluster string) *v1beta1.EtcdRole {
	return &v1beta1.EtcdRole{
		ObjectMeta: metav1.ObjectMeta{Name: cluster, Namespace: b.namespace},
		Spec: v1beta1.EtcdRoleSpec{Cluster: cluster, Permissions: []v1beta1.EtcdPermission{
			{Access: v1beta1.ReadWriteAccess, Prefix: ptr.To("")},
		}},
	}
}

// inPlace is how many users of a cluster can connect.
func inPlace(all []v1beta1.EtcdUser, cluster string) int {
	count := 0
	for i := range all {
		if all[i].Spec.Cluster == cluster && isInPlace(&all[i]) {
			count++
		}
	}
	return count
}

// isInPlace says whether a user is as its object wants it now.
func isInPlace(u *v1beta1.EtcdUser) bool {
	ready := meta.FindStatusCondition(u.Status.Conditions, v1beta1.ConditionReady)
	return ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == u.Generation && u.Status.Binding != nil
}

// usersGo deletes all users and roles of a cluster, which must be alone with them, and waits until they are gone.
func (b *bench) usersGo(ctx context.Context, cluster string) error {
	for _, kind := range []client.Object{&v1beta1.EtcdUser{}, &v1beta1.EtcdRole{}} {
		if err := b.client.DeleteAllOf(ctx, kind, client.InNamespace(b.namespace)); err != nil {
			return fmt.Errorf("delete all %T: %w", kind, err)
		}
	}
	return poll(ctx, "users of "+cluster+" to be gone", look, patience, func() (bool, error) {
		left := 0
		for _, list := range []client.ObjectList{&v1beta1.EtcdUserList{}, &v1beta1.EtcdRoleList{}} {
			if err := b.seen.List(ctx, list, client.InNamespace(b.namespace), client.UnsafeDisableDeepCopy); err != nil {
				return false, fmt.Errorf("list: %w", err)
			}
			left += meta.LenList(list)
		}
		return left == 0, nil
	})
}

// switchAuth makes a user of the application that writes meanwhile, turns authentication on, and off again.
func (b *bench) switchAuth(ctx context.Context, cluster string) error {
	if err := b.client.Create(ctx, b.role(cluster)); err != nil {
		return fmt.Errorf("create EtcdRole: %w", err)
	}
	if err := b.userConnects(ctx, b.user(cluster, cluster, applicationUser)); err != nil {
		return err
	}
	for _, enabled := range []bool{true, false} {
		if err := b.edit(ctx, cluster, func(spec *v1beta1.EtcdClusterSpec) { spec.Auth.Enabled = enabled }); err != nil {
			return err
		}
		status := metav1.ConditionFalse
		if enabled {
			status = metav1.ConditionTrue
		}
		if err := b.condition(ctx, cluster, v1beta1.ConditionAuthEnabled, status); err != nil {
			return err
		}
		if err := resting(ctx); err != nil {
			return err
		}
	}
	return b.usersGo(ctx, cluster)
}

// applicationUser is the common name of the certificate in the Secret for clients.
const applicationUser = "client"
