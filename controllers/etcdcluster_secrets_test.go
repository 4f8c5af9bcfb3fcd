// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers/cache"
	"github.com/etcd-operator/etcd-operator/internal/cluster/observe"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/connect"
)

// TestSecretsOfASourceAreReadAgain after a second: one that is corrected, or made anew with a namespace of the same name, counts then.
func TestSecretsOfASourceAreReadAgain(t *testing.T) {
	ref := func(name string) *v1beta1.LocalSecret { return &v1beta1.LocalSecret{Name: name} }
	for what, test := range map[string]struct {
		bootstrap *v1beta1.BootstrapSpec
		secrets   []string
	}{
		"an adoption": {&v1beta1.BootstrapSpec{Adopt: &v1beta1.Adopt{
			ClientSecretRef: ref("certificate"), PeerAuthorityRef: ref("peers"), ClientAuthorityRef: ref("clients"),
			CredentialsRef: &v1beta1.Credentials{Name: "password"},
		}}, []string{"certificate", "peers", "clients", "password"}},
		"a copy": {&v1beta1.BootstrapSpec{Copy: &v1beta1.Copy{
			ClientSecretRef: ref("certificate"), CredentialsRef: &v1beta1.Credentials{Name: "password"},
		}}, []string{"certificate", "password"}},
	} {
		t.Run(what, func(t *testing.T) {
			written, at := 1, time.Unix(1e9, 0)
			onTime := func() time.Duration { return 0 }
			unread := errors.New("not read any further")
			server := interceptor.NewClient(nil, interceptor.Funcs{
				Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
					switch o := into.(type) {
					case *v1beta1.EtcdCluster:
						o.ObjectMeta = metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "u1"}
						o.Spec.Bootstrap = test.bootstrap
					case *corev1.Secret:
						o.Data = map[string][]byte{"content": fmt.Append(nil, written)}
					default:
						return unread
					}
					return nil
				},
				List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return unread },
			})
			memory := &cache.Secrets{Now: func() time.Time { return at }}
			remembered := cache.SecretClient{Client: server, Memory: memory}
			r := &EtcdClusterReconciler{
				Client: server, Observer: &observe.Observer{
					Cache: server, Live: server, Now: time.Now, Ahead: onTime, Behind: onTime, Resizes: func() (none specs.Resizes) { return none },
				},
				Dialer: &connect.Dialer{Pool: etcd.NewPool()}, secrets: memory,
			}
			content := func(name string) string {
				var found corev1.Secret
				if err := remembered.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, &found); err != nil {
					t.Fatal(err)
				}
				return string(found.Data["content"])
			}
			look := func() {
				if _, err := r.observe(t.Context(), client.ObjectKey{Namespace: "default", Name: "a"}); !errors.Is(err, unread) {
					t.Fatal(err)
				}
			}
			look()
			for _, name := range test.secrets {
				content(name)
			}
			written, at = 2, at.Add(time.Second)
			look()
			for _, name := range test.secrets {
				if got := content(name); got != "2" {
					t.Errorf("%s is as it was at the look before, not as it is: %s", name, got)
				}
			}
		})
	}
}
