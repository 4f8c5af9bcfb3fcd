package etcd

import (
	"crypto/tls"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/grpc"
)

// Target is one member's address and the identity to dial it with.
type Target struct {
	Instance   string      // the UID of the Pod: an address that a new Pod got is another target
	Address    string      // host:port, the host being the Pod's IP
	ServerName string      // the name that the member's certificate must have
	TLS        *tls.Config // nil: plain text
	TLSKey     string      // changes whenever TLS does
}

// key is the part of a Target that makes a connection reusable.
type key struct {
	instance, address, serverName, tlsKey string
	secure                                bool
}

func (t Target) key() key {
	return key{t.Instance, t.Address, t.ServerName, t.TLSKey, t.TLS != nil}
}

// Pool keeps one connection per owner and target. It dials when a connection
// is first used. It may be used by many goroutines at once.
type Pool struct {
	mutex       sync.Mutex
	closed      bool
	connections map[string]map[key]*grpc.ClientConn // by owner
}

// NewPool makes an empty pool.
func NewPool() *Pool {
	return &Pool{connections: map[string]map[key]*grpc.ClientConn{}}
}

// Client returns the owner's client for a target. It never waits for the
// network. The owner is the namespace and name of the cluster.
func (p *Pool) Client(owner string, target Target) (Client, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.closed {
		return nil, errors.New("dial member: the pool is closed")
	}
	if connection, ok := p.connections[owner][target.key()]; ok {
		return newClient(connection), nil
	}
	connection, err := dial(target)
	if err != nil {
		return nil, fmt.Errorf("dial member at %s: %w", target.Address, err)
	}
	if p.connections[owner] == nil {
		p.connections[owner] = map[key]*grpc.ClientConn{}
	}
	p.connections[owner][target.key()] = connection
	return newClient(connection), nil
}

// Keep closes the owner's connections to anything but targets; with none it
// closes all of them. Calls that still run on a closed connection fail.
func (p *Pool) Keep(owner string, targets []Target) {
	wanted := map[key]bool{}
	for _, target := range targets {
		wanted[target.key()] = true
	}
	for _, connection := range p.take(owner, func(k key) bool { return !wanted[k] }) {
		_ = connection.Close() // fails only when it is closed already
	}
}

// Close closes every connection. The pool cannot be used afterwards.
func (p *Pool) Close() error {
	p.mutex.Lock()
	p.closed = true
	all := p.connections
	p.connections = nil
	p.mutex.Unlock()

	var errs []error
	for _, connections := range all {
		for _, connection := range connections {
			errs = append(errs, connection.Close())
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close connections: %w", err)
	}
	return nil
}

// take removes the owner's connections that match from the pool, so that they
// can be closed without holding the lock.
func (p *Pool) take(owner string, match func(key) bool) []*grpc.ClientConn {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var taken []*grpc.ClientConn
	for k, connection := range p.connections[owner] {
		if match(k) {
			taken = append(taken, connection)
			delete(p.connections[owner], k)
		}
	}
	if len(p.connections[owner]) == 0 {
		delete(p.connections, owner)
	}
	return taken
}
