// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// waitForWatch is how long a read waits until the cache shows what the operator has written.
// A watch reports it within milliseconds.
const waitForWatch = 3 * time.Second

// A boundedClient waits no longer than that. It may be in vain: a watch that breaks off does
// not report every deletion, and none reports an object from which an admission policy has
// removed our label. Reads wait for the newest write of a kind, so that such a one would hold up
// every cluster. Safety never depends on the wait (docs/adr/0004).
type boundedClient struct{ client.Client }

// NewBoundedClient makes a client whose reads wait for a while, and no longer, until the cache shows what the operator has written.
func NewBoundedClient(config *rest.Config, options client.Options) (client.Client, error) {
	inner, err := client.New(config, options)
	if err != nil {
		return nil, err //nolint:wrapcheck // it is the library's own constructor
	}
	return boundedClient{inner}, nil
}

// Get reads one object. A read that waits for no watch takes the time that the API server takes: to give it up and ask again would only
// cost a slow one twice as much.
func (c boundedClient) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	if (&client.GetOptions{}).ApplyOptions(opts).DisableReadYourWritesConsistency {
		return c.Client.Get(ctx, key, object, opts...) //nolint:wrapcheck // it is the client's own
	}
	return bounded(ctx, func(ctx context.Context) error {
		return c.Client.Get(ctx, key, object, opts...)
	}, func() error {
		return c.Client.Get(ctx, key, object, append(opts, client.DisableReadYourWritesConsistency)...)
	})
}

// List reads all objects of a kind that the options name.
func (c boundedClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return bounded(ctx, func(ctx context.Context) error {
		return c.Client.List(ctx, list, opts...)
	}, func() error {
		return c.Client.List(ctx, list, append(opts, client.DisableReadYourWritesConsistency)...)
	})
}

func bounded(ctx context.Context, wait func(context.Context) error, now func() error) error {
	limited, cancel := context.WithTimeout(ctx, waitForWatch)
	defer cancel()
	err := wait(limited)
	if err == nil || limited.Err() == nil || ctx.Err() != nil {
		return err
	}
	return now()
}
