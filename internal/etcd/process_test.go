// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

const owner = "default/example"

// realWorld runs etcd processes on the loopback interface, with TLS for both
// clients and peers.
type realWorld struct {
	folder   string
	pool     *etcd.Pool
	ca       pki.Pair
	operator pki.Pair
	config   *tls.Config // of the operator
	members  map[string]*realMember
}

type realMember struct {
	name, peer, client string // host:port
	arguments          []string
	process            *exec.Cmd
}

// binary finds etcd. Its absence is a failure: a skipped test proves nothing.
func binary(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("ETCD_BINARY"); path != "" {
		return path
	}
	if folder := os.Getenv("KUBEBUILDER_ASSETS"); folder != "" {
		path := filepath.Join(folder, "etcd")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	path, err := exec.LookPath("etcd")
	if err != nil {
		t.Fatal("these tests run a real etcd, and there is none: run `make tools` and set KUBEBUILDER_ASSETS, " +
			"or set ETCD_BINARY, or put etcd in PATH")
	}
	return path
}

func newRealWorld(t *testing.T, names ...string) *realWorld {
	t.Helper()
	w := &realWorld{folder: t.TempDir(), pool: etcd.NewPool(), members: map[string]*realMember{}}
	t.Cleanup(func() { w.pool.Keep(owner, nil) })
	w.ca = must(pki.NewCA(rand.Reader, time.Now(), "test", 24*time.Hour))(t)
	w.operator = w.issue(t, pki.Request{CommonName: "root", Client: true}) // whom etcd knows by this name
	w.config = must(pki.ClientConfig(w.ca.CertPEM, w.operator))(t)
	w.write(t, "ca.crt", w.ca.CertPEM)
	for _, name := range names {
		w.add(t, name)
	}
	return w
}

func (w *realWorld) issue(t *testing.T, request pki.Request) pki.Pair {
	t.Helper()
	request.Lifetime = time.Hour
	return must(pki.Issue(rand.Reader, time.Now(), w.ca, request))(t)
}

func (w *realWorld) write(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(w.folder, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// add prepares a member. The certificate for clients has only a DNS name and
// is for servers only, as that of a Pod whose IP address is not known before.
func (w *realWorld) add(t *testing.T, name string) {
	t.Helper()
	m := &realMember{name: name, peer: process.FreeAddress(t), client: process.FreeAddress(t)}
	forClients := w.issue(t, pki.Request{CommonName: name, DNSNames: []string{serverName(name)}, Server: true})
	forPeers := w.issue(t, pki.Request{CommonName: name, IPs: []net.IP{net.IPv4(127, 0, 0, 1)}, Server: true, Client: true})
	ca := filepath.Join(w.folder, "ca.crt")
	m.arguments = []string{
		"--name=" + name,
		"--data-dir=" + filepath.Join(w.folder, name),
		"--listen-client-urls=https://" + m.client,
		"--advertise-client-urls=https://" + m.client,
		"--listen-peer-urls=https://" + m.peer,
		"--initial-advertise-peer-urls=https://" + m.peer,
		"--cert-file=" + w.write(t, name+".crt", forClients.CertPEM),
		"--key-file=" + w.write(t, name+".key", forClients.KeyPEM),
		"--trusted-ca-file=" + ca,
		"--client-cert-auth",
		"--peer-cert-file=" + w.write(t, name+"-peer.crt", forPeers.CertPEM),
		"--peer-key-file=" + w.write(t, name+"-peer.key", forPeers.KeyPEM),
		"--peer-trusted-ca-file=" + ca,
		"--peer-client-cert-auth",
		"--log-level=error",
	}
	w.members[name] = m
}

func serverName(member string) string { return member + ".example.svc" }

func (w *realWorld) peerURL(name string) string { return "https://" + w.members[name].peer }

func (w *realWorld) target(t *testing.T, name string) etcd.Target {
	t.Helper()
	return etcd.Target{
		Instance:   name,
		Address:    w.members[name].client,
		ServerName: serverName(name),
		TLS:        w.config,
	}
}

func (w *realWorld) client(t *testing.T, name string) etcd.Client {
	t.Helper()
	return must(w.pool.Client(owner, w.target(t, name)))(t)
}

// start runs a member: m1 founds the cluster, and the others join m1.
func (w *realWorld) start(t *testing.T, name string) {
	t.Helper()
	arguments, founder := w.members[name].arguments, "m1=https://"+w.members["m1"].peer
	if name == "m1" {
		arguments = append(arguments, "--initial-cluster="+founder)
	} else {
		joined := fmt.Sprintf("%s,%s=https://%s", founder, name, w.members[name].peer)
		arguments = append(arguments, "--initial-cluster="+joined, "--initial-cluster-state=existing")
	}
	var output lockedBuilder
	command := exec.Command(binary(t), arguments...)
	command.Env = []string{} // etcd takes every ETCD_ variable for a flag
	command.Stdout, command.Stderr = &output, &output
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	w.members[name].process = command
	t.Cleanup(func() {
		w.stop(t, name)
		if t.Failed() {
			t.Logf("%s said:\n%s", name, output.String())
		}
	})
}

// stop kills the member as a lost node would, and waits until it is gone.
func (w *realWorld) stop(t *testing.T, name string) {
	t.Helper()
	running := w.members[name].process
	if running == nil {
		return
	}
	_ = running.Process.Kill() // it may have ended by itself, as removed members do
	_ = running.Wait()
	w.members[name].process = nil
}

// lockedBuilder collects the output of a process that may still write.
type lockedBuilder struct {
	mutex sync.Mutex
	text  strings.Builder
}

func (b *lockedBuilder) Write(output []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.Write(output)
}

func (b *lockedBuilder) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.String()
}
