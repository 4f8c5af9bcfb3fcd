// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	manyClusters = 10
	// settling is longer than the operator's own pause between two looks.
	settling = 100 * time.Second
	// The operator's memory may grow by so much a cluster.
	baseMiB, clusterMiB = 64, 0.1
)

var errNoLeader = errors.New("the operator does not run in a Pod of this machine")

// idle counts the requests of the operator while there is nothing to do.
func idle(ctx context.Context, b *bench) ([]row, error) {
	var rows []row
	var made []string
	for i := range manyClusters {
		name := fmt.Sprintf("idle-%d", i)
		if _, err := b.apply(ctx, b.smallest(name)); err != nil {
			return nil, err
		}
		made = append(made, name)
		if count := len(made); count != 1 && count != manyClusters {
			continue
		}
		counted, err := b.countIdle(ctx, made)
		if err != nil {
			return nil, err
		}
		rows = append(rows, counted...)
	}
	memory, err := b.memoryRow(ctx)
	if err != nil {
		return nil, err
	}
	rows = append(rows, memory...)
	for _, name := range made {
		if err := b.remove(ctx, name); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func (b *bench) countIdle(ctx context.Context, clusters []string) ([]row, error) {
	for _, cluster := range clusters {
		if err := b.settle(ctx, cluster); err != nil {
			return nil, err
		}
	}
	writes, requests, err := b.countSettled(ctx, len(clusters))
	if err != nil {
		return nil, err
	}
	count := strconv.Itoa(len(clusters))
	perSecond := sample{}
	perSecond.add(float64(requests) / b.options.idle.Seconds())
	rows := []row{alone("idle-requests-"+count, "requests/s", perSecond[0], atMost(0.6), perSecond)}
	if len(clusters) == manyClusters {
		rows = append(rows, alone("idle-writes-"+count, "requests", float64(writes), atMost(0), sample{float64(writes)}))
	}
	return rows, nil
}

// countSettled counts the requests of the operator for so many clusters that have just settled.
func (b *bench) countSettled(ctx context.Context, clusters int) (writes, requests int, err error) {
	pause := min(settling, b.options.idle)
	b.progress("%d clusters settle for %s and are then watched for %s", clusters, pause, b.options.idle)
	if err := sleep(ctx, pause); err != nil {
		return 0, 0, err
	}
	offset, err := b.log.end()
	if err != nil {
		return 0, 0, err
	}
	if err := sleep(ctx, b.options.idle); err != nil {
		return 0, 0, err
	}
	all, err := b.log.since(offset)
	if err != nil {
		return 0, 0, err
	}
	writes, requests = b.idleRequests(all)
	b.progress("%d requests, %d of them writes of anything but the lease", requests, writes)
	return writes, requests, nil
}

// idleRequests counts each request once, as it is received: a watch that was opened
// before does not count, one that is opened again does.
func (b *bench) idleRequests(all []request) (writes, requests int) {
	kinds := map[string]int{}
	for _, r := range all {
		if r.Stage != received || !b.operator.made(r) {
			continue
		}
		requests++
		kinds[r.Verb+" "+r.Object.Resource]++
		if r.isWrite() && r.Object.Resource != "leases" {
			writes++
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		b.progress("%4d  %s", kinds[kind], kind)
	}
	return writes, requests
}

func (b *bench) memoryRow(ctx context.Context) ([]row, error) {
	resident, err := b.leaderMemory(ctx)
	if errors.Is(err, errNoLeader) {
		b.progress("no memory measured: %v", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	b.progress("the leader holds %.1f MiB", resident)
	return []row{alone("memory-10", "MiB", resident, atMost(baseMiB+clusterMiB*manyClusters), sample{resident})}, nil
}

// leaderMemory is the resident memory of the operator's Pod that holds the lease.
func (b *bench) leaderMemory(ctx context.Context) (float64, error) {
	var lease coordinationv1.Lease
	err := b.client.Get(ctx, leaseKey, &lease)
	if client.IgnoreNotFound(err) != nil {
		return 0, fmt.Errorf("get the lease: %w", err)
	}
	name, _, _ := strings.Cut(ptr.Deref(lease.Spec.HolderIdentity, ""), "_")
	if name == "" {
		return 0, errNoLeader
	}
	var pod corev1.Pod
	err = b.client.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: name}, &pod)
	if client.IgnoreNotFound(err) != nil {
		return 0, fmt.Errorf("get the operator's pod: %w", err)
	}
	if err != nil {
		return 0, errNoLeader
	}
	return residentOf(string(pod.UID))
}

// residentOf is the memory of the largest process of a Pod: the others only hold
// the Pod together.
func residentOf(uid string) (float64, error) {
	processes, err := processesOf(uid)
	if err != nil {
		return 0, err
	}
	largest := 0.0
	for _, process := range processes {
		status, err := os.ReadFile(filepath.Join(process, "status"))
		if err != nil { // it has ended
			continue
		}
		largest = max(largest, residentMiB(string(status)))
	}
	if largest == 0 {
		return 0, errNoLeader
	}
	return largest, nil
}

// residentMiB reads VmRSS of /proc/PID/status
// (https://man7.org/linux/man-pages/man5/proc_pid_status.5.html).
func residentMiB(status string) float64 {
	for line := range strings.Lines(status) {
		rest, ok := strings.CutPrefix(line, "VmRSS:")
		if !ok {
			continue
		}
		kilobytes, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 64)
		if err != nil {
			return 0
		}
		return kilobytes / 1024
	}
	return 0
}
