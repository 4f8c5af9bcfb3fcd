// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// A behind cache shows what was written only after a while. It counts how often it is read.
type behind struct {
	by    time.Duration
	fails error
	reads int
}

func (b *behind) read(ctx context.Context, waits bool) error {
	b.reads++
	if !waits {
		return b.fails
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(b.by):
		return b.fails
	}
}

func (b *behind) client() client.Client {
	return boundedClient{fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, _ client.ObjectKey, _ client.Object, opts ...client.GetOption) error {
			return b.read(ctx, !(&client.GetOptions{}).ApplyOptions(opts).DisableReadYourWritesConsistency)
		},
		List: func(ctx context.Context, _ client.WithWatch, _ client.ObjectList, opts ...client.ListOption) error {
			return b.read(ctx, !(&client.ListOptions{}).ApplyOptions(opts).DisableReadYourWritesConsistency)
		},
	}).Build()}
}

var errRead = errors.New("no such kind")

// TestFault9SlowReadsAreNotRepeated: a read past the cache takes the time that the API server takes.
func TestFault9SlowReadsAreNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		slow := boundedClient{fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, _ client.WithWatch, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
				reads++
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(2 * waitForWatch):
					return nil
				}
			},
		}).Build()}
		secret := SecretClient{slow, &Secrets{Now: time.Now}}
		err := secret.Get(t.Context(), client.ObjectKey{Name: "a-client"}, &corev1.Secret{})
		if err != nil || reads != 1 {
			t.Errorf("%d reads, %v", reads, err)
		}
	})
}

// TestReadsDoNotWaitForEver: one that waits for a write that no watch reports is made without
// waiting, but not on behalf of a caller that has no time left.
func TestReadsDoNotWaitForEver(t *testing.T) {
	for what, test := range map[string]struct {
		cache behind
		time  time.Duration // that the reader has
		want  error
		reads int
	}{
		"the cache is up to date":     {behind{}, time.Minute, nil, 1},
		"it soon is":                  {behind{by: waitForWatch - 1}, time.Minute, nil, 1},
		"it never is":                 {behind{by: time.Hour}, time.Minute, nil, 2},
		"the reader has no more time": {behind{by: time.Hour}, time.Second, context.DeadlineExceeded, 1},
		"what fails is not repeated":  {behind{fails: errRead}, time.Minute, errRead, 1},
	} {
		for how, ask := range map[string]func(context.Context, client.Client) error{
			"get": func(ctx context.Context, c client.Client) error {
				return c.Get(ctx, client.ObjectKey{Name: "a-0"}, &corev1.Pod{})
			},
			"list": func(ctx context.Context, c client.Client) error {
				return c.List(ctx, &corev1.PodList{}, client.InNamespace("x"))
			},
		} {
			t.Run(what+", "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					cache := test.cache
					ctx, cancel := context.WithTimeout(t.Context(), test.time)
					defer cancel()
					if err := ask(ctx, cache.client()); !errors.Is(err, test.want) || cache.reads != test.reads {
						t.Errorf("%d reads, %v", cache.reads, err)
					}
				})
			})
		}
	}
}
