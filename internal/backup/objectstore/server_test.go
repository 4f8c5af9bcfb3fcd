// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstore_test

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/objectstore"
)

// world is a real server of one provider, and how a store of it is opened.
type world struct {
	address  string // host:port
	config   func(address string, ca []byte, prefix string) objectstore.Config
	refusals []refusal
}

// refusal is an answer that the real server never gives here, as its provider documents it.
type refusal struct {
	name   string
	status int
	body   string
	want   objectstore.Kind
	code   string // in the error
}

func (w world) open(t *testing.T, prefix string) objectstore.Store {
	t.Helper()
	return open(t, w.config("http://"+w.address, nil, prefix))
}

// run starts a server and waits until it listens. Its absence is a failure: a skipped test proves nothing.
func run(t *testing.T, address, program string, arguments ...string) {
	t.Helper()
	start(t, address, exec.Command(server(t, program), arguments...))
}

func start(t *testing.T, address string, command *exec.Cmd) {
	t.Helper()
	said := &output{}
	command.Stdout, command.Stderr = said, said
	must(t, command.Start())
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	t.Cleanup(func() {
		_ = command.Process.Kill() // it may have ended
		if t.Failed() {
			t.Logf("%s said:\n%s", command.Path, said.last())
		}
	})
	for {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			must(t, connection.Close())
			return
		}
		select {
		case err := <-ended:
			t.Fatalf("%s ended: %v\n%s", command.Path, err, said.last())
		case <-t.Context().Done():
			t.Fatalf("%s does not listen", command.Path)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// server is a program that hack/store-servers.sh has put there.
func server(t *testing.T, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("it needs servers of object stores: run `make test-stores`")
	}
	path := filepath.Join("..", "..", "..", "bin", "store-servers", name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run `make test-stores`, which builds it", err)
	}
	path, err := filepath.Abs(path)
	must(t, err)
	return path
}

// output keeps what a process said.
type output struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.text.Write(p)
}

func (o *output) last() string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	text := o.text.Bytes()
	return string(text[max(0, len(text)-4000):])
}
