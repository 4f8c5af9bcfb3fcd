// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

func TestThrottle(t *testing.T) {
	for groups, want := range map[string]string{
		"0::/kubepods/pod1/etcd\n":                      "/sys/fs/cgroup/kubepods/pod1/etcd/io.max",
		"5:cpu,cpuacct:/a\n4:blkio:/pods/etcd\n0::/a\n": "/sys/fs/cgroup/blkio/pods/etcd/blkio.throttle.write_iops_device",
	} {
		if file, _, _ := throttle(groups); file != want {
			t.Errorf("%q: %s, want %s", groups, file, want)
		}
	}
}
