// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process runs real etcd processes, of every minor version that member
// images are made of, for tests. It is never part of the operator.
//
// They talk plain HTTP on the loopback interface, and find a leader quickly.
package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Versions are all that images are made of, oldest first.
var Versions = []string{"3.5.35", "3.6.16", "3.7.3"}

// patience is for what etcd does in its own time, such as a change of its
// version, which it looks at every four seconds, and for a sync of its log on a
// disk that other tests fill: twenty seconds were seen. A longer wait costs only
// what fails.
const patience = 3 * time.Minute

// binary finds etcd where the local cluster keeps what it built. Its absence is
// a failure: a skipped test proves nothing.
func binary(t testing.TB, version string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(cache, "etcd-operator", "devcluster", "etcd-"+version+"-*", "etcd"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no etcd %s: run `make test-etcd`, which builds it (%v)", version, err)
	}
	return found[len(found)-1]
}

// Member is one etcd and its data directory.
type Member struct {
	Name, Data   string
	Peer, Client string // host:port
	t            testing.TB
	output       *os.File
	process      *exec.Cmd
	exited       chan struct{}
}

// Start runs the member. All flags but those of joining are given already.
func (m *Member) Start(version string, flags ...string) {
	m.t.Helper()
	m.Stop()
	output, err := os.CreateTemp(filepath.Dir(m.Data), m.Name+".log.")
	if err != nil {
		m.t.Fatal(err)
	}
	m.output = output
	m.process = exec.Command(binary(m.t, version), append(m.arguments(), flags...)...)
	m.process.Env = []string{} // etcd takes every ETCD_ variable for a flag
	m.process.Stdout, m.process.Stderr = output, output
	if err := m.process.Start(); err != nil {
		m.t.Fatal(err)
	}
	exited, process := make(chan struct{}), m.process
	m.exited = exited
	go func() {
		_ = process.Wait() // its state is read where it is waited for
		close(exited)
	}()
}

func (m *Member) arguments() []string {
	return []string{
		"--name=" + m.Name,
		"--data-dir=" + m.Data,
		"--listen-client-urls=http://" + m.Client,
		"--advertise-client-urls=http://" + m.Client,
		"--listen-peer-urls=http://" + m.Peer,
		"--initial-advertise-peer-urls=http://" + m.Peer,
		"--heartbeat-interval=50", "--election-timeout=500",
		"--snapshot-count=50",
	}
}

// Stop kills the member, as a lost node would, and waits until it is gone.
func (m *Member) Stop() { m.end(syscall.SIGKILL) }

// Terminate ends the member as Kubernetes would.
func (m *Member) Terminate() { m.end(syscall.SIGTERM) }

func (m *Member) end(signal syscall.Signal) {
	if m.process == nil {
		return
	}
	_ = m.process.Process.Signal(signal) // it may have ended by itself
	<-m.exited
	m.process = nil
	_ = m.output.Close() // nothing writes to it any more
}

// Ended waits until the member ends by itself, and returns its exit code.
func (m *Member) Ended() int32 {
	m.t.Helper()
	select {
	case <-m.exited:
	case <-time.After(patience):
		m.t.Fatalf("%s still runs; it said:\n%s", m.Name, m.Log())
	}
	return int32(m.process.ProcessState.ExitCode()) //nolint:gosec // exit codes are small
}

// Log is all that the member printed since it started last.
func (m *Member) Log() string {
	m.t.Helper()
	content, err := os.ReadFile(m.output.Name())
	if err != nil {
		m.t.Fatal(err)
	}
	return string(content)
}

// last is the end of the log, if the member ever ran.
func (m *Member) last() string {
	if m.output == nil {
		return ""
	}
	log := m.Log()
	return log[max(0, len(log)-1<<13):]
}

// Put writes a key through the member.
func (m *Member) Put(ctx context.Context, key, value string) error {
	connection, err := grpc.NewClient("passthrough:///"+m.Client, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	_, err = etcdserverpb.NewKVClient(connection).Put(ctx, &etcdserverpb.PutRequest{Key: []byte(key), Value: []byte(value)})
	return errors.Join(err, connection.Close())
}

// Holds says whether the member's own data has the key.
func (m *Member) Holds(ctx context.Context, key string) (bool, error) {
	connection, err := grpc.NewClient("passthrough:///"+m.Client, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return false, err
	}
	request := &etcdserverpb.RangeRequest{Key: []byte(key), Serializable: true, CountOnly: true}
	response, err := etcdserverpb.NewKVClient(connection).Range(ctx, request)
	return response.GetCount() > 0, errors.Join(err, connection.Close())
}
