// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

var errDead = errors.New("the operator is dead")

// A mortal operator dies at one of its writes, which is done or not. It notes the kinds of all that it makes.
type mortal struct {
	at     int // 1 is the first; 0: it lives
	isDone bool

	mutex sync.Mutex // some writes are made side by side
	kinds []string
}

// isDead says whether it came to the write at which it dies.
func (m *mortal) isDead() bool { return m.at > 0 && m.note("") >= m.at }

// note returns how many writes there were.
func (m *mortal) note(kind string) int {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if kind != "" {
		m.kinds = append(m.kinds, kind)
	}
	return len(m.kinds)
}

func (m *mortal) write(verb string, object any, do func() error) error {
	switch count := m.note(fmt.Sprintf("%s %T", verb, object)); {
	case m.at == 0 || count < m.at:
		return do()
	case count == m.at && m.isDone:
		return errors.Join(do(), errDead)
	default:
		return errDead
	}
}

func (m *mortal) funcs() interceptor.Funcs {
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.CreateOption) error {
			return m.write("create", object, func() error { return c.Create(ctx, object, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.UpdateOption) error {
			return m.write("update", object, func() error { return c.Update(ctx, object, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return m.write("patch", object, func() error { return c.Patch(ctx, object, patch, opts...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, object runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return m.write("apply", object, func() error { return c.Apply(ctx, object, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.DeleteOption) error {
			return m.write("delete", object, func() error { return c.Delete(ctx, object, opts...) })
		},
		SubResourceUpdate: func(
			ctx context.Context, c client.Client, what string, object client.Object, opts ...client.SubResourceUpdateOption,
		) error {
			return m.write("update "+what, object, func() error { return c.SubResource(what).Update(ctx, object, opts...) })
		},
	}
}

// dies has an operator die before writes of a life, and after them. The first life is whole, and must have so many writes; each of the
// others is a test in a namespace of its own. All of them run beside other tests.
func dies(t *testing.T, name string, least int, life func(t *testing.T, namespace string, dying *mortal)) {
	t.Helper()
	t.Parallel()
	whole := &mortal{}
	if life(t, name, whole); len(whole.kinds) < least {
		t.Errorf("there are only %d writes: %q", len(whole.kinds), whole.kinds)
	}
	for _, death := range deaths(whole.kinds) {
		when := "before"
		if death.isDone {
			when = "after"
		}
		t.Run(fmt.Sprintf("%s write %d, %s", when, death.at, whole.kinds[death.at-1]), func(t *testing.T) {
			t.Parallel()
			dying := &mortal{at: death.at, isDone: death.isDone}
			if life(t, fmt.Sprintf("%s-%s-%d", name, when, death.at), dying); !dying.isDead() {
				t.Errorf("it had %d writes this time, and lived: %q", len(dying.kinds), dying.kinds)
			}
		})
	}
}

// A death is before or after a write.
type death struct {
	at     int
	isDone bool
}

// deaths are before the first and after the last write of each kind, or, with MATRIX=full, before and after every write.
func deaths(kinds []string) (chosen []death) {
	for i, kind := range kinds {
		isFirst, isLast := !slices.Contains(kinds[:i], kind), !slices.Contains(kinds[i+1:], kind)
		full := os.Getenv("MATRIX") == "full"
		if full || isFirst {
			chosen = append(chosen, death{at: i + 1})
		}
		if full || isLast {
			chosen = append(chosen, death{at: i + 1, isDone: true})
		}
	}
	return chosen
}
