// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package v1beta1_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// What is refused of backups and stores, and what the refusal says.
func TestRefusedBackups(t *testing.T) {
	for name, c := range map[string]struct{ kind, bad, good, says string }{
		"no-store-at-all": {"EtcdBackupStore", "{}", "{volume: {claim: c}}", "exactly one of s3, gcs, azure and volume"},
		"two-stores": {
			"EtcdBackupStore", "{volume: {claim: c}, gcs: {bucket: bbb}}", "{gcs: {bucket: bbb}}", "exactly one of s3, gcs, azure and volume",
		},
		"no-url": {
			"EtcdBackupStore", "{s3: {bucket: bbb, endpoint: minio}}", `{s3: {bucket: bbb, endpoint: "http://minio:9000"}}`, "must be a URL",
		},
		"a-path":  {"EtcdBackupStore", `{s3: {bucket: bbb, endpoint: "http://minio/x"}}`, "{s3: {bucket: bbb}}", "without a path"},
		"upwards": {"EtcdBackupStore", "{volume: {claim: c, path: a/../..}}", "{volume: {claim: c, path: a/b}}", "does not go up"},
		"two-authorities": {
			"EtcdBackupStore", "{s3: {bucket: bbb, ca: {secret: a, configMap: b}}}", "{s3: {bucket: bbb, ca: {secret: a}}}",
			"either a secret or a configMap",
		},
		"no-cluster":    {"EtcdBackup", "{store: s}", "{cluster: a}", "either the cluster that is to be backed up"},
		"found-nowhere": {"EtcdBackup", "{found: v1/a/b/c}", "{found: v1/a/b/c, store: s}", "found is a path in a store"},
		"snapshot-in-a-store": {
			"EtcdBackup", "{cluster: a, store: s, volumeSnapshot: {}}", "{cluster: a, volumeSnapshot: {className: fast}}", "without store",
		},
		"snapshot-encrypted": {
			"EtcdBackup", "{cluster: a, volumeSnapshot: {}, encryption: {recipients: [age1xyz]}}",
			"{cluster: a, volumeSnapshot: {}, verify: false, deletionPolicy: Delete}", "volumeSnapshot goes with cluster",
		},
		"no-target": {"EtcdRestore", "{backup: b}", "{cluster: a, backup: b}", "cluster"},
		"no-source": {"EtcdRestore", "{cluster: a}", "{cluster: a, store: s}", "either a backup, or a store with from"},
		"two-sources": {
			"EtcdRestore", "{cluster: a, backup: b, store: s}", "{cluster: a, store: s, from: {at: latest}}", "either a backup, or a store",
		},
		"from-nowhere": {
			"EtcdRestore", "{cluster: a, backup: b, from: {at: latest}}", "{cluster: a, backup: b, keepFor: 24h}", "from goes with store",
		},
		"at-what": {
			"EtcdRestore", "{cluster: a, store: s, from: {at: yesterday}}", `{cluster: a, store: s, from: {at: "48213"}}`, "must be latest",
		},
		"two-moments": {
			"EtcdRestore", `{cluster: a, store: s, from: {at: "17"}, target: {revision: 18}}`,
			"{cluster: a, store: s, from: {cluster: b}, target: {revision: 18}}", "from.at means a full backup alone",
		},
		"target-and-another": {
			"EtcdRestore", "{cluster: a, backup: b, target: {revision: 18, beforeDelete: /a}}",
			"{cluster: a, backup: b, target: {beforeDelete: /a}}", "exactly one of time, revision and beforeDelete",
		},
		"target-at-what": {
			"EtcdRestore", "{cluster: a, store: s, target: {time: 2026-11-24}}",
			`{cluster: a, store: s, target: {time: "2026-11-24T10:00:00.5Z", exclusive: true}}`, "must be a time such as",
		},
		"kept-for-long": {
			"EtcdRestore", "{cluster: a, backup: b, keepFor: 1m}", "{cluster: a, backup: b, keepFor: 10m}", "keepFor must be 10m or more",
		},
		"volumes-of-a-prefix": {
			"EtcdRestore", "{cluster: a, backup: b, prefix: /a, keepFor: 24h}", "{cluster: a, backup: b, prefix: /a}", "are about volumes",
		},
		"revisions-of-a-prefix": {
			"EtcdRestore", "{cluster: a, backup: b, prefix: /a, undoKeepRevisions: true}",
			"{cluster: a, store: s, prefix: /a, target: {revision: 18}, undo: true}", "are about volumes",
		},
		"no-recipient": {
			"EtcdBackup", "{cluster: a, encryption: {recipients: [key]}}", "{cluster: a, encryption: {recipients: [age1xyz]}}", "recipients",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := server.Create(t.Context(), ofKind(t, c.kind, name, c.bad), strict); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s is accepted, or refused without saying %q: %v", c.bad, c.says, err)
			}
			if err := server.Create(t.Context(), ofKind(t, c.kind, name, c.good), strict); err != nil {
				t.Errorf("%s is refused: %v", c.good, err)
			}
		})
	}
}

// A backup is of one cluster, in one store; a store stays of its kind.
func TestWhatStaysOfBackups(t *testing.T) {
	for name, c := range map[string]struct{ kind, from, bad, good string }{
		"cluster": {"EtcdBackup", "{cluster: a, store: s}", "{cluster: b, store: s}", "{cluster: a, store: s, deletionPolicy: Delete}"},
		"store":   {"EtcdBackup", "{cluster: a, store: s}", "{cluster: a}", "{cluster: a, store: s, decryption: {secret: age}}"},
		"snapshot": {
			"EtcdBackup", "{cluster: a, volumeSnapshot: {}}", "{cluster: a, volumeSnapshot: {className: other}}",
			"{cluster: a, volumeSnapshot: {}, deletionPolicy: Delete}",
		},
		"target": {
			"EtcdRestore", "{cluster: a, backup: b}", "{cluster: c, backup: b}", "{cluster: a, backup: b, confirm: a@2->1, skipSafetyBackup: true}",
		},
		"source": {
			"EtcdRestore", "{cluster: a, backup: b}", "{cluster: a, backup: c}", "{cluster: a, backup: b, undo: true, keepFor: 48h}",
		},
		"from": {
			"EtcdRestore", "{cluster: a, store: s}", "{cluster: a, store: s, from: {at: latest}}",
			"{cluster: a, store: s, decryption: {secret: age}}",
		},
		"moment": {
			"EtcdRestore", "{cluster: a, store: s, target: {revision: 18}}", "{cluster: a, store: s, target: {revision: 18, exclusive: true}}",
			"{cluster: a, store: s, target: {revision: 18}, confirm: a@20->18}",
		},
		"no-moment": {
			"EtcdRestore", "{cluster: a, store: s}", "{cluster: a, store: s, target: {revision: 18}}",
			"{cluster: a, store: s, skipSafetyBackup: true}",
		},
		"prefix": {
			"EtcdRestore", "{cluster: a, backup: b, prefix: /a}", "{cluster: a, backup: b, prefix: /b}",
			"{cluster: a, backup: b, prefix: /a, confirm: x}",
		},
		"no-prefix": {"EtcdRestore", "{cluster: a, backup: b}", "{cluster: a, backup: b, prefix: /b}", "{cluster: a, backup: b, confirm: x}"},
		"undone": {
			"EtcdRestore", "{cluster: a, backup: b, undo: true}", "{cluster: a, backup: b}", "{cluster: a, backup: b, undo: true, confirm: x}",
		},
		"kind": {"EtcdBackupStore", "{volume: {claim: c}}", "{gcs: {bucket: bbb}}", "{volume: {claim: d}}"},
	} {
		t.Run(name, func(t *testing.T) {
			object := ofKind(t, c.kind, "stays-"+name, c.from)
			if err := server.Create(t.Context(), object, strict); err != nil {
				t.Fatal(err)
			}
			bad := object.DeepCopy()
			bad.Object["spec"] = ofKind(t, c.kind, "", c.bad).Object["spec"]
			if err := server.Update(t.Context(), bad, strict); err == nil || !strings.Contains(err.Error(), "cannot") {
				t.Errorf("%s is accepted, or refused without a reason: %v", c.bad, err)
			}
			object.Object["spec"] = ofKind(t, c.kind, "", c.good).Object["spec"]
			if err := server.Update(t.Context(), object, strict); err != nil {
				t.Errorf("%s is refused: %v", c.good, err)
			}
		})
	}
}

// TestStoreStaysWhereItIs: once a store was used, its EtcdBackups stand for what is there. Before, a wrong name can be corrected.
func TestStoreStaysWhereItIs(t *testing.T) {
	for name, c := range map[string]struct{ from, good, bad string }{
		"bucket": {"{s3: {bucket: bbb}}", "{s3: {bucket: bbb, region: eu}}", "{s3: {bucket: ccc}}"},
		"endpoint": {
			`{s3: {bucket: bbb, endpoint: "http://a"}}`, `{s3: {bucket: bbb, endpoint: "http://a", pathStyle: true}}`, "{s3: {bucket: bbb}}",
		},
		"prefix": {"{gcs: {bucket: bbb}}", "{gcs: {bucket: bbb, credentials: {secret: s}}}", "{gcs: {bucket: bbb, prefix: x}}"},
		"container": {
			"{azure: {account: aaa, container: ccc}}", "{azure: {account: aaa, container: ccc, credentials: {secret: s}}}",
			"{azure: {account: aaa, container: ddd}}",
		},
		"claim":  {"{volume: {claim: c}}", "{volume: {claim: c}, serviceAccountName: a}", "{volume: {claim: d}}"},
		"folder": {"{volume: {claim: c, path: a}}", "{volume: {claim: c, path: a}, serviceAccountName: a}", "{volume: {claim: c, path: b}}"},
	} {
		t.Run(name, func(t *testing.T) {
			object := ofKind(t, "EtcdBackupStore", "where-"+name, c.bad)
			if err := server.Create(t.Context(), object, strict); err != nil {
				t.Fatal(err)
			}
			object.Object["spec"] = ofKind(t, "EtcdBackupStore", "", c.from).Object["spec"]
			if err := server.Update(t.Context(), object, strict); err != nil {
				t.Fatalf("a mistake cannot be corrected: %v", err)
			}
			object.Object["status"] = map[string]any{"triedAt": "2026-11-24T10:00:00Z"}
			if err := server.Status().Update(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			bad := object.DeepCopy()
			bad.Object["spec"] = ofKind(t, "EtcdBackupStore", "", c.bad).Object["spec"]
			err := server.Update(t.Context(), bad, strict)
			if err == nil || !strings.Contains(err.Error(), "cannot be changed after the store was used") {
				t.Errorf("%s is accepted, or refused without a reason: %v", c.bad, err)
			}
			object.Object["spec"] = ofKind(t, "EtcdBackupStore", "", c.good).Object["spec"]
			if err := server.Update(t.Context(), object, strict); err != nil {
				t.Errorf("%s is refused: %v", c.good, err)
			}
		})
	}
}

func ofKind(t *testing.T, kind, name, spec string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal([]byte("spec: "+spec), &object.Object); err != nil {
		t.Fatal(err)
	}
	object.SetGroupVersionKind(v1beta1.GroupVersion.WithKind(kind))
	object.SetNamespace("default")
	object.SetName(name)
	return object
}
