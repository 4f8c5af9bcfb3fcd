// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apiproxy

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// A Past is a list as it once was, told to an operator that starts, as a stale API
// server or cache would.
type Past struct {
	kind  schema.GroupVersionKind
	items unstructured.UnstructuredList
	lasts time.Duration
	told  bool
}

// Remember keeps a kind's list of our objects as it is now.
func Remember(ctx context.Context, api client.Reader, namespace string, kind schema.GroupVersionKind, lasts time.Duration) (*Past, error) {
	p := &Past{kind: kind, lasts: lasts}
	p.items.SetGroupVersionKind(kind)
	ours := client.MatchingLabels{"app.kubernetes.io/managed-by": v1beta1.FieldOwner}
	if err := api.List(ctx, &p.items, client.InNamespace(namespace), ours); err != nil {
		return nil, fmt.Errorf("remember the %s: %w", kind.Kind, err)
	}
	return p, nil
}

// Again is the same past, to be told once more.
func (p *Past) Again() *Past { return &Past{kind: p.kind, items: p.items, lasts: p.lasts} }

// Tell serves the past to the next watch or list of the resource.
func (p *Proxy) Tell(resource string, what *Past) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.old[resource] = what
}

// WasTold says whether the operator has looked at the past.
func (p *Proxy) WasTold(what *Past) func() bool {
	return func() bool {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		return what.told
	}
}

// first says whether this is the first look at the list. It runs under the lock.
func (p *Past) first(asked Request) bool {
	looks := asked.Method == http.MethodGet && asked.Name == "" && (!asked.Watch || asked.initial)
	if !looks || p.told {
		return false
	}
	p.told = true
	return true
}

// serve answers with the past, keeps a watch silent for a while and ends it. The
// operator then watches on from the old version, and learns all that it missed.
func (p *Past) serve(w http.ResponseWriter, r *http.Request, asked Request) {
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	if !asked.Watch {
		_ = encoder.Encode(&p.items)
		return
	}
	for i := range p.items.Items {
		_ = encoder.Encode(map[string]any{"type": "ADDED", "object": &p.items.Items[i]})
	}
	_ = encoder.Encode(map[string]any{"type": "BOOKMARK", "object": map[string]any{
		"apiVersion": p.kind.GroupVersion().String(), "kind": p.kind.Kind,
		"metadata": map[string]any{
			"resourceVersion": p.items.GetResourceVersion(),
			"annotations":     map[string]string{"k8s.io/initial-events-end": "true"},
		},
	}})
	w.(http.Flusher).Flush() //nolint:forcetypeassert // every server's writer is one
	select {
	case <-time.After(p.lasts):
	case <-r.Context().Done():
	}
}
