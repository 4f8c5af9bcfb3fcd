// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// secretScene is an API server with Secrets, whose reads are counted, and an operator that remembers them.
type secretScene struct {
	t      *testing.T
	server client.WithWatch
	reads  atomic.Int32
	during func() // happens while a Secret is read, once
	asked  SecretClient
	memory *Secrets
	at     time.Time
	owner  *v1beta1.EtcdCluster
}

func newSecretScene(t *testing.T) *secretScene {
	t.Helper()
	s := &secretScene{t: t, at: time.Unix(1e9, 0)}
	s.owner = &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default", UID: "u1", ResourceVersion: "1"}}
	s.server = fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
			s.reads.Add(1)
			err := c.Get(ctx, key, into, opts...)
			if happens := s.during; happens != nil {
				s.during = nil
				happens()
			}
			return err //nolint:wrapcheck // it is the server's
		},
	}).Build()
	s.memory = &Secrets{Now: func() time.Time { return s.at }}
	s.asked = SecretClient{s.server, s.memory}
	s.memory.Look(s.owner)
	return s
}

func secretNamed(name, content string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Data: map[string][]byte{"content": []byte(content)},
	}
}

// is reads a Secret and compares what is in it; empty: it does not exist. It says whether the server was asked.
func (s *secretScene) is(name, want string) (read bool) {
	s.t.Helper()
	before := s.reads.Load()
	var secret corev1.Secret
	err := s.asked.Get(s.t.Context(), client.ObjectKey{Namespace: "default", Name: name}, &secret)
	if client.IgnoreNotFound(err) != nil {
		s.t.Fatal(err)
	}
	if got := string(secret.Data["content"]); got != want || apierrors.IsNotFound(err) != (want == "") {
		s.t.Errorf("%s is %q (%v), want %q", name, got, err, want)
	}
	return s.reads.Load() > before
}

func (s *secretScene) put(name, content string) {
	s.t.Helper()
	if err := s.server.Create(s.t.Context(), secretNamed(name, content)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *secretScene) lose(name string) {
	s.t.Helper()
	if err := s.server.Delete(s.t.Context(), secretNamed(name, "")); err != nil {
		s.t.Fatal(err)
	}
}

// TestSecretsAreReadAgain: of an owner that has changed, or that is not at rest, and after ten minutes; and none in between.
func TestSecretsAreReadAgain(t *testing.T) {
	for name, stirs := range map[string]func(s *secretScene) (read bool){
		"an owner at rest":                func(*secretScene) bool { return false },
		"an owner whose spec has changed": func(s *secretScene) bool { s.owner.Generation = 2; return true },
		"an owner whose annotation asks": func(s *secretScene) bool {
			s.owner.Annotations = map[string]string{v1beta1.AnnotationCheck: "now"}
			return true
		},
		"fault 10: an owner that another controller labels": func(s *secretScene) bool {
			s.owner.ResourceVersion, s.owner.Labels = "2", map[string]string{"count": "2"}
			s.owner.Annotations = map[string]string{"count": "2"}
			return false
		},
		"an owner that has work": func(s *secretScene) bool {
			s.memory.Rest(s.owner, false)
			s.at = s.at.Add(workingSecretsAreRemembered)
			return true
		},
		"an owner that had work a moment ago": func(s *secretScene) bool {
			s.memory.Rest(s.owner, false)
			s.at = s.at.Add(workingSecretsAreRemembered - 1)
			return false
		},
		"an owner that had work, and has other work": func(s *secretScene) bool {
			s.memory.Rest(s.owner, false)
			s.owner.Generation = 2
			return true
		},
		"almost ten minutes":            func(s *secretScene) bool { s.at = s.at.Add(secretsAreRemembered); return false },
		"ten minutes":                   func(s *secretScene) bool { s.at = s.at.Add(secretsAreRemembered + 1); return true },
		"a clock that is set back":      func(s *secretScene) bool { s.at = s.at.Add(-time.Second); return true },
		"another owner of the same uid": func(s *secretScene) bool { s.owner.UID = "u2"; return true },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSecretScene(t)
			s.put("there", "first")
			s.memory.Look(s.owner, "there", "missing")
			s.is("there", "first")
			s.is("missing", "")
			there := client.ObjectKey{Namespace: "default", Name: "there"}
			s.memory.NoteCertificate(there, &unstructured.Unstructured{})
			s.memory.Rest(s.owner, true)
			s.lose("there")
			s.put("missing", "found")
			reads, wanted, missing := stirs(s), "first", ""
			if reads {
				wanted, missing = "", "found"
			}
			s.memory.Look(s.owner, "there", "missing")
			if s.is("there", wanted) != reads || s.is("missing", missing) != reads || (s.memory.Certificate(there) == nil) != reads {
				t.Errorf("want them to be read again: %t", reads)
			}
		})
	}
}

// TestSecretsThatWeWriteAreReadAgain: also what is read while they are written.
func TestSecretsThatWeWriteAreReadAgain(t *testing.T) {
	writes := map[string]func(s *secretScene) error{
		"create": func(s *secretScene) error {
			s.lose("one")
			return s.asked.Create(t.Context(), secretNamed("one", "second"))
		},
		"patch": func(s *secretScene) error {
			return s.asked.Patch(t.Context(), secretNamed("one", "second"), client.Merge)
		},
		"apply": func(s *secretScene) error {
			wanted := corev1apply.Secret("one", "default").WithData(map[string][]byte{"content": []byte("second")})
			return s.asked.Apply(t.Context(), wanted, client.ForceOwnership, client.FieldOwner("test"))
		},
	}
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			s := newSecretScene(t)
			s.put("one", "first")
			s.is("one", "first")
			if err := write(s); err != nil {
				t.Fatal(err)
			}
			s.is("one", "second")
		})
		t.Run(name+" while it is read", func(t *testing.T) {
			s := newSecretScene(t)
			s.put("one", "first")
			s.during = func() {
				if err := write(s); err != nil {
					t.Error(err)
				}
			}
			s.is("one", "first")
			s.is("one", "second")
		})
	}
}

// TestWhatIsReadIsOnesOwn: no reader changes what others get.
func TestWhatIsReadIsOnesOwn(t *testing.T) {
	s := newSecretScene(t)
	s.put("one", "first")
	for range 2 {
		var secret corev1.Secret
		if err := s.asked.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "one"}, &secret); err != nil {
			t.Fatal(err)
		}
		secret.Data["content"][0] = 'X'
	}
	s.is("one", "first")
}
