// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// secretsAreRemembered is how long at most it takes to notice that a Secret of an idle owner was deleted or changed. Ten idle
// clusters cost a request in ten seconds by that.
const secretsAreRemembered = 10 * time.Minute

// workingSecretsAreRemembered is for how long those of an owner are that is being worked on and wants the same: while a cluster comes up it
// is looked at every 50 ms, about twenty times, and had five Secrets read each time.
const workingSecretsAreRemembered = time.Second

// Secrets keeps what Secrets the API server has shown. They are asked for by their names and never listed or watched, which
// would need the right to read all Secrets (docs/adr/0038). The Certificates of users, which are not watched either, have the names of
// the Secrets that cert-manager writes for them, and are remembered as long.
type Secrets struct {
	Now func() time.Time

	mutex  sync.Mutex
	begun  time.Time
	known  map[types.NamespacedName]*corev1.Secret             // nil: there is none
	asked  map[types.NamespacedName]*unstructured.Unstructured // Certificates of cert-manager that there are
	rested map[types.UID]string                                // what owners wanted for which nothing was to be done
	looked map[string]looked                                   // when those of an owner were last read again, by UID and names
	writes int                                                 // of this process
}

// A looked is what an owner wanted when its Secrets were last read again, and when that was.
type looked struct {
	wanted string
	at     time.Time
}

// Look has the Secrets of an owner read again, unless it has not changed since, and nothing was to be done for it or that was a moment ago.
func (s *Secrets) Look(owner client.Object, names ...string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if age := s.Now().Sub(s.begun); age > secretsAreRemembered || age < 0 {
		s.begun, s.rested, s.looked = s.Now(), map[types.UID]string{}, map[string]looked{}
		s.known, s.asked = map[types.NamespacedName]*corev1.Secret{}, map[types.NamespacedName]*unstructured.Unstructured{}
	}
	if wanted, is := s.rested[owner.GetUID()]; is && wanted == wants(owner) {
		return
	}
	of, now := string(owner.GetUID())+" "+strings.Join(names, " "), looked{wants(owner), s.Now()}
	if last := s.looked[of]; last.wanted == now.wanted && now.at.Sub(last.at) < workingSecretsAreRemembered {
		return
	}
	s.looked[of] = now
	for _, name := range names {
		key := types.NamespacedName{Namespace: owner.GetNamespace(), Name: name}
		delete(s.known, key)
		delete(s.asked, key)
	}
}

// Forget has Secrets read again.
func (s *Secrets) Forget(namespace string, names ...string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, name := range names {
		delete(s.known, types.NamespacedName{Namespace: namespace, Name: name})
	}
}

// Rest says whether nothing is to be done for an owner as it is.
func (s *Secrets) Rest(owner client.Object, nothing bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.rested, owner.GetUID())
	if nothing && s.rested != nil {
		s.rested[owner.GetUID()] = wants(owner)
	}
}

// wants is what a person may have changed of an owner so that its Secrets matter: its spec, our annotations, its deletion. Labels and
// annotations of others may change many times a second, and our status with each look.
func wants(owner client.Object) string {
	text := fmt.Sprint(owner.GetGeneration(), owner.GetDeletionTimestamp())
	all := owner.GetAnnotations()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(name, v1beta1.GroupVersion.Group+"/") {
			text += fmt.Sprintf(" %s=%q", name, all[name])
		}
	}
	return text
}

// recall is what is known of a Secret, whether anything is, and how much was written before.
func (s *Secrets) recall(key types.NamespacedName) (secret *corev1.Secret, known bool, writes int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	secret, known = s.known[key]
	return secret, known, s.writes
}

// note keeps what was read, unless something was written meanwhile.
func (s *Secrets) note(key types.NamespacedName, secret *corev1.Secret, writes int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.writes == writes && s.known != nil {
		s.known[key] = secret
	}
}

// Certificate is a Certificate that is remembered; nil: it is to be read.
func (s *Secrets) Certificate(key types.NamespacedName) *unstructured.Unstructured {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.asked[key]
}

// NoteCertificate keeps a Certificate that was read, and nil forgets one that is written.
func (s *Secrets) NoteCertificate(key types.NamespacedName, have *unstructured.Unstructured) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.asked != nil {
		s.asked[key] = have
	}
}

// secretKey is the name of a Secret, or of what one is applied by, and whether it is one.
func secretKey(object any) (key types.NamespacedName, is bool) {
	switch o := object.(type) {
	case *corev1.Secret:
		return client.ObjectKeyFromObject(o), true
	case *corev1apply.SecretApplyConfiguration:
		return types.NamespacedName{Namespace: ptr.Deref(o.Namespace, ""), Name: ptr.Deref(o.Name, "")}, true
	}
	return key, false
}

// wrote forgets a Secret that was written.
func (s *Secrets) wrote(key types.NamespacedName) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.writes++
	delete(s.known, key)
}

// SecretClient reads Secrets from memory, or else from the client within past its cache. To have a read wait for what was written would
// have that watch all Secrets. Everything else is the inner client's.
type SecretClient struct {
	client.Client
	Memory *Secrets
}

// Get reads one object.
func (s SecretClient) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	into, is := object.(*corev1.Secret)
	if !is {
		return s.Client.Get(ctx, key, object, opts...) //nolint:wrapcheck // it is the client's own
	}
	known, is, writes := s.Memory.recall(key)
	switch {
	case is && known == nil:
		return apierrors.NewNotFound(corev1.Resource("secrets"), key.Name)
	case is:
		known.DeepCopyInto(into)
		return nil
	}
	err := s.Client.Get(ctx, key, into, append(opts, client.DisableReadYourWritesConsistency)...)
	switch {
	case err == nil:
		s.Memory.note(key, into.DeepCopy(), writes)
	case apierrors.IsNotFound(err):
		s.Memory.note(key, nil, writes)
	}
	return err //nolint:wrapcheck // it is the client's own
}

// Create writes one object.
func (s SecretClient) Create(ctx context.Context, object client.Object, opts ...client.CreateOption) error {
	if key, is := secretKey(object); is {
		defer s.Memory.wrote(key)
		opts = append(opts, client.DisableReadYourWritesConsistency)
	}
	return s.Client.Create(ctx, object, opts...) //nolint:wrapcheck // it is the client's own
}

// Patch writes one object.
func (s SecretClient) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if key, is := secretKey(object); is {
		defer s.Memory.wrote(key)
		opts = append(opts, client.DisableReadYourWritesConsistency)
	}
	return s.Client.Patch(ctx, object, patch, opts...) //nolint:wrapcheck // it is the client's own
}

// Apply writes one object.
func (s SecretClient) Apply(ctx context.Context, object runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	if key, is := secretKey(object); is {
		defer s.Memory.wrote(key)
		opts = append(opts, client.DisableReadYourWritesConsistency)
	}
	return s.Client.Apply(ctx, object, opts...) //nolint:wrapcheck // it is the client's own
}
