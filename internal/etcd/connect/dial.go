// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package connect finds the way to a cluster's members: their addresses, and the
// operator's own identity, which it keeps in memory and never in a Secret.
//
// It must never ask a member anything.
package connect

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/secrets"
)

// Dialer makes clients of members. It may be used by many goroutines at once.
type Dialer struct {
	Pool   *etcd.Pool
	Reader client.Reader // reads the Secrets of the authority and of members
	Now    func() time.Time
	Random io.Reader

	mutex      sync.Mutex
	identities map[string]identity // by owner
}

type identity struct {
	source string      // what it was made from
	until  time.Time   // when it is to be made again
	config *tls.Config // a connection shows the certificate that it was made with
}

// Member is a client of one member, over the connection that its Pod already has
// or a new one. It does not wait for the network.
func (d *Dialer) Member(ctx context.Context, c *v1beta1.EtcdCluster, m cluster.Member) (etcd.Client, error) {
	target, err := d.target(ctx, c, m)
	if err != nil {
		return nil, fmt.Errorf("dial member %s: %w", m.Name, err)
	}
	return d.Pool.Client(owner(c), target)
}

// Keep closes the connections to Pods that no longer exist.
func (d *Dialer) Keep(ctx context.Context, c *v1beta1.EtcdCluster, members []cluster.Member) {
	var targets []etcd.Target
	for _, m := range members {
		if target, err := d.target(ctx, c, m); err == nil {
			targets = append(targets, target)
		}
	}
	for _, url := range c.SourceURLs() {
		if target, err := d.source(ctx, c, url); err == nil {
			targets = append(targets, target)
		}
	}
	if from := c.Copies(); from != nil {
		for _, url := range from.Endpoints {
			if target, err := d.copied(ctx, c, url); err == nil {
				targets = append(targets, target)
			}
		}
	}
	d.Pool.Keep(owner(c), targets)
}

// Forget drops everything about a cluster that is gone.
func (d *Dialer) Forget(name types.NamespacedName) {
	d.mutex.Lock()
	delete(d.identities, name.String())
	delete(d.identities, toSource(name.String()))
	d.mutex.Unlock()
	d.Pool.Keep(name.String(), nil)
}

func owner(c *v1beta1.EtcdCluster) string { return client.ObjectKeyFromObject(c).String() }

func (d *Dialer) target(ctx context.Context, c *v1beta1.EtcdCluster, m cluster.Member) (etcd.Target, error) {
	target := etcd.Target{
		Instance:   m.Pod.UID,
		Address:    net.JoinHostPort(m.Pod.Address, strconv.Itoa(v1beta1.ClientPort)),
		ServerName: specs.Host(c, m.Name),
	}
	if !c.IsSecure() {
		var err error
		target.User, target.Password, err = d.credentials(ctx, c)
		return target, err
	}
	id, err := d.identity(ctx, c)
	target.TLS = id.config
	return target, err
}

// identity is the operator's certificate for this cluster, issued again when the
// authority changes or half its life is over.
func (d *Dialer) identity(ctx context.Context, c *v1beta1.EtcdCluster) (identity, error) {
	held, err := d.held(ctx, c)
	if err != nil {
		return identity{}, err
	}
	source := string(held.ClientCA.Bundle()) + string(held.ClientCA.KeyPEM) + string(held.MemberCA()) +
		string(held.Server.CertPEM) + string(held.Root.CertPEM) + string(held.List())
	if held.RefusesClients(c, d.Now()) {
		source += "; expired" // a connection from before would hide that no other client can connect
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	now := d.Now()
	known, ok := d.identities[owner(c)]
	if ok && known.source == source && now.Before(known.until) {
		return known, nil
	}
	made, err := d.make(c, held, now)
	if err != nil {
		return identity{}, err
	}
	made.source = source
	if d.identities == nil {
		d.identities = map[string]identity{}
	}
	d.identities[owner(c)] = made
	return made, nil
}

// held is the key material in the Secrets, by which members are trusted.
func (d *Dialer) held(ctx context.Context, c *v1beta1.EtcdCluster) (certs.KeyMaterial, error) {
	return secrets.Held(ctx, d.Reader, c, c.ClientCA(), specs.MemberSecret(c), c.RootSecret())
}

// make is the identity that trust says the operator has. If the authority that members trust is external, or cannot sign, that
// may be the one that etcdctl uses in their Pods: they run on and are still to be reconciled.
func (d *Dialer) make(c *v1beta1.EtcdCluster, held certs.KeyMaterial, now time.Time) (identity, error) {
	ca, pairs, err := held.OperatorPairs(d.Random, now, c)
	if err != nil {
		return identity{}, err //nolint:wrapcheck // it says what was tried
	}
	config, err := pki.ClientConfig(ca, pairs...)
	if err != nil {
		return identity{}, fmt.Errorf("configure TLS: %w", err)
	}
	until := now.Add(certs.OperatorLifetime / 2)
	if end := held.Operator(c, now).Until; end.After(now) && end.Before(until) {
		until = end
	}
	return identity{until: until, config: config}, nil
}
