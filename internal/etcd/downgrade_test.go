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

	"github.com/etcd-operator/etcd-operator/internal/crash"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// mixed is a cluster of three that goes from one minor version to the one
// before, and back.
type mixed struct {
	*process.Cluster
	t            *testing.T
	newer, older string
	target       string // the minor version of older
}

var three = []string{"m1", "m2", "m3"}

func TestFault49Downgrade(t *testing.T) {
	ofVersions(t, process.Versions[1:], func(t *testing.T, version string) {
		m := mixed{
			Cluster: process.Run(t, version, 3), t: t, newer: version,
			older:  process.Versions[slices.Index(process.Versions, version)-1],
			target: must(below(version, 1))(t),
		}
		m.Lead("m1")
		m.isRefusedTooEarly()
		m.enable()
		m.letsNobodyIn()
		m.enable()
		m.stopsHalfWay()
		m.enable()
		m.goesAllTheWay()
	})
}

// isRefusedTooEarly: an etcd that is too old for the cluster ends.
func (m *mixed) isRefusedTooEarly() {
	m.Member("m3").Start(m.older, m.Joins("existing", three...)...)
	exitCode, log := m.Member("m3").Ended(), m.Member("m3").Log()
	if why := crash.Why(exitCode, "Error", log); why != crash.TooOld {
		m.t.Errorf("it is %s; it ended with %d after\n%s", why, exitCode, log)
	}
	m.run("m3", m.newer)
}

// enable asks a follower, and waits until each member could be changed.
func (m *mixed) enable() {
	m.t.Helper()
	eventuallyReady(m.t, "a downgrade to be enabled", func() error { return m.Client("m2").Downgrade(m.t.Context(), m.target) })
	for _, name := range three {
		eventually(m.t, name+" to be ready for it", func() error {
			if status := m.Status(name); status.Downgrade != m.target || status.StorageVersion != m.target+".0" {
				return errors.New("can go to " + status.Downgrade + ", its data is of " + status.StorageVersion)
			}
			return nil
		})
	}
	want(m.t, "enabling it again", m.Client("m1").Downgrade(m.t.Context(), m.target), nil)
}

// letsNobodyIn: who joins ends, whatever version it runs, until the downgrade is cancelled.
func (m *mixed) letsNobodyIn() {
	joining := m.Add("m4")
	var learner etcd.Member
	eventuallyReady(m.t, "m4 to be added", func() (err error) {
		learner, err = m.Client("m1").AddLearner(m.t.Context(), m.PeerURL("m4"))
		return err
	})
	flags := m.Joins("existing", append(slices.Clone(three), "m4")...)
	for _, version := range []string{m.newer, m.older} {
		joining.Start(version, flags...)
		if exitCode, log := joining.Ended(), joining.Log(); !strings.Contains(log, "incompatible with current running cluster") {
			m.t.Errorf("%s ended with %d after\n%s", version, exitCode, log)
		}
	}
	want(m.t, "cancelling it", m.Client("m1").CancelDowngrade(m.t.Context()), nil)
	joining.Start(m.newer, flags...)
	eventuallyReady(m.t, "m4 to be promoted", func() error { return m.Client("m1").Promote(m.t.Context(), learner.ID) })
	m.Serves("m4")
	eventuallyReady(m.t, "m4 to be removed", func() error { return m.Client("m1").Remove(m.t.Context(), learner.ID) })
	joining.Terminate()
}

// stopsHalfWay: after it was cancelled, members of the older version stay, and
// can start again. With one of them the cluster stays at the older version.
func (m *mixed) stopsHalfWay() {
	m.run("m3", m.older)
	want(m.t, "cancelling it", m.Client("m2").CancelDowngrade(m.t.Context()), nil)
	want(m.t, "cancelling it through the older member", m.Client("m3").CancelDowngrade(m.t.Context()), nil)
	for _, name := range three {
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

// goesAllTheWay: etcd itself ends it. A further one is not possible before.
func (m *mixed) goesAllTheWay() {
	for _, name := range []string{"m3", "m2", "m1"} {
		m.run(name, m.older)
	}
	further := must(below(m.older, 1))(m.t)
	m.Until("the downgrade to be over", func(ctx context.Context) error { return m.validate(ctx, "m1", further) })
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
	m.Member(name).Start(version, m.Joins("existing", three...)...)
	m.Serves(name)
	if status := m.Status(name); status.Version != version {
		m.t.Errorf("%s runs %s, want %s", name, status.Version, version)
	}
}
