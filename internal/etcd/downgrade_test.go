// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/etcd-operator/etcd-operator/internal/cluster/crash"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// mixed is a cluster of two minor versions, such as one that goes from the newer to the older
// and back.
type mixed struct {
	*process.Cluster
	t            *testing.T
	members      []string
	newer, older string
	target       string // the minor version of older
}

func goingDown(t *testing.T, version string, members ...string) *mixed {
	return &mixed{
		Cluster: process.Run(t, version, len(members)), t: t, members: members, newer: version,
		older:  process.Versions[slices.Index(process.Versions, version)-1],
		target: must(below(version, 1))(t),
	}
}

func TestFault49Downgrade(t *testing.T) {
	ofVersions(t, process.Versions[1:], func(t *testing.T, version string) {
		m := goingDown(t, version, "m1", "m2", "m3")
		m.Lead("m1")
		m.isRefusedTooEarly()
		m.enable()
		m.letsNoMemberIn()
		m.enable()
		m.stopsHalfWay()
		m.enable()
		m.goesAllTheWay()
	})
}

// TestFault49DowngradeOfOne: the only member has gone down, and still lets no member join.
// It reports that when asked, and the downgrade can be cancelled.
func TestFault49DowngradeOfOne(t *testing.T) {
	ofVersions(t, process.Versions[1:], func(t *testing.T, version string) {
		m := goingDown(t, version, "m1")
		m.enable()
		m.run("m1", m.older)
		learner := m.add("m2")
		m.endsInVain("m2", m.older, barred)
		if goes := must(m.Client("m1").DowngradeEnabled(t.Context()))(t); !goes {
			t.Error("it says that it has ended")
		}
		want(t, "cancelling it", m.Client("m1").CancelDowngrade(t.Context()), nil)
		if goes := must(m.Client("m1").DowngradeEnabled(t.Context()))(t); goes {
			t.Error("it says that it goes on")
		}
		m.comesAndGoes("m2", m.older, learner)
	})
}

// barred is the answer of etcd to a member that it does not let join.
const barred = "incompatible with current running cluster"

// tooOld is what an etcd that is older than the cluster ends with: it knows the version from its
// log, or already from its database, whose version the newer etcd raises a moment after it started.
var tooOld = []string{"invalid downgrade; server version is lower", "is not supported"}

// isRefusedTooEarly: an etcd that is too old for the cluster ends.
func (m *mixed) isRefusedTooEarly() {
	m.Member("m3").Start(m.older, m.Joins("existing", m.members...)...)
	exitCode, log := m.Member("m3").Ended(), m.Member("m3").Log()
	why := crash.Why(exitCode, "Error", log)
	said := slices.ContainsFunc(tooOld, func(what string) bool { return strings.Contains(log, what) })
	if why != crash.Unknown || !said {
		m.t.Errorf("it is %s; it ended with %d after\n%s", why, exitCode, log)
	}
	m.run("m3", m.newer)
}

// enable asks a follower if there is one, and waits until each member could be changed. Their
// data must be of the newer version before: data that never went up is readable for the older,
// and the log is not. A member that replays the log ends, whether it is new or starts again after
// the downgrade has ended.
func (m *mixed) enable() {
	m.t.Helper()
	for _, name := range m.members {
		eventually(m.t, name+" to be of its own version", func() error { return isOfItsVersion(m.t, m.Client(name)) })
	}
	last := m.Client(m.members[len(m.members)-1])
	eventuallyReady(m.t, "a downgrade to be enabled", func() error { return last.Downgrade(m.t.Context(), m.target) })
	for _, name := range m.members {
		eventually(m.t, name+" to be ready for it", func() error {
			if status := m.Status(name); status.Downgrade != m.target || status.StorageVersion != m.target+".0" {
				return errors.New("can go to " + status.Downgrade + ", its data is of " + status.StorageVersion)
			}
			return nil
		})
	}
	want(m.t, "enabling it again", m.Client("m1").Downgrade(m.t.Context(), m.target), nil)
}

// letsNoMemberIn: a member that joins ends, whatever version it runs, until the downgrade is cancelled.
func (m *mixed) letsNoMemberIn() {
	learner := m.add("m4")
	for _, version := range []string{m.newer, m.older} {
		m.endsInVain("m4", version, barred)
	}
	want(m.t, "cancelling it", m.Client("m1").CancelDowngrade(m.t.Context()), nil)
	m.comesAndGoes("m4", m.newer, learner)
}

func (m *mixed) add(name string) (learner etcd.Member) {
	m.t.Helper()
	m.Add(name)
	eventuallyReady(m.t, name+" to be added", func() (err error) {
		learner, err = m.Client("m1").AddLearner(m.t.Context(), m.PeerURL(name))
		return err
	})
	return learner
}

func (m *mixed) endsInVain(name, version, because string) {
	m.t.Helper()
	joining := m.Member(name)
	joining.Start(version, m.Joins("existing", append(slices.Clone(m.members), name)...)...)
	if exitCode, log := joining.Ended(), joining.Log(); !strings.Contains(log, because) {
		m.t.Errorf("%s ended with %d after\n%s", version, exitCode, log)
	}
}

func (m *mixed) comesAndGoes(name, version string, learner etcd.Member) {
	m.t.Helper()
	m.Member(name).Start(version, m.Joins("existing", append(slices.Clone(m.members), name)...)...)
	eventuallyReady(m.t, name+" to be promoted", func() error { return m.Client("m1").Promote(m.t.Context(), learner.ID) })
	m.Serves(name)
	eventuallyReady(m.t, name+" to be removed", func() error { return m.Client("m1").Remove(m.t.Context(), learner.ID) })
	m.Member(name).Terminate()
}

// stopsHalfWay: after it was cancelled, members of the older version stay, and
// can start again. With one of them the cluster stays at the older version.
func (m *mixed) stopsHalfWay() {
	m.run("m3", m.older)
	want(m.t, "cancelling it", m.Client("m2").CancelDowngrade(m.t.Context()), nil)
	want(m.t, "cancelling it through the older member", m.Client("m3").CancelDowngrade(m.t.Context()), nil)
	for _, name := range m.members {
		if status := m.Status(name); status.Downgrade != "" {
			m.t.Errorf("%s still goes to %s", name, status.Downgrade)
		}
	}
	m.run("m3", m.older)
	want(m.t, "enabling it half way", m.Client("m1").Downgrade(m.t.Context(), m.target), etcd.ErrNotReady)

	m.run("m3", m.newer)
	eventually(m.t, "the cluster to be of the newer version again", func() error {
		if status := m.Status("m1"); status.StorageVersion == m.target+".0" {
			return errors.New("is still of " + m.target)
		}
		return nil
	})
}

// goesAllTheWay: when one has gone down and it is cancelled, a new member may join, and the
// others may go down as well. Nothing is left to end then.
func (m *mixed) goesAllTheWay() {
	m.run("m3", m.older)
	want(m.t, "cancelling it", m.Client("m2").CancelDowngrade(m.t.Context()), nil)
	m.comesAndGoes("m5", m.older, m.add("m5"))
	m.run("m2", m.older)
	m.run("m1", m.older)
	want(m.t, "a further one", m.validate(m.t.Context(), "m1", must(below(m.older, 1))(m.t)), nil)
	want(m.t, "cancelling it", m.Client("m1").CancelDowngrade(m.t.Context()), nil)
}

// validate asks without an effect. To enable or cancel a downgrade etcd 3.5
// never answers, although it does it.
func (m *mixed) validate(ctx context.Context, name, to string) error {
	connection, err := grpc.NewClient("passthrough:///"+m.Member(name).Client, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	request := &etcdserverpb.DowngradeRequest{Action: etcdserverpb.DowngradeRequest_VALIDATE, Version: to}
	_, err = etcdserverpb.NewMaintenanceClient(connection).Downgrade(ctx, request)
	return errors.Join(err, connection.Close())
}

func (m *mixed) run(name, version string) {
	m.t.Helper()
	m.Member(name).Terminate()
	m.Member(name).Start(version, m.Joins("existing", m.members...)...)
	m.Serves(name)
	if status := m.Status(name); status.Version != version {
		m.t.Errorf("%s runs %s, want %s", name, status.Version, version)
	}
}
