// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/log"
	"github.com/etcd-operator/etcd-operator/internal/backup/worker"
)

// printed is what a process prints, and can be read meanwhile.
type printed struct {
	lock sync.Mutex
	all  bytes.Buffer
}

func (p *printed) Write(text []byte) (int, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.all.Write(text)
}

func (p *printed) read(t *testing.T) ([]jobspec.Line, *jobspec.Progress) {
	t.Helper()
	p.lock.Lock()
	defer p.lock.Unlock()
	lines, progress, err := jobspec.ReadLog(strings.NewReader(p.all.String()))
	must(t, err)
	return lines, progress
}

// TestStoppedLogIsWritten: a process that Kubernetes asks to end writes what it has read, long before it is time to flush.
func TestStoppedLogIsWritten(t *testing.T) {
	t.Parallel()
	r := newRunning(t, "3.6.16", 1)
	r.full()
	order := r.follow((*r.does(r.backup()).Backup).Revision)
	order.Follow.Flush = time.Hour
	put, err := r.client(r.cluster, "m1").Put(t.Context(), "late", "1")
	must(t, err)
	f := log.Folder{Namespace: "default", Cluster: "example", Lineage: order.Follow.Lineage}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, ended := &printed{}, make(chan int)
	in := r.in
	in.Out = out
	go func() { ended <- worker.Main(ctx, []string{onVolume(order).Encode()}, in) }()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, progress := out.read(t); progress != nil && progress.Follow != nil && progress.Follow.Waiting > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("waited a minute for a change to be read")
		}
	}
	if len(r.segments(f)) > 0 {
		t.Error("it was written before")
	}
	stop()
	if exit := <-ended; exit != worker.ExitDone {
		t.Errorf("it ends with %d", exit)
	}
	runs, err := log.Prove(f, r.segments(f))
	must(t, err)
	if len(runs) != 1 || runs[0].Last() != put.Header.Revision {
		t.Errorf("%+v of %d", runs, put.Header.Revision)
	}
	if lines, _ := out.read(t); len(lines) != 1 || lines[0].Done == nil {
		t.Errorf("%+v", lines)
	}
}
