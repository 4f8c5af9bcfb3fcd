// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/stores"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/plugin/support"
)

// A journal keeps what the operator has logged.
type journal struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (j *journal) Write(text []byte) (int, error) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return j.text.Write(text)
}

func (j *journal) String() string {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return j.text.String()
}

// canaries are secrets that are in nothing but Secrets, by where they were put.
type canaries map[string]string

// put makes a canary: another one each time.
func (c canaries) put(where string) string {
	c[where] = "canary" + strings.ToLower(rand.Text())
	return c[where]
}

// foundIn are the canaries that are in a text, as they are or in base64.
func (c canaries) foundIn(text string) []string {
	var found []string
	for where, canary := range c {
		// In base64 a text looks in three ways; those letters that depend on nothing before it are looked for.
		for shift := range 3 {
			encoded := base64.StdEncoding.EncodeToString(append(make([]byte, shift), canary...))
			if strings.Contains(text, canary) || strings.Contains(text, strings.Trim(encoded[4:len(encoded)-4], "=")) {
				found = append(found, where)
				break
			}
		}
	}
	return found
}

// TestNoCanaryLeavesItsSecret: keys of stores, age identities, authorities, certificates' keys, passwords of users, those of members
// that was spoilt: none is in a status, an event, a Pod, a Job with its order, the log, or the support bundle. That orders of
// other Jobs hold none follows from what makes them, which no Secret is given to (internal/backup/jobs).
func TestNoCanaryLeavesItsSecret(t *testing.T) {
	put := canaries{}
	made := canaryStores(t, put)
	c := &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: watched, Name: "canary"}}
	c.Spec.Backup = &v1beta1.Backup{Store: made[0].Name, Decryption: &v1beta1.SecretReference{Secret: "canary-identities"}}
	c.Spec.Auth.Enabled = true
	u := &v1beta1.EtcdUser{ObjectMeta: metav1.ObjectMeta{Namespace: watched, Name: "canary"}}
	u.Spec = v1beta1.EtcdUserSpec{Cluster: c.Name, Authentication: v1beta1.PasswordAuthentication}
	b := &v1beta1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: watched, Name: "canary"}}
	b.Spec = v1beta1.EtcdBackupSpec{Cluster: c.Name, Decryption: &v1beta1.SecretReference{Secret: "canary-identities"}}
	for _, object := range []client.Object{c, b, u} {
		if err := server.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.IgnoreNotFound(server.Delete(context.Background(), object)) })
	}
	t.Cleanup(func() {
		collect(t, c, &corev1.Pod{}, &corev1.Service{}, &corev1.Secret{}, &corev1.PersistentVolumeClaim{})
	})
	spoil(t, c, put)
	keysOf(t, c, u, put)
	for _, store := range made {
		eventually(t, "the Job that looks at store "+store.Name, func() error {
			return get(t, c, stores.JobName(store), owned("batch/v1", "Job"))
		})
	}
	if len(put) < 15 {
		t.Errorf("there are only %d canaries", len(put))
	}
	secrets := asText(t, listed(t, "v1", "Secret"))
	if there := put.foundIn(secrets); len(there) < len(put)-2 { // the two that were spoilt are made again
		t.Errorf("of %d canaries the Secrets have only %v: this test shows nothing", len(put), there)
	}
	for place, text := range artefacts(t) {
		if found := put.foundIn(text); len(found) > 0 || len(text) < 100 {
			t.Errorf("%s (%d bytes) has the secret of %v", place, len(text), found)
		}
	}
}

// canaryStores are stores of each provider, by Secrets in which every value is a canary.
func canaryStores(t *testing.T, put canaries) []*v1beta1.EtcdBackupStore {
	t.Helper()
	secret := func(name string, keys ...string) *v1beta1.SecretReference {
		t.Helper()
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: watched, Name: name}, Data: map[string][]byte{}}
		for _, key := range keys {
			s.Data[key] = []byte(put.put(key + " of " + name))
		}
		if err := server.Create(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = server.Delete(context.Background(), s) })
		return &v1beta1.SecretReference{Secret: name}
	}
	secret("canary-identities", v1beta1.KeyIdentities)
	secret("canary-authority", "ca.crt")
	ca := &v1beta1.CASource{Secret: "canary-authority"}
	specs := map[string]v1beta1.EtcdBackupStoreSpec{
		"canary-s3": {S3: &v1beta1.S3Store{
			Bucket: "bbb", Endpoint: "https://s3.example", CA: ca,
			Credentials: secret("canary-s3", v1beta1.KeyAccessKeyID, v1beta1.KeySecretAccessKey, v1beta1.KeySessionToken),
		}},
		"canary-gcs": {GCS: &v1beta1.GCSStore{Bucket: "bbb", CA: ca, Credentials: secret("canary-gcs", v1beta1.KeyCredentialsJSON)}},
		"canary-azure": {Azure: &v1beta1.AzureStore{
			Container: "ccc", Account: "aaa", CA: ca,
			Credentials: secret("canary-azure", v1beta1.KeyAccountKey, v1beta1.KeySASToken),
		}},
	}
	var all []*v1beta1.EtcdBackupStore
	for name, spec := range specs {
		store := &v1beta1.EtcdBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: watched, Name: name}, Spec: spec}
		if err := server.Create(t.Context(), store); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = server.Delete(context.Background(), store)
			job := owned("batch/v1", "Job")
			job.SetNamespace(watched)
			job.SetName(stores.JobName(store))
			_ = server.Delete(context.Background(), job, client.PropagationPolicy(metav1.DeletePropagationBackground))
		})
		all = append(all, store)
	}
	return all
}

// keysOf has a line of each key of the cluster count as a canary, and the password of a user.
func keysOf(t *testing.T, c *v1beta1.EtcdCluster, u *v1beta1.EtcdUser, put canaries) {
	t.Helper()
	eventually(t, "authority", func() error { return get(t, c, c.ClientCA(), &corev1.Secret{}) })
	askToLook(t, u) // members never run here, and until they do the Secret of a user comes with the next look
	for name, keys := range map[string][]string{
		c.ClientCA(): {corev1.TLSPrivateKeyKey}, c.PeerCA(): {corev1.TLSPrivateKeyKey}, c.ClientSecret(): {corev1.TLSPrivateKeyKey},
		specs.MemberSecret(c): {specs.ServerKeyKey, specs.PeerKeyKey}, c.RootSecret(): {corev1.TLSPrivateKeyKey},
		u.Secret(): {corev1.TLSPrivateKeyKey, specs.PasswordKey},
	} {
		var secret corev1.Secret
		eventually(t, "Secret "+name, func() error { return get(t, c, name, &secret) })
		for _, key := range keys {
			if key == specs.PasswordKey {
				put[key+" of "+name] = string(secret.Data[key])
				continue
			}
			lines := strings.Split(string(secret.Data[key]), "\n")
			if len(lines) < 3 {
				t.Fatalf("%s of %s is no key in PEM", key, name)
			}
			put[key+" of "+name] = lines[1]
		}
	}
}

// spoil puts canaries where keys of the cluster were: the operator says that they are none, and makes others.
func spoil(t *testing.T, c *v1beta1.EtcdCluster, put canaries) {
	t.Helper()
	for name, key := range map[string]string{specs.MemberSecret(c): specs.ServerKeyKey, c.ClientSecret(): corev1.TLSPrivateKeyKey} {
		garbage := fmt.Sprintf("-----BEGIN EC PRIVATE KEY-----\n%s\n-----END EC PRIVATE KEY-----\n", put.put("spoilt "+key+" of "+name))
		eventually(t, "Secret "+name+" to be spoilt", func() error {
			var secret corev1.Secret
			if err := get(t, c, name, &secret); err != nil {
				return err
			}
			secret.Data[key] = []byte(garbage)
			return server.Update(t.Context(), &secret)
		})
		eventually(t, "Secret "+name+" to be made again", func() error {
			var secret corev1.Secret
			if err := get(t, c, name, &secret); err != nil || string(secret.Data[key]) == garbage {
				return errors.Join(err, errors.New("it is as it was spoilt"))
			}
			return nil
		})
	}
}

func owned(version, kind string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.FromAPIVersionAndKind(version, kind))
	return o
}

// listed are all objects of a kind in the namespace.
func listed(t *testing.T, version, kind string) []unstructured.Unstructured {
	t.Helper()
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(schema.FromAPIVersionAndKind(version, kind+"List"))
	if err := server.List(t.Context(), all, client.InNamespace(watched)); err != nil {
		t.Fatal(err)
	}
	return all.Items
}

func asText(t *testing.T, objects []unstructured.Unstructured) string {
	t.Helper()
	text, err := json.Marshal(objects)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// artefacts are all texts that a user without a right to Secrets may see.
func artefacts(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{"the log": logged.String()}
	log := support.Log{Namespace: "operators", Pod: "p", Container: "c", Text: all["the log"]}
	bundle := support.Bundle{Name: "canary", At: time.Now(), Logs: []support.Log{log}}
	for _, kind := range [][2]string{
		{"etcd-operator.dev/v1beta1", "EtcdCluster"},
		{"etcd-operator.dev/v1beta1", "EtcdBackup"},
		{"etcd-operator.dev/v1beta1", "EtcdBackupStore"},
		{"etcd-operator.dev/v1beta1", "EtcdUser"},
		{"v1", "Pod"},
		{"v1", "PersistentVolumeClaim"},
		{"v1", "Service"},
		{"batch/v1", "Job"},
		{"events.k8s.io/v1", "Event"},
		{"policy/v1", "PodDisruptionBudget"},
	} {
		objects := listed(t, kind[0], kind[1])
		all[kind[1]+"s"] = asText(t, objects)
		bundle.Objects = append(bundle.Objects, objects...)
	}
	bundle.Objects = append(bundle.Objects, listed(t, "v1", "Secret")...)
	files, err := support.Files(bundle)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		all["the support bundle"] += file.Name + "\n" + file.Text
	}
	return all
}
