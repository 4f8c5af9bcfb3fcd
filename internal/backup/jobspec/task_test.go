// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jobspec_test

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

var began = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)

var (
	onVolume = v1beta1.EtcdBackupStoreSpec{Volume: &v1beta1.VolumeStore{Claim: "backups", Path: "etcd"}}
	inGoogle = v1beta1.EtcdBackupStoreSpec{GCS: &v1beta1.GCSStore{Bucket: "b"}}
)

// orders are one of each verb, with every kind of store.
var orders = []jobspec.Order{
	{Verb: jobspec.Check, Store: onVolume, Operator: "0.5.0", Check: &jobspec.CheckOrder{
		Write: true,
		Sweep: true,
	}},
	{
		Verb: jobspec.Backup, Operator: "0.5.0",
		Store: v1beta1.EtcdBackupStoreSpec{ServiceAccountName: "writer", S3: &v1beta1.S3Store{
			Bucket: "b", CA: &v1beta1.CASource{ConfigMap: "a", Key: "ca.crt"}, Credentials: &v1beta1.SecretReference{Secret: "keys"},
			Lock: &v1beta1.S3Lock{Mode: v1beta1.LockCompliance, Days: 30},
		}},
		Allowed: []string{"*.example.com"},
		Backup: &jobspec.BackupOrder{
			ID: "5c1d", Name: "nightly", Namespace: "shop", Cluster: "orders", ClusterUID: "u", ClusterID: "c1", Secure: true,
			Members: []jobspec.Member{{Name: "orders-0", ID: "1f", Address: "orders-0.orders.shop.svc:2379"}}, HashBelow: 1 << 28,
			Recipients: []string{"age1x"}, LockedUntil: began, Spec: []byte(`{"size":3}`),
		},
	},
	{Verb: jobspec.Unpack, Store: inGoogle, Trial: &jobspec.TrialOrder{Path: "v1/a/b/c", Minor: "3.6"}},
	{Verb: jobspec.Verify, Trial: &jobspec.TrialOrder{Path: "v1/a/b/c", Minor: "3.6"}},
	{
		Verb: jobspec.Restore, Store: v1beta1.EtcdBackupStoreSpec{Azure: &v1beta1.AzureStore{Container: "c", Account: "a"}},
		Restore: &jobspec.RestoreOrder{Path: "v1/a/b/c", Member: "m", InitialCluster: map[string]string{"m": "http://m:2380"}, Minor: "3.6"},
	},
	{Verb: jobspec.Delete, Store: onVolume, Delete: &jobspec.DeleteOrder{Path: "v1/a/b/c"}},
	{Verb: jobspec.Locate, Store: onVolume, Locate: &jobspec.LocateOrder{
		Backups:      []jobspec.FullBackup{{Path: "v1/a/b/c", Revision: 17, ClusterID: "c1", Finished: began}},
		BeforeDelete: "/$(HOSTNAME)",
	}},
	{Verb: jobspec.Search, Store: onVolume, Search: &jobspec.SearchOrder{
		Namespace: "a", Cluster: "b", Lineage: "c1-0", Key: []byte("$(HOSTNAME)\xff"), Prefix: true, Since: began, Limit: 1000, Newest: true,
		End: &jobspec.LogEnd{Lineage: "c1-0", Revision: 18, Until: began},
	}},
	{Verb: jobspec.State, Store: onVolume, State: &jobspec.StateOrder{Prefix: []byte("/a"), Target: jobspec.LocateOrder{
		Backups: []jobspec.FullBackup{{Path: "v1/a/b/c", Revision: 17, ClusterID: "c1", Finished: began}}, Revision: 18,
	}}},
	{Verb: jobspec.Delete, Store: onVolume, Delete: &jobspec.DeleteOrder{Path: "v1/a/b/c", Log: &log.Retained{
		Namespace: "a", Cluster: "b", Lineage: "c2-0", From: []log.KeptFrom{{Lineage: "c1-0", Base: 7}, {Lineage: "c2-0", Base: 9}},
	}}},
	{Verb: jobspec.Follow, Store: onVolume, Follow: &jobspec.FollowOrder{
		Namespace: "a", Cluster: "b", Lineage: "c1-0", ClusterID: "c1", Base: 7, Flush: time.Second, SegmentSize: 1 << 20,
		Recipients: []string{"age1x"},
	}},
}

func TestOrdersAreReadAsTheyWereWritten(t *testing.T) {
	for _, order := range orders {
		text := order.Encode()
		got, err := jobspec.ParseOrder(text)
		if err != nil || !reflect.DeepEqual(got, order) {
			t.Errorf("%s: %v\n%+v instead of\n%+v", text, err, got, order)
		}
		if again := order.Encode(); again != text {
			t.Errorf("the same order is another text:\n%s\n%s", text, again)
		}
	}
}

// TestOrdersAreNotExpanded: the kubelet finds nothing in the argument of a Job that it would replace.
func TestOrdersAreNotExpanded(t *testing.T) {
	order := jobspec.Order{
		Verb: jobspec.Check, Check: &jobspec.CheckOrder{},
		Store: v1beta1.EtcdBackupStoreSpec{Volume: &v1beta1.VolumeStore{Path: "$(HOSTNAME)/$$(A)"}},
	}
	text := order.Encode()
	if got, err := jobspec.ParseOrder(text); err != nil || !reflect.DeepEqual(got, order) || strings.Contains(text, "$") {
		t.Errorf("%s: %+v, %v", text, got.Store.Volume, err)
	}
}

// TestOrdersHoldNoKey: what a Secret of a user has under these names is a file in the Job's Pod. An order has no room for it.
func TestOrdersHoldNoKey(t *testing.T) {
	secrets := []string{
		v1beta1.KeyAccessKeyID, v1beta1.KeySecretAccessKey, v1beta1.KeySessionToken, v1beta1.KeyCredentialsJSON,
		v1beta1.KeyAccountKey, v1beta1.KeySASToken, v1beta1.KeyIdentities, "password",
	}
	references := 0
	eachField(reflect.TypeFor[jobspec.Order](), func(f reflect.StructField) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if slices.Contains(secrets, name) && f.Type.Kind() != reflect.Bool {
			t.Errorf("%s can be in an order", name)
		}
		if name != "credentials" {
			return
		}
		references++
		if f.Type != reflect.TypeFor[*v1beta1.SecretReference]() {
			t.Errorf("the credentials of a store are no reference: %s", f.Type)
		}
	})
	if references != 3 {
		t.Errorf("credentials of %d kinds of stores", references)
	}
}

func eachField(of reflect.Type, see func(reflect.StructField)) {
	switch of.Kind() { //nolint:exhaustive // the others have no fields
	case reflect.Pointer, reflect.Slice, reflect.Map:
		eachField(of.Elem(), see)
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(of) {
			see(f)
			eachField(f.Type, see)
		}
	}
}

func TestOrdersThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		``:                                    "EOF",
		`{`:                                   "unexpected EOF",
		`{"verb":"check","check":{},"fly":1}`: `unknown field "fly"`,
		`{"verb":"check"}`:                    "without what that needs",
		`{"verb":"check","check":{},"delete":{"path":"a"},"store":{"volume":{}}}`: "with what that does not need",
		`{"verb":"fly","operator":"0.9.0"}`:                                       `"fly" is not known`,
		`{"verb":"check","check":{}}`:                                             "it names 0 stores",
		`{"verb":"check","check":{},"store":{"volume":{},"gcs":{"bucket":"b"}}}`:  "it names 2 stores",
		`{"verb":"check","check":{},"store":{"volume":{}}}{}`:                     "more than one",
		`{"verb":"verify","check":{}}`:                                            "without what that needs",
		`{"verb":"search","search":{"key":"YQ=="},"store":{"volume":{}}}`:         "it names no lineage",
		`{"verb":"search","search":{"lineage":"c-0"},"store":{"volume":{}}}`:      "it names no key",
	} {
		if _, err := jobspec.ParseOrder(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, and it should say %q", text, err, want)
		}
	}
}

// TestSearchIsClear: it is by revisions or by times.
func TestSearchIsClear(t *testing.T) {
	both := &jobspec.SearchOrder{Lineage: "c-0", Prefix: true, From: 1, Since: began}
	o := jobspec.Order{Verb: jobspec.Search, Store: onVolume, Search: both}
	if _, err := jobspec.ParseOrder(o.Encode()); err == nil || !strings.Contains(err.Error(), "it has revisions and times") {
		t.Error(err)
	}
}

// TestLogThatIsKeptIsClear: an order that forgets the present lineage would delete it.
func TestLogThatIsKeptIsClear(t *testing.T) {
	const text = `{"verb":"delete","delete":{"path":"a","log":{"namespace":"a","cluster":"b","lineage":""}},"store":{"volume":{}}}`
	if _, err := jobspec.ParseOrder(text); err == nil || !strings.Contains(err.Error(), "no lineage") {
		t.Error(err)
	}
}

func TestLines(t *testing.T) {
	keys := int64(7)
	for _, line := range []jobspec.Line{
		{Progress: &jobspec.Progress{Read: 1, Total: 2, Rate: 3, Message: "uploading\nnext"}},
		{Found: &jobspec.Found{Path: "v1/a/b/c", Backup: jobspec.Facts{Keys: &keys, StartedAt: began}}},
		{Done: &jobspec.Done{}},
		{Done: &jobspec.Done{Located: &jobspec.Located{Path: "v1/a/b/c", Lineage: "c1-0", Revision: 18, At: began}}},
		{Done: &jobspec.Done{Check: &jobspec.Checked{}, Locked: began}},
		{Done: &jobspec.Done{Recorded: &jobspec.Recorded{Records: 3, Cut: jobspec.CutSize, From: 17, Since: began, Others: []string{"c1-1"}}}},
		{Failed: &jobspec.Failed{Reason: jobspec.StoreLocked, Until: began, Kind: "locked"}},
	} {
		var out bytes.Buffer
		if err := line.Write(&out); err != nil {
			t.Fatal(err)
		}
		if strings.Count(out.String(), "\n") != 1 || !strings.HasSuffix(out.String(), "\n") {
			t.Errorf("it is not one line: %q", out.String())
		}
		if got, ok := jobspec.Parse(out.Bytes()); !ok || !reflect.DeepEqual(got, line) {
			t.Errorf("%s is read as %+v", out.String(), got)
		}
	}
}

// TestWhatIsNoLine: a crash, or a library, prints into the same log.
func TestWhatIsNoLine(t *testing.T) {
	for _, text := range []string{
		"", "panic: runtime error", "{}", `{"level":"info"}`, "null", "[]", `"done"`, `{"done":null}`, `{"done":1}`,
	} {
		if line, ok := jobspec.Parse([]byte(text)); ok {
			t.Errorf("%q is a line: %+v", text, line)
		}
	}
}

func TestNobodyReadsTheLine(t *testing.T) {
	closed := errors.New("closed")
	if err := (jobspec.Line{Done: &jobspec.Done{}}).Write(failing{closed}); !errors.Is(err, closed) {
		t.Error(err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
