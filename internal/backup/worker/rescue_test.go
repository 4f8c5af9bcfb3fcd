// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// TestRescue: the volume of a member that does not run is backed up, with users and with what only its log has. The etcd of the Job's Pod
// answers only the Job, which is its root.
func TestRescue(t *testing.T) {
	for _, version := range process.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			r := newRunning(t, version, 1)
			r.fill(70)
			client := r.client(r.cluster, "m1")
			for _, step := range []func(context.Context) error{
				func(ctx context.Context) error { _, err := client.RoleAdd(ctx, "root"); return err },
				func(ctx context.Context) error { _, err := client.UserAdd(ctx, "root", "secret"); return err },
				func(ctx context.Context) error { _, err := client.UserGrantRole(ctx, "root", "root"); return err },
				func(ctx context.Context) error { _, err := client.AuthEnable(ctx); return err },
			} {
				must(t, step(t.Context()))
			}
			member := r.cluster.Member("m1")
			r.in.Folders.Member = filepath.Dir(member.Data)
			order := jobspec.Order{Verb: jobspec.Rescue, Operator: "0.5.0", Rescue: &jobspec.RescueOrder{DataDirectory: filepath.Base(member.Data)}}
			r.fails(order, jobspec.MemberFailed, false, "an etcd runs on")
			member.Stop()
			r.does(order)

			scratch := func(parts ...string) string {
				return filepath.Join(append([]string{r.in.Folders.Scratch}, parts...)...)
			}
			member.Data, r.in.Folders.Client = scratch(jobspec.ScratchData), scratch(jobspec.ScratchClient)
			endpoint := "https://" + member.Client
			member.Start(version, "--force-new-cluster", "--listen-client-urls="+endpoint, "--advertise-client-urls="+endpoint, "--client-cert-auth",
				"--cert-file="+scratch(jobspec.ScratchServer, "tls.crt"), "--key-file="+scratch(jobspec.ScratchServer, "tls.key"),
				"--trusted-ca-file="+scratch(jobspec.ScratchServer, "ca.crt"))
			if host, _, err := net.SplitHostPort(member.Client); err != nil || host != "127.0.0.1" {
				t.Fatalf("the certificate is for 127.0.0.1, and the member at %s: %v", member.Client, err)
			}
			backup := jobspec.Order{Verb: jobspec.Backup, Operator: "0.5.0", Backup: &jobspec.BackupOrder{
				ID: "uid-1", Name: "first", Namespace: "default", Cluster: "example", ClusterUID: "u", HashBelow: 1 << 30,
				Secure: true, Stopped: true, Members: []jobspec.Member{{Name: "m1", Address: member.Client}},
			}}
			done := r.does(backup)
			if done.Log == nil || done.Log.Term == 0 || done.Log.Index < 70 {
				t.Errorf("its log goes as far as %+v", done.Log)
			}
			if facts := done.Backup; facts == nil || facts.Revision != 71 || facts.Keys == nil || *facts.Keys != 70 || facts.EtcdVersion != version {
				t.Errorf("backed up %+v", done.Backup)
			}
			if again := r.does(backup); again.Backup.ManifestSHA256 != done.Backup.ManifestSHA256 || *again.Log != *done.Log {
				t.Errorf("a Job whose answer was lost says %+v", again)
			}
		})
	}
}
