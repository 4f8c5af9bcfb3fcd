// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"crypto/tls"
	"fmt"
	"slices"
	"sync"

	"google.golang.org/grpc"
)

// Target is one member's address and the identity to dial it with. The connection of
// an equal one is used again.
type Target struct {
	Instance   string      // the UID of the Pod: an address that a new Pod got is another target
	Address    string      // host:port, the host being the Pod's IP
	ServerName string      // the name that the member's certificate must have
	TLS        *tls.Config // one for each identity; nil: plain text

	User, Password string // of a user whom a password identifies; empty: certificates do
}

// Pool keeps one connection per owner and target. It dials when a connection
// is first used. It may be used by many goroutines at once.
type Pool struct {
	mutex       sync.Mutex
	connections map[string]map[Target]*grpc.ClientConn // by owner
	users       map[login]*authenticated
}

// A login is a user of one cluster.
type login struct{ owner, user, password string }

// user is who the target is dialled as; nil if a certificate says so.
func (p *Pool) user(owner string, target Target) *authenticated {
	if target.User == "" {
		return nil
	}
	key := login{owner, target.User, target.Password}
	if p.users[key] == nil {
		if p.users == nil {
			p.users = map[login]*authenticated{}
		}
		p.users[key] = &authenticated{user: target.User, password: target.Password}
	}
	return p.users[key]
}

// NewPool makes an empty pool.
func NewPool() *Pool {
	return &Pool{connections: map[string]map[Target]*grpc.ClientConn{}}
}

// Client returns the owner's client for a target. It never waits for the
// network. The owner is the namespace and name of the cluster.
func (p *Pool) Client(owner string, target Target) (Client, error) {
	connection, err := p.connection(owner, target)
	if err != nil {
		return nil, err
	}
	return newClient(connection), nil
}

func (p *Pool) connection(owner string, target Target) (*grpc.ClientConn, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if connection, ok := p.connections[owner][target]; ok {
		return connection, nil
	}
	user := p.user(owner, target)
	connection, err := dial(target, user)
	if err != nil {
		return nil, fmt.Errorf("dial member at %s: %w", target.Address, err)
	}
	if p.connections[owner] == nil {
		p.connections[owner] = map[Target]*grpc.ClientConn{}
	}
	p.connections[owner][target] = connection
	if user != nil {
		user.over(connection)
	}
	return connection, nil
}

// Keep closes the owner's connections to anything but targets; with none it
// closes all of them. Calls that still run on a closed connection fail.
func (p *Pool) Keep(owner string, targets []Target) {
	p.mutex.Lock()
	var stale []*grpc.ClientConn
	for target, connection := range p.connections[owner] {
		if !slices.Contains(targets, target) {
			stale = append(stale, connection)
			delete(p.connections[owner], target)
			if user := p.user(owner, target); user != nil {
				user.without(connection)
			}
		}
	}
	if len(p.connections[owner]) == 0 {
		delete(p.connections, owner)
		for key := range p.users {
			if key.owner == owner {
				delete(p.users, key)
			}
		}
	}
	p.mutex.Unlock()
	for _, connection := range stale {
		_ = connection.Close() // fails only when it is closed already
	}
}
