// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestIdleRequestsAreCountedOnce(t *testing.T) {
	lines := []string{
		`{"stage":"RequestReceived","verb":"update","userAgent":"etcd-operator/v1","objectRef":{"resource":"leases"}}`,
		`{"stage":"ResponseComplete","verb":"update","userAgent":"etcd-operator/v1","objectRef":{"resource":"leases"}}`,
		`{"stage":"RequestReceived","verb":"watch","userAgent":"etcd-operator/v1","objectRef":{"resource":"pods"}}`,
		`{"stage":"RequestReceived","verb":"update","userAgent":"etcd-operator/v1","objectRef":{"resource":"etcdclusters"}}`,
		`{"stage":"RequestReceived","verb":"update","userAgent":"kubelet/v1","objectRef":{"resource":"pods"}}`,
	}
	all, err := parseAudit([]byte(strings.Join(lines, "\n") + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{options: options{operator: operator{agent: "etcd-operator/"}}}
	if writes, requests := b.idleRequests(all); writes != 1 || requests != 3 {
		t.Errorf("counted %d writes and %d requests, want 1 and 3", writes, requests)
	}
}

func TestResidentMiB(t *testing.T) {
	const status = "Name:\tmanager\nVmHWM:\t   70000 kB\nVmRSS:\t   65536 kB\nRssAnon:\t  1 kB\n"
	if got := residentMiB(status); got != 64 {
		t.Errorf("got %v MiB, want 64", got)
	}
	if got := residentMiB("Name:\tkthreadd\n"); got != 0 {
		t.Errorf("got %v MiB of a kernel thread", got)
	}
}
