// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
	"github.com/etcd-operator/etcd-operator/internal/restore/datadir"
)

// TestOfSnapshot: a copy of the volume of a member that was killed, as a VolumeSnapshot has it, is tried, and the data directory of a
// member of another cluster is made of it, with what only the log has.
func TestOfSnapshot(t *testing.T) {
	for _, release := range process.Versions {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			r := newRunning(t, release, 1)
			r.fill(70)
			member := r.cluster.Member("m1")
			member.Stop()
			scratch := func(parts ...string) string {
				return filepath.Join(append([]string{r.in.Folders.Scratch}, parts...)...)
			}
			must(t, os.CopyFS(scratch(jobspec.ScratchData), os.DirFS(member.Data)))
			rescue := jobspec.Order{Verb: jobspec.Rescue, Operator: "0.5.0", Rescue: &jobspec.RescueOrder{
				DataDirectory: jobspec.ScratchData, InPlace: true,
			}}
			r.does(rescue)
			r.does(rescue) // again, after its Pod was lost

			member.Data, r.in.Folders.Client, r.in.Folders.Trial = scratch(jobspec.ScratchData), scratch(jobspec.ScratchClient), member.Client
			endpoint := "https://" + member.Client
			member.Start(release, "--force-new-cluster", "--listen-client-urls="+endpoint, "--advertise-client-urls="+endpoint, "--client-cert-auth",
				"--cert-file="+scratch(jobspec.ScratchServer, "tls.crt"), "--key-file="+scratch(jobspec.ScratchServer, "tls.key"),
				"--trusted-ca-file="+scratch(jobspec.ScratchServer, "ca.crt"))
			trial := jobspec.TrialOrder{Path: "b-1", Minor: version.MinorOf(release), Stopped: true, Least: 71}
			verified := r.does(jobspec.Order{Verb: jobspec.Verify, Operator: "0.5.0", Trial: &trial})
			if got := verified.Trial; got == nil || got.Revision != 71 || got.Keys != 70 || got.ClusterVersion != release {
				t.Errorf("tried: %+v", got)
			}
			later := trial
			later.Least = 72
			r.fails(jobspec.Order{Verb: jobspec.Verify, Operator: "0.5.0", Trial: &later}, jobspec.Different, true, "has revision 71, and it was 72")

			r.in.Folders.Member = t.TempDir()
			restore := jobspec.Order{Verb: jobspec.Restore, Operator: "0.5.0", Restore: &jobspec.RestoreOrder{
				Path: "b-1", Stopped: true, DataDirectory: "data", Member: "n1", InitialCluster: map[string]string{"n1": "http://127.0.0.1:9"},
				Token: "t", Minor: version.MinorOf(release), Bump: 1000,
			}}
			r.does(restore)
			r.does(restore)
			info, err := datadir.Inspect(t.Context(), filepath.Join(r.in.Folders.Member, "data", "member", "snap", "db"), func(datadir.Progress) {})
			must(t, err)
			if info.Revision != 1071 || info.Keys != 70 {
				t.Errorf("restored: %+v", info)
			}
		})
	}
}
