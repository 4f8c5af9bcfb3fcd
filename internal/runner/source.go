package runner

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/task"
)

// patience is how long a member may take for an answer that costs it nothing.
const patience = 10 * time.Second

// candidate is a member that may send the snapshot, and what it said of itself.
type candidate struct {
	member task.Member
	client etcd.Client
	status etcd.Status
	err    error // that it did not answer
}

// ask asks every member what it says of itself.
func (j job) ask(ctx context.Context) ([]candidate, error) {
	config, err := j.tls()
	if err != nil {
		return nil, err
	}
	pool := etcd.NewPool()
	all := make([]candidate, 0, len(j.Backup.Members))
	for _, m := range j.Backup.Members {
		c := candidate{member: m}
		if c.client, c.err = pool.Client(j.Backup.Cluster, etcd.Target{Address: m.Address, TLS: config}); c.err == nil {
			limited, cancel := context.WithTimeout(ctx, patience)
			c.status, c.err = c.client.Status(limited)
			cancel()
		}
		all = append(all, c)
	}
	return all, nil
}

// tls has the identity by which the members know applications.
func (j job) tls() (*tls.Config, error) {
	if !j.Backup.Secure {
		return nil, nil //nolint:nilnil // the members speak plain text
	}
	file := func(name string) string { return filepath.Join(j.Folders.Client, name) }
	pair, err := tls.LoadX509KeyPair(file("tls.crt"), file("tls.key"))
	if err != nil {
		return nil, fmt.Errorf("read client certificate: %w", err)
	}
	authority, err := os.ReadFile(file("ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("read authority of the members: %w", err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority)
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: trusted, MinVersion: tls.VersionTLS13}, nil
}

// choose is the member that sends the snapshot: one of this cluster that knows a leader; a follower before the leader, whose
// writes must not wait for a store; then the one that has applied the most; then by name. A learner is never asked: it cannot prove
// that it is up to date.
func choose(all []candidate, clusterID string) (candidate, error) {
	var errs []error
	fit := slices.DeleteFunc(slices.Clone(all), func(c candidate) bool {
		err := unfit(c, clusterID)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.member.Name, err))
		}
		return err != nil
	})
	if len(fit) == 0 {
		return candidate{}, &sourceError{errors.Join(append([]error{errors.New("no member can send a snapshot")}, errs...)...)}
	}
	return slices.MinFunc(fit, func(a, b candidate) int {
		return cmp.Or(
			order(leads(a), leads(b)),
			cmp.Compare(b.status.RaftAppliedIndex, a.status.RaftAppliedIndex),
			cmp.Compare(a.member.Name, b.member.Name),
		)
	}), nil
}

func unfit(c candidate, clusterID string) error {
	switch {
	case c.err != nil:
		return c.err
	case clusterID != "" && hexID(c.status.ClusterID) != clusterID:
		return fmt.Errorf("it is a member of cluster %s, not of %s", hexID(c.status.ClusterID), clusterID)
	case c.status.Learner:
		return errors.New("it is a learner")
	case c.status.LeaderID == 0:
		return errors.New("it knows no leader")
	}
	for _, alarm := range c.status.Alarms {
		if alarm.Kind == "CORRUPT" {
			return errors.New("etcd has raised the alarm CORRUPT: nobody knows whose data is right")
		}
	}
	return nil
}

func leads(c candidate) bool { return c.status.LeaderID == c.status.MemberID }

// order puts what is not so first.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

func hexID(id uint64) string { return strconv.FormatUint(id, 16) }
