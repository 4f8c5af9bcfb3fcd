// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// deadProxy is an address where nothing listens.
const deadProxy = "http://127.0.0.1:9"

// TestNoProxyIsUsed: an operator whose environment names a proxy still asks members
// directly. It runs again in a process of its own, because Go reads the environment for
// this only once.
func TestNoProxyIsUsed(t *testing.T) {
	if os.Getenv("HTTPS_PROXY") == deadProxy {
		membersAreAskedDirectly(t)
		return
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNoProxyIsUsed$", "-test.v")
	command.Env = append(os.Environ(),
		"HTTP_PROXY="+deadProxy, "HTTPS_PROXY="+deadProxy, "NO_PROXY=", "http_proxy="+deadProxy, "https_proxy="+deadProxy, "no_proxy=")
	output, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "--- PASS: TestNoProxyIsUsed") {
		t.Errorf("%v\n%s", err, output)
	}
}

func membersAreAskedDirectly(t *testing.T) {
	w := newRealWorld(t, "m1")
	metrics := process.FreeAddress(t)
	w.members["m1"].arguments = append(w.members["m1"].arguments, "--listen-metrics-urls=http://"+metrics)
	w.start(t, "m1")
	target := w.target(t, "m1")
	target.Address, metrics = reached(t, target.Address), reached(t, metrics)
	if response, err := http.Get("http://" + metrics); err == nil {
		_ = response.Body.Close()
		t.Fatal("this process uses no proxy at all: the test shows nothing")
	}

	client := must(w.pool.Client(owner, target))(t)
	eventually(t, "m1 to serve", func() error { return client.Read(t.Context()) })
	eventually(t, "m1 to report what it has", func() error {
		remains, err := etcd.ReadRemains(t.Context(), metrics)
		if err == nil && remains.Members != 1 {
			t.Errorf("remains: %+v", remains)
		}
		return err
	})
}

// reached is the same address under a name for this machine that Go does not exempt from
// proxies, as it does 127.0.0.1.
func reached(t *testing.T, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("0.0.0.0", port)
}
