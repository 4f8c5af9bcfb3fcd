// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/etcdtest"
)

// importing is a namespace with a cluster that is to begin with something, which has formed empty and serves.
type importing struct{ *users }

func newImporting(t *testing.T, namespace string, from v1beta1.Import) importing {
	w := importing{newEtcd(t, namespace, v1beta1.EtcdClusterSpec{Bootstrap: &v1beta1.BootstrapSpec{Import: &from}})}
	w.cluster.Status.Bootstrap = &v1beta1.Bootstrap{Token: string(w.cluster.UID), Members: []string{"a-0"}}
	w.available(metav1.ConditionTrue)
	return w
}

func (w importing) available(status metav1.ConditionStatus) {
	w.t.Helper()
	meta.SetStatusCondition(&w.cluster.Status.Conditions, metav1.Condition{
		Type: v1beta1.ConditionAvailable, Status: status, Reason: v1beta1.ReasonHealthy,
	})
	w.write(w.cluster)
}

func fromConfigMap() v1beta1.Import {
	return v1beta1.Import{ConfigMapRef: &v1beta1.ImportReference{Name: "settings"}, Prefix: "/shop/"}
}

func fromSecret() v1beta1.Import {
	return v1beta1.Import{SecretRef: &v1beta1.ImportReference{Name: "keys"}}
}

// look has an operator look once, whose writes go through that, and which asks members through that dialer.
func (w importing) look(through interceptor.Funcs, dialer dialer) (ctrl.Result, error) {
	operator := controllers.NewImportsReconciler(interceptor.NewClient(live, through), dialer, w.events, time.Now)
	return operator.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace, Name: "a"}})
}

func (w importing) mustLook() ctrl.Result {
	w.t.Helper()
	result, err := w.look(interceptor.Funcs{}, dialer{w.users, nil})
	if err != nil {
		w.t.Fatal(err)
	}
	w.get(w.cluster)
	return result
}

// dialer finds the members of the fake etcd; what is put there counts as a write of the operator.
type dialer struct {
	*users
	dying *mortal
}

func (d dialer) Member(ctx context.Context, c *v1beta1.EtcdCluster, m cluster.Member) (etcd.Client, error) {
	member, err := d.users.Member(ctx, c, m)
	return dyingMember{member, d.dying}, err
}

type dyingMember struct {
	etcd.Client
	dying *mortal
}

func (m dyingMember) PutMissing(ctx context.Context, keys []etcd.KeyValue) (put int, revision int64, err error) {
	if m.dying == nil {
		return m.Client.PutMissing(ctx, keys)
	}
	err = m.dying.write("put", keys, func() (err error) {
		put, revision, err = m.Client.PutMissing(ctx, keys)
		return err
	})
	return put, revision, err
}

func (w importing) wantKeys(want map[string]string) {
	w.t.Helper()
	if got := w.etcd.Keys(); !maps.Equal(got, want) {
		w.t.Errorf("the keys are %q, want %q", got, want)
	}
}

// TestImport: with the rights of the generated roles, what is missing is waited for, then written once; a key that a client has is
// kept, and nothing that a client does later is undone.
func TestImport(t *testing.T) {
	t.Parallel()
	w := newImporting(t, "imports-life", fromConfigMap())
	if result := w.mustLook(); result.RequeueAfter < 10*time.Second || result.RequeueAfter > time.Minute {
		t.Errorf("looks again after %s", result.RequeueAfter)
	}
	w.wantReady(w.cluster.Status.Conditions, v1beta1.ConditionImported, v1beta1.ReasonSourceMissing)
	version := w.cluster.ResourceVersion
	if w.mustLook(); w.cluster.ResourceVersion != version {
		t.Error("the status is written again although nothing has changed")
	}
	settings := &corev1.ConfigMap{ObjectMeta: w.named("settings"), Data: map[string]string{"currency": "EUR", "import.yaml": "[currency]"}}
	w.create(settings)
	w.mustLook()
	w.wantReady(w.cluster.Status.Conditions, v1beta1.ConditionImported, v1beta1.ReasonEntryInvalid)
	w.wantKeys(map[string]string{})
	w.update(settings, func() {
		settings.Data["import.yaml"] = "[{key: mail/from, value: shop@example.com}, {key: mail/to, value: x}]"
	})
	w.etcd.Put("/shop/mail/to", "y")
	if result := w.mustLook(); result.RequeueAfter > 0 {
		t.Errorf("looks again after %s, and all is done", result.RequeueAfter)
	}
	want := map[string]string{"/shop/currency": "EUR", "/shop/mail/from": "shop@example.com", "/shop/mail/to": "y"}
	w.wantKeys(want)
	w.wantReady(w.cluster.Status.Conditions, v1beta1.ConditionImported, v1beta1.ReasonKeysWritten)
	done := w.cluster.Status.Import
	if done == nil || done.Keys != 3 || done.Kept != 1 || done.Revision != 3 || done.Time.IsZero() {
		t.Errorf("status.import is %+v", done)
	}
	for _, says := range []string{"SourceMissing", "EntryInvalid", "3 keys of ConfigMap settings are in etcd; 1 were there"} {
		if event := <-w.events.Events; !strings.Contains(event, says) {
			t.Errorf("the event is %q, want %q", event, says)
		}
	}
	w.update(settings, func() { settings.Data["late"] = "1" })
	calls := len(w.etcd.Log())
	if w.mustLook(); len(w.etcd.Log()) != calls {
		t.Errorf("did %q", w.etcd.Log()[calls:])
	}
	w.update(w.cluster, func() { w.cluster.Spec.Bootstrap = nil })
	w.mustLook()
	w.wantReady(w.cluster.Status.Conditions, v1beta1.ConditionImported, v1beta1.ReasonKeysWritten)
	w.wantKeys(want)
}

// TestImportFromASecret: its values are in etcd, and in no event, status or log.
func TestImportFromASecret(t *testing.T) {
	put := canaries{}
	w := newImporting(t, "imports-secret", fromSecret())
	secret := &corev1.Secret{ObjectMeta: w.named("keys"), Type: corev1.SecretTypeOpaque, StringData: map[string]string{
		"plain": put.put("an entry"), "import.json": `[{"key": "k", "value": "` + put.put("a value") + `", "` + put.put("a field") + `": 1}]`,
	}}
	w.create(secret)
	w.mustLook()
	w.wantReady(w.cluster.Status.Conditions, v1beta1.ConditionImported, v1beta1.ReasonEntryInvalid)
	told := w.shown()
	change := func(list string) {
		t.Helper()
		w.update(secret, func() { secret.StringData = map[string]string{"import.json": list} })
	}
	change("- {key: k, value: " + put.put("no JSON"))
	w.mustLook()
	told += w.shown()
	change(`[{"key": "k", "value": "` + put.put("the value") + `"}]`)
	w.mustLook()
	told += w.shown() + logged.String()
	w.wantKeys(map[string]string{"k": put["the value"], "plain": put["an entry"]})
	if found := put.foundIn(told); len(found) > 0 || !strings.Contains(told, "item 1 of entry") || len(put) != 5 {
		t.Errorf("%v are shown", found)
	}
}

// shown is what people read: the EtcdCluster, and the events so far.
func (w importing) shown() string {
	w.t.Helper()
	text := fmt.Sprintf("%+v", w.cluster)
	for len(w.events.Events) > 0 {
		text += <-w.events.Events
	}
	return text
}

// TestImportOfOthersSecrets: a user who may write EtcdClusters but not read Secrets does not get an authority's key by it.
func TestImportOfOthersSecrets(t *testing.T) {
	from := v1beta1.Import{SecretRef: &v1beta1.ImportReference{Name: "a-client-ca"}}
	w := newImporting(t, "imports-others", from)
	w.mustLook()
	w.wantReady(w.cluster.Status.Conditions, v1beta1.ConditionImported, v1beta1.ReasonSourceRefused)
	w.wantKeys(map[string]string{})
}

// TestNothingIsImportedTwice: not into a cluster that was adopted with its data, and not before a cluster serves.
func TestNothingIsImportedTwice(t *testing.T) {
	t.Parallel()
	w := newImporting(t, "imports-adopted", fromConfigMap())
	w.create(&corev1.ConfigMap{ObjectMeta: w.named("settings"), Data: map[string]string{"k": "v"}})
	w.available(metav1.ConditionFalse)
	w.mustLook()
	w.wantReady(w.cluster.Status.Conditions, v1beta1.ConditionImported, v1beta1.ReasonWaitingForCluster)
	w.cluster.Status.Bootstrap.Adopted = true
	w.available(metav1.ConditionTrue)
	w.mustLook()
	w.wantReady(w.cluster.Status.Conditions, v1beta1.ConditionImported, v1beta1.ReasonDataPresent)
	w.wantKeys(map[string]string{})
	w.update(w.cluster, func() { w.cluster.Spec.Bootstrap = nil })
	if w.mustLook(); meta.FindStatusCondition(w.cluster.Status.Conditions, v1beta1.ConditionImported) != nil {
		t.Error("the condition stays although nothing is to be imported")
	}
}

// TestEtcdRefusesAnImport: it is reported, and tried again; members that run on another cluster's data are not asked.
func TestEtcdRefusesAnImport(t *testing.T) {
	t.Parallel()
	w := newImporting(t, "imports-refused", fromConfigMap())
	w.create(&corev1.ConfigMap{ObjectMeta: w.named("settings"), Data: map[string]string{"k": "v"}})
	w.etcd.FailBefore(etcdtest.PutMissing, errors.New("no room"))
	if _, err := w.look(interceptor.Funcs{}, dialer{w.users, nil}); err == nil {
		t.Error("no error")
	}
	w.get(w.cluster)
	w.wantReady(w.cluster.Status.Conditions, v1beta1.ConditionImported, v1beta1.ReasonImportFailed)
	w.cluster.Status.ClusterID = "beef"
	w.write(w.cluster)
	if _, err := w.look(interceptor.Funcs{}, dialer{w.users, nil}); err == nil || len(w.etcd.Keys()) > 0 {
		t.Errorf("no error, or keys %q", w.etcd.Keys())
	}
	w.get(w.cluster)
	w.cluster.Status.ClusterID = "c1"
	w.write(w.cluster)
	w.mustLook()
	w.wantReady(w.cluster.Status.Conditions, v1beta1.ConditionImported, v1beta1.ReasonKeysWritten)
}

// TestImportOutlastsOtherWriters: a status that was changed meanwhile gets the record all the same, without another
// import.
func TestImportOutlastsOtherWriters(t *testing.T) {
	t.Parallel()
	w := newImporting(t, "imports-conflict", fromConfigMap())
	w.create(&corev1.ConfigMap{ObjectMeta: w.named("settings"), Data: map[string]string{"k": "v"}})
	rivals := 2
	_, err := w.look(interceptor.Funcs{SubResourceUpdate: func(
		ctx context.Context, c client.Client, what string, object client.Object, opts ...client.SubResourceUpdateOption,
	) error {
		if rivals > 0 {
			rivals--
			w.get(w.cluster)
			w.cluster.Status.NextSerial++
			w.write(w.cluster)
		}
		return c.SubResource(what).Update(ctx, object, opts...)
	}}, dialer{w.users, nil})
	w.get(w.cluster)
	if done := w.cluster.Status.Import; err != nil || done == nil || done.Kept != 0 || w.cluster.Status.NextSerial != 2 {
		t.Errorf("%v; status.import is %+v, the next serial %d", err, done, w.cluster.Status.NextSerial)
	}
}

// TestOperatorDiesWhileImporting: whatever it had written, the next one finishes; every key is there, and what a client has put or
// changed in between is kept (fault 1).
func TestOperatorDiesWhileImporting(t *testing.T) {
	dies(t, "imports-dies", 4, func(t *testing.T, namespace string, dying *mortal) {
		w := newImporting(t, namespace, fromConfigMap())
		settings := &corev1.ConfigMap{ObjectMeta: w.named("settings"), Data: map[string]string{}}
		want := map[string]string{}
		for n := range 250 {
			name := fmt.Sprintf("k%03d", n)
			settings.Data[name], want["/shop/"+name] = "ours", "ours"
		}
		w.create(settings)
		if _, err := w.look(dying.funcs(), dialer{w.users, dying}); err != nil && !errors.Is(err, errDead) {
			t.Fatal(err)
		}
		for _, name := range []string{"/shop/k000", "/shop/k249"} {
			w.etcd.Put(name, "theirs")
			want[name] = "theirs"
		}
		w.mustLook()
		w.wantKeys(want)
		w.wantReady(w.cluster.Status.Conditions, v1beta1.ConditionImported, v1beta1.ReasonKeysWritten)
		if done := w.cluster.Status.Import; done == nil || done.Keys != 250 {
			t.Errorf("status.import is %+v", done)
		}
	})
}
