// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/etcdtest"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

type fakeWorld struct{ *etcdtest.Cluster }

func (w fakeWorld) client(_ *testing.T, name string) etcd.Client { return w.Client(name) }
func (w fakeWorld) peerURL(name string) string                   { return etcdtest.PeerURL(name) }
func (w fakeWorld) stop(_ *testing.T, name string)               { w.Stop(name) }
func (w fakeWorld) start(_ *testing.T, name string) {
	w.Start(name)
	w.Sync(name)
}

func TestFakeConforms(t *testing.T) {
	for _, version := range process.Versions {
		t.Run(version, func(t *testing.T) {
			cluster := etcdtest.New("m1")
			cluster.SetVersion(version)
			conforms(t, fakeWorld{cluster})
		})
	}
}

func TestFakeFaults(t *testing.T) {
	lost := errors.New("response lost")
	cluster := etcdtest.New("m1", "m2", "m3")
	client := cluster.Client("m1")

	cluster.FailBefore(etcdtest.AddLearner, lost)
	_, err := client.AddLearner(t.Context(), etcdtest.PeerURL("m4"))
	want(t, "failing before the effect", err, lost)
	if log := cluster.Log(); len(log) > 0 {
		t.Errorf("took effect: %q", log)
	}

	cluster.FailAfter(etcdtest.AddLearner, lost)
	_, err = client.AddLearner(t.Context(), etcdtest.PeerURL("m4"))
	want(t, "failing after the effect", err, lost)
	added := must(client.AddLearner(t.Context(), etcdtest.PeerURL("m4")))(t)
	if log := cluster.Log(); !slices.Equal(log, []string{"add learner https://m4:2380"}) || added.ID != 4 {
		t.Errorf("took effect other than once: %q %+v", log, added)
	}
}

func TestFakeProtectsTheQuorum(t *testing.T) {
	cluster := etcdtest.New("m1", "m2", "m3")
	cluster.Stop("m1")
	client := cluster.Client("m2")
	if status := must(client.Status(t.Context()))(t); status.LeaderID != 2 {
		t.Errorf("no new leader: %+v", status)
	}
	_, err := client.AddLearner(t.Context(), etcdtest.PeerURL("m4"))
	want(t, "adding while one of three is down", err, etcd.ErrNotReady)
	want(t, "removing one of two that run", client.Remove(t.Context(), 3), etcd.ErrNotReady)
	want(t, "removing the one that is down", client.Remove(t.Context(), 1), nil)
	_, err = client.AddLearner(t.Context(), etcdtest.PeerURL("m4"))
	want(t, "adding afterwards", err, nil)
}
