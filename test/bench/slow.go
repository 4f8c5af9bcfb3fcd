// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// slowLeaderGoal is within how many seconds a leader is left whose disk has become many times slower than the others'.
	slowLeaderGoal = 60
	// slowRuns is how often that is measured at most: each time takes a cluster of its own that has run for some minutes.
	slowRuns = 3
	// comparedAfter is more than the two minutes for which a member that has begun to run is not compared with others.
	comparedAfter = 3 * time.Minute
	// slowWrites are the writes per second that the disk of the slow leader makes: one to the log takes a tenth of a second.
	slowWrites = 50
)

// slowLeader measures for how long a member leads on whose disk becomes slow, while a client writes.
func slowLeader(ctx context.Context, b *bench) ([]row, error) {
	var left sample
	runs := min(b.n, slowRuns)
	for i := range runs {
		took, err := b.slowOnce(ctx, fmt.Sprintf("slow-leader-%d", i))
		if err != nil {
			return nil, err
		}
		b.progress("%d of %d: another one leads after %.1f s", i+1, runs, took.Seconds())
		left.seconds(took)
	}
	return []row{alone("slow-leader", "s", left.percentile(100), atMost(slowLeaderGoal), left)}, nil
}

func (b *bench) slowOnce(ctx context.Context, name string) (took time.Duration, err error) {
	if _, err := b.apply(ctx, b.threeMembers(name)); err != nil {
		return 0, err
	}
	if err := b.calm(ctx, name, 3); err != nil {
		return 0, err
	}
	_, err = b.pulse(ctx, name, func() error {
		if err := sleep(ctx, comparedAfter); err != nil {
			return err
		}
		took, err = b.leftSlow(ctx, name)
		return err
	})
	if err != nil {
		return 0, err
	}
	return took, b.remove(ctx, name)
}

// leftSlow makes the leader's disk slow until another member leads.
func (b *bench) leftSlow(ctx context.Context, cluster string) (took time.Duration, err error) {
	now, err := b.serving(ctx, cluster, 3)
	if err != nil {
		return 0, err
	}
	limit, err := diskOf(string(now.leader.pod.UID))
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := limit(slowWrites); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, limit(0)) }()
	err = poll(ctx, "another leader than "+now.leader.pod.Name, blink, patience, func() (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		status, err := now.followers[0].member.Status(ctx)
		return err == nil && status.LeaderID != 0 && status.LeaderID != now.leader.status.MemberID, nil
	})
	return time.Since(begin), err
}

// diskOf sets how many writes per second the etcd of a Pod on this machine may make to the device of its data; 0 sets no limit. It is for
// either version of control groups.
func diskOf(uid string) (limit func(writes int) error, err error) {
	pid, err := etcdOf(uid)
	if err != nil {
		return nil, err
	}
	var data syscall.Stat_t
	if err := syscall.Stat(fmt.Sprintf("/proc/%d/root/var/lib/etcd", pid), &data); err != nil {
		return nil, fmt.Errorf("find the disk of pod %s: %w", uid, err)
	}
	device := fmt.Sprintf("%d:%d", data.Dev>>8&0xfff, data.Dev&0xff|data.Dev>>12&^0xff)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return nil, fmt.Errorf("find the control group of pod %s: %w", uid, err)
	}
	file, format, unlimited := throttle(string(text))
	return func(writes int) error {
		rate := unlimited
		if writes > 0 {
			rate = strconv.Itoa(writes)
		}
		err := os.WriteFile(file, fmt.Appendf(nil, format, device, rate), 0o600)
		if err != nil && (writes > 0 || !errors.Is(err, fs.ErrNotExist)) { // without the container there is no limit
			return fmt.Errorf("limit the disk of pod %s: %w", uid, err)
		}
		return nil
	}, nil
}

// throttle is where a process, by its file cgroup in /proc, is told how much it may write, and how.
func throttle(groups string) (file, format, unlimited string) {
	paths := map[string]string{}
	for line := range strings.Lines(groups) {
		if parts := strings.SplitN(strings.TrimSpace(line), ":", 3); len(parts) == 3 {
			paths[parts[1]] = parts[2]
		}
	}
	if path, first := paths["blkio"]; first {
		return filepath.Join("/sys/fs/cgroup/blkio", path, "blkio.throttle.write_iops_device"), "%s %s", "0"
	}
	return filepath.Join("/sys/fs/cgroup", paths[""], "io.max"), "%s wiops=%s", "max"
}
