// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/observe"
)

// slowly has every read of one object take ten seconds of the observer's clock.
func (s *scene) slowly() (o *observe.Observer, clock *time.Time, reads *[]string) {
	at := now
	clock, reads = &at, &[]string{}
	slow := func(from client.Reader) client.Reader {
		return interceptor.NewClient(from.(client.WithWatch), interceptor.Funcs{
			Get: func(ctx context.Context, inner client.WithWatch, name client.ObjectKey, into client.Object, opts ...client.GetOption) error {
				s.mutex.Lock()
				defer s.mutex.Unlock()
				*clock = clock.Add(10 * time.Second)
				*reads = append(*reads, fmt.Sprintf("%T %s", into, name.Name))
				return inner.Get(ctx, name, into, opts...)
			},
		})
	}
	o = s.observer()
	o.Now = func() time.Time { return *clock }
	o.Cache, o.NoNodes = slow(o.Cache), true
	return o, clock, reads
}

// TestFault105EtcdIsAskedLast: however long other reads take, nothing is read between what members answer and the plan.
func TestFault105EtcdIsAskedLast(t *testing.T) {
	s := newScene(t)
	o, clock, reads := s.slowly()
	if v := s.lookBy(o); !s.asked.Equal(*clock) || len(*reads) < 5 || len(v.Members) != 3 || v.Unread != "" {
		t.Errorf("members were asked %s before the end of %d reads; unread: %q", clock.Sub(s.asked), len(*reads), v.Unread)
	}
}

// TestFault105MembersAreAskedAgain: to sum up what members hold may take many seconds, so that they are asked again after it.
func TestFault105MembersAreAskedAgain(t *testing.T) {
	s := newScene(t)
	s.etcd.Raise(3, "CORRUPT")
	s.etcd.Corrupt("a-2")
	v := s.look()
	asked := strings.Join(s.calls, ",")
	for _, name := range []string{"a-0", "a-1", "a-2"} {
		if strings.LastIndex(asked, "Read "+name) < strings.LastIndex(asked, "HashKV") {
			t.Errorf("%s is not asked after the sums: %s", name, asked)
		}
	}
	if m, _ := v.Member("a-2"); !m.HashMismatch || v.Undecided != "" {
		t.Errorf("whose data differs is not known: %+v, %s", m, v.Undecided)
	}
}

// TestFault9SecretsAreReadSideBySide: a slow API server costs a look the time of one Secret, not of each.
func TestFault9SecretsAreReadSideBySide(t *testing.T) {
	s := newScene(t)
	o := s.observer()
	var first, last time.Time
	number := 0
	o.Cache = interceptor.NewClient(o.Cache.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, inner client.WithWatch, name client.ObjectKey, into client.Object, opts ...client.GetOption) error {
			if _, is := into.(*corev1.Secret); is {
				s.mutex.Lock()
				if number++; number == 1 {
					first = time.Now()
				}
				s.mutex.Unlock()
				time.Sleep(2 * time.Second)
				s.mutex.Lock()
				last = time.Now()
				s.mutex.Unlock()
			}
			return inner.Get(ctx, name, into, opts...)
		},
	})
	s.lookBy(o)
	if took := last.Sub(first); number < 4 || took != 2*time.Second {
		t.Errorf("%d Secrets took %s", number, took)
	}
}

// TestUsersAreReadWhenAPassIsDue: there may be a thousand of them, so that their Secrets are not read while the rotation waits for
// something else.
func TestUsersAreReadWhenAPassIsDue(t *testing.T) {
	s := newScene(t)
	for n := range 40 {
		s.objects = append(s.objects, &v1beta1.EtcdUser{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("u-%d", n), Namespace: "default"}, Spec: v1beta1.EtcdUserSpec{Cluster: "a"},
		})
	}
	usersRead := func(after time.Duration) (number int) {
		o, clock, reads := s.slowly()
		*clock = now.Add(after)
		s.lookBy(o)
		for _, read := range *reads {
			if strings.Contains(read, "-user-u-") {
				number++
			}
		}
		return number
	}
	s.take(now, cluster.Introduce)
	if number := usersRead(0); number > 0 {
		t.Errorf("%d were read while members trust no other authority yet", number)
	}
	s.startAll()
	if number := usersRead(0); number > 0 {
		t.Errorf("%d were read while Pods may have what is older", number)
	}
	if number := usersRead(10 * time.Minute); number != 40 {
		t.Errorf("%d of 40 were read when the pass is due but for them", number)
	}
}
