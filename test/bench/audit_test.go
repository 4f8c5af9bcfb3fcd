// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

const kubeletDeletes = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata",` +
	`"auditID":"414c32af-d4c5-4e3f-8af9-a771edcf5747","stage":"ResponseComplete",` +
	`"requestURI":"/api/v1/namespaces/demo/pods/example-2","verb":"delete",` +
	`"user":{"username":"system:node:node-1","groups":["system:nodes","system:authenticated"]},` +
	`"sourceIPs":["10.254.0.1"],"userAgent":"kubelet/v0.0.0 (linux/amd64) kubernetes/$Format",` +
	`"objectRef":{"resource":"pods","namespace":"demo","name":"example-2","apiVersion":"v1"},` +
	`"responseStatus":{"metadata":{},"code":200},"requestReceivedTimestamp":"2026-11-20T14:33:42.907126Z",` +
	`"stageTimestamp":"2026-11-20T14:33:42.915371Z","annotations":{"authorization.k8s.io/decision":"allow"}}` + "\n"

const schedulerBinds = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata",` +
	`"auditID":"f17d3ef7-c1cc-4cf8-a000-f89daac09e51","stage":"ResponseComplete",` +
	`"requestURI":"/api/v1/namespaces/kube-system/pods/coredns-5fd94b8967-fc57q/binding","verb":"create",` +
	`"user":{"username":"system:kube-scheduler","groups":["system:authenticated"]},` +
	`"userAgent":"kube-scheduler/v0.0.0 (linux/amd64) kubernetes/$Format/scheduler",` +
	`"objectRef":{"resource":"pods","namespace":"kube-system","name":"coredns-5fd94b8967-fc57q",` +
	`"uid":"256180e7-85cb-4ef3-8b1d-a816583a932a","apiVersion":"v1","subresource":"binding"},` +
	`"responseStatus":{"metadata":{},"status":"Success","code":201},` +
	`"requestReceivedTimestamp":"2026-11-20T14:29:38.802184Z","stageTimestamp":"2026-11-20T14:29:38.808854Z"}` + "\n"

const discovery = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","stage":"RequestReceived",` +
	`"requestURI":"/api","verb":"get","user":{"username":"system:serviceaccount:etcd-operator-system:` +
	`etcd-operator-controller-manager"},"userAgent":"etcd-operator/v0.1.0",` +
	`"requestReceivedTimestamp":"2026-11-20T14:33:32.609032Z","stageTimestamp":"2026-11-20T14:33:32.609032Z"}` + "\n"

func TestParseAudit(t *testing.T) {
	all, err := parseAudit([]byte(kubeletDeletes + schedulerBinds + discovery + `{"kind":"Ev`))
	if err != nil || len(all) != 3 {
		t.Fatalf("got %d requests and error %v, want 3: the last line is not complete", len(all), err)
	}
	deleted, bound, asked := all[0], all[1], all[2]
	if !deleted.isWrite() || !deleted.succeeded() || !deleted.isOn("pods") || deleted.Object.Name != "example-2" {
		t.Errorf("got %+v", deleted)
	}
	if took := deleted.StagedAt.Sub(deleted.Received); took != 8245*time.Microsecond {
		t.Errorf("the request took %s", took)
	}
	if bound.isOn("pods") || bound.Object.Subresource != "binding" {
		t.Errorf("a binding is not a Pod: %+v", bound)
	}
	if asked.isWrite() || asked.Stage != received || asked.Object.Resource != "" {
		t.Errorf("got %+v", asked)
	}
}

func TestParseAuditRefusesNonsense(t *testing.T) {
	if _, err := parseAudit([]byte("nonsense\n")); err == nil {
		t.Error("no error")
	}
}

func TestOperatorIsKnownByUserOrAgent(t *testing.T) {
	all, err := parseAudit([]byte(kubeletDeletes + discovery))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []operator{
		{user: "system:serviceaccount:etcd-operator-system:etcd-operator-controller-manager"},
		{user: "nobody", agent: "etcd-operator/"},
	} {
		if o.made(all[0]) || !o.made(all[1]) {
			t.Errorf("%+v is taken for the kubelet, or not for itself", o)
		}
	}
}

func TestAuditLogSince(t *testing.T) {
	log := auditLog(filepath.Join(t.TempDir(), "audit.log"))
	if _, err := log.end(); err == nil {
		t.Error("a log that does not exist has an end")
	}
	if err := os.WriteFile(string(log), []byte(kubeletDeletes), 0o600); err != nil {
		t.Fatal(err)
	}
	offset, err := log.end()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(string(log), []byte(kubeletDeletes+schedulerBinds), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := log.find(t.Context(), offset, "a binding", func(r request) bool { return r.Verb == "create" })
	if err != nil || shortUser(found.User.Username) != "kube-scheduler" {
		t.Errorf("found %v, error %v", found, err)
	}
	if all, err := log.since(offset); err != nil || len(all) != 1 {
		t.Errorf("got %d requests after the offset, error %v; want 1", len(all), err)
	}
}
