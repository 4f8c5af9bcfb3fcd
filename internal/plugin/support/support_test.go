// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package support

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

var now = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

func object(t *testing.T, text string) unstructured.Unstructured {
	t.Helper()
	o := unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err, text)
	}
	return o
}

// canaries are inputs that hold a secret, %s, each where a user may have put one.
var canaries = map[string]string{
	"data of a Secret":    "{kind: Secret, metadata: {name: s, namespace: n}, data: {password: %s}}",
	"data of a ConfigMap": "{kind: ConfigMap, metadata: {name: c, namespace: n}, data: {ca.crt: %s}}",
	"binary data":         "{kind: ConfigMap, metadata: {name: c, namespace: n}, binaryData: {x: %s}}",
	"last applied":        `{kind: Pod, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"x":"%s"}'}}}`,
	"managed fields":      "{kind: Pod, metadata: {name: p, managedFields: [{manager: '%s'}]}}",
	"unknown annotation":  "{kind: Pod, metadata: {name: p, annotations: {vault.example/value: %s}}}",
	"annotation of Pods":  "{kind: EtcdCluster, metadata: {name: p}, spec: {podMetadata: {annotations: {example.com/x: %s}}}}",
	"variable":            "{kind: Pod, metadata: {name: p}, spec: {containers: [{env: [{name: X, value: %s}]}]}}",
	"variable of a Job":   "{kind: Job, metadata: {name: p}, spec: {template: {spec: {initContainers: [{env: [{name: X, value: %s}]}]}}}}",
	"header of a probe": "{kind: Pod, metadata: {name: p}, spec: {containers: [" +
		"{livenessProbe: {httpGet: {httpHeaders: [{name: X, value: %s}]}}}]}}",
	"flag":                "{kind: Pod, metadata: {name: p}, spec: {containers: [{args: [--auth-token=%s]}]}}",
	"flag and value":      "{kind: Pod, metadata: {name: p}, spec: {containers: [{command: [x, --password, %s]}]}}",
	"script":              "{kind: Pod, metadata: {name: p}, spec: {containers: [{command: [sh, -c, 'export API_KEY=%s; run']}]}}",
	"extra argument":      "{kind: EtcdCluster, metadata: {name: p}, spec: {etcd: {extraArgs: {auth-token: %s}}}}",
	"credential field":    "{kind: EtcdBackupStore, metadata: {name: p}, spec: {s3: {secretAccessKey: %s}}}",
	"user in an endpoint": "{kind: EtcdBackupStore, metadata: {name: p}, spec: {s3: {endpoint: 'https://user:%s@minio.example'}}}",
	"order of a Job": `{kind: Job, metadata: {name: p}, spec: {template: {spec: {containers: [` +
		`{args: [task, '{"spec":{"podMetadata":{"annotations":{"a.example/x":"%s"}}}}']}]}}}}`,
	"token in an order":      `{kind: Job, spec: {template: {spec: {containers: [{args: [task, '{"sessionToken":"%s"}']}]}}}}`,
	"signed URL in a status": "{kind: EtcdBackup, status: {message: 'GET https://x.example/b?X-Amz-Signature=%s&y=1: 403'}}",
	"bearer in a status":     "{kind: EtcdBackup, metadata: {name: p}, status: {message: 'Authorization: Bearer %s was refused'}}",
	"data of a CSI volume":   "{kind: Pod, metadata: {name: p}, spec: {volumes: [{csi: {volumeAttributes: {accountKey: %s}}}]}}",
}

// TestNoCanaryGetsOut: whatever is put into a bundle, no secret is in its archive; not where it was, and not where it is repeated.
func TestNoCanaryGetsOut(t *testing.T) {
	b := Bundle{Name: "r", At: now}
	var all []string
	for place, text := range canaries {
		canary := fmt.Sprintf("Canary7%03dx", len(all))
		all = append(all, canary)
		b.Objects = append(b.Objects, object(t, fmt.Sprintf(text, canary)))
		t.Log(canary, place)
	}
	logged := []string{
		`{"msg":"opening","token":"Canary8001x"}`, `level=error secretAccessKey=Canary8002x`, `Authorization: Bearer Canary8003x`,
		"https://user:Canary8004x@etcd.example:2379 refused", "-----BEGIN EC PRIVATE KEY-----\nCanary8005x\n-----END EC PRIVATE KEY-----",
		"-----BEGIN RSA PRIVATE KEY-----\nCanary8006x", "AGE-SECRET-KEY-1CANARY8007X", "AKIACANARY8008XXXXXX", "?sv=2024&sig=Canary8009x",
		"eyJhbGciOi.eyJDYW5hcnk4MDEw.Canary8010x", "\x1b[36mpassword\x1b[0m=Canary8014x",
	}
	for _, line := range logged {
		b.Logs = append(b.Logs, Log{Namespace: "n", Pod: fmt.Sprint("p", len(b.Logs)), Container: "etcd", Text: line})
	}
	event := object(t, "{kind: Event, metadata: {name: e}, message: 'password=Canary8011x'}")
	b.Events = append(b.Events, event)
	b.Status, b.Unread = "token: Canary8012x", []string{"list Pods: Bearer Canary8013x"}
	out := strings.ToLower(unpacked(t, b))
	for _, canary := range append(all, "canary8", "8007x", "8008xxx", "/secret/") {
		if strings.Contains(out, strings.ToLower(canary)) {
			t.Errorf("%s is in the archive", canary)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// TestRedactedEverywhere: what is a secret in one place is taken out where nothing shows that it is one.
func TestRedactedEverywhere(t *testing.T) {
	b := Bundle{
		Name: "r", At: now, Logs: []Log{{Namespace: "n", Pod: "p", Container: "c", Text: "dialing with s3cr3t-value now"}},
		Objects: []unstructured.Unstructured{
			object(t, "{kind: EtcdCluster, metadata: {name: a}, status: {message: 's3cr3t-value was refused'}}"),
			object(t, "{kind: Pod, metadata: {name: p}, spec: {containers: [{env: [{name: DB_PASSWORD, value: s3cr3t-value}]}]}}"),
		},
	}
	if out := unpacked(t, b); strings.Contains(out, "s3cr3t-value") {
		t.Error(out)
	}
}

// TestEscapesAreDropped: a file of the bundle does nothing to the terminal in which it is read, and a control character in a status
// does not keep the bundle from being written.
func TestEscapesAreDropped(t *testing.T) {
	escapes := "\x1b[31mred\x1b]0;title\a \u009b2J end\r"
	o := object(t, "{kind: EtcdCluster, metadata: {name: a}}")
	o.Object["status"] = map[string]any{"message": escapes, "all": []any{escapes}}
	event := object(t, "{kind: Event, metadata: {name: e}}")
	event.Object["message"] = escapes
	b := Bundle{
		Name: "r", At: now, Objects: []unstructured.Unstructured{o}, Events: []unstructured.Unstructured{event}, Status: escapes,
		Logs: []Log{{Namespace: "n", Pod: "p", Container: "c", Text: escapes}}, Unread: []string{escapes},
	}
	out := unpacked(t, b)
	if strings.ContainsAny(out, "\x1b\a\r\u009b") || strings.Contains(out, `\e[`) || strings.Count(out, "red]0;title 2J end") != 6 {
		t.Errorf("%q", out)
	}
}

// TestUsefulStays: what helps to find a fault is still there: names of Secrets, flags, images, conditions, annotations of ours.
func TestUsefulStays(t *testing.T) {
	b := Bundle{
		Name: "a-report", Version: "1.2.3", At: now, Status: "default/a: Healthy\n", Unread: []string{"Deployments: forbidden"},
		Objects: []unstructured.Unstructured{
			object(t, `
kind: Pod
metadata:
  name: a-0
  namespace: default
  uid: 0c6f5d3a-uid
  annotations: {etcd-operator.dev/template: "3f2a"}
spec:
  containers:
  - image: registry.example/etcd:v3.6.16
    args: [--name=a-0, "--initial-cluster=a-0=https://a-0.a:2380", --quota-backend-bytes=1000,
      --initial-cluster-token=0c6f5d3a-uid, --client-cert-auth=true]
    env: [{name: X, valueFrom: {secretKeyRef: {name: keys, key: password}}}, {name: IMAGE, value: registry.example/etcd:v3.6.16}]
  volumes: [{name: client, secret: {secretName: a-client}}]
`),
			object(t, "{kind: EtcdBackupStore, metadata: {name: s, namespace: default}, spec: {s3: {bucket: b, credentials: {secret: keys}}}}"),
		},
		Logs: []Log{{Namespace: "default", Pod: "a-0", Container: "etcd", Text: `{"level":"info","msg":"elected leader"}`, Previous: true}},
		Events: []unstructured.Unstructured{object(t, "{kind: Event, metadata: {name: e}, lastTimestamp: '2026-11-24T11:00:00Z', type: Normal, "+
			"reason: Started, involvedObject: {kind: Pod, name: a-0}, message: started}")},
	}
	out := unpacked(t, b)
	for _, part := range []string{
		"registry.example/etcd:v3.6.16", "--name=a-0", "--initial-cluster=a-0=https://a-0.a:2380", "--quota-backend-bytes=1000",
		"--initial-cluster-token=0c6f5d3a-uid", "--client-cert-auth=true", "name: keys",
		"secretName: a-client", "secret: keys", "etcd-operator.dev/template: 3f2a", "elected leader", "Normal Started Pod/a-0: started",
		"default/a: Healthy", "Deployments: forbidden", "a-report/objects/default/pod/a-0.yaml", "a-report/logs/default/a-0/etcd.previous.log",
		"kubectl etcd 1.2.3 at 2026-11-24T12:00:00Z",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is missing", part)
		}
	}
	if strings.Contains(out, "value: registry") {
		t.Error("values of variables are redacted")
	}
	if t.Failed() {
		t.Log(out)
	}
}

// TestRelated: what has the cluster's label, or is a Job for it, belongs to it; its neighbour's does not.
func TestRelated(t *testing.T) {
	r := Related{Cluster: "a", Backups: []string{"b1"}, Stores: []string{"s"}}
	tests := map[string]bool{
		"etcd-operator.dev/cluster: a": true, "etcd-operator.dev/cluster: ab": false, "etcd-operator.dev/restores: a": true,
		"etcd-operator.dev/backup: b1": true, "etcd-operator.dev/backup: b2": false, "etcd-operator.dev/store: s": true, "x: y": false,
		"{etcd-operator.dev/backup: b2, etcd-operator.dev/store: s}": false,
	}
	for labels, want := range tests {
		if !strings.HasPrefix(labels, "{") {
			labels = "{" + labels + "}"
		}
		o := object(t, "{metadata: {labels: "+labels+"}}")
		if r.Has(&o) != want {
			t.Errorf("%s: %v", labels, !want)
		}
	}
}

// TestJSONInArguments: an order of a Job stays JSON.
func TestJSONInArguments(t *testing.T) {
	r := &redactor{known: map[string]bool{}}
	is := r.text("", `{"verb":"backup","store":{"s3":{"bucket":"b"}},"spec":{"x":{"token":"abc"}}}`)
	var order map[string]any
	if err := json.Unmarshal([]byte(is), &order); err != nil || !strings.Contains(is, `"bucket":"b"`) || strings.Contains(is, "abc") {
		t.Error(is, err)
	}
}

// unpacked is all that is in the archive of a bundle, with the names of files.
func unpacked(t *testing.T, b Bundle) string {
	t.Helper()
	files, err := Files(b)
	if err != nil {
		t.Fatal(err)
	}
	var packed, again, all bytes.Buffer
	if err := Write(&packed, b.Name, b.At, files); err != nil {
		t.Fatal(err)
	}
	if err := Write(&again, b.Name, b.At, files); err != nil || !bytes.Equal(packed.Bytes(), again.Bytes()) {
		t.Error("the same files are other bytes:", err)
	}
	unzipped, err := gzip.NewReader(&packed)
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return all.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString("## " + header.Name + "\n")
		if _, err := io.Copy(&all, archive); err != nil {
			t.Fatal(err)
		}
	}
}
