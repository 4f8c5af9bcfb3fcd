// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// probeTimeout is what a handshake with a member that runs may take.
const probeTimeout = time.Second

// Probe makes a TLS handshake with each port of a member, to see which certificate it shows and which authorities it
// trusts, and sends nothing. The certificates that it presents are the members' own. If members have a list of revoked
// certificates it makes two more, to see whether the member refuses what is on it.
func (d *Dialer) Probe(ctx context.Context, c *v1beta1.EtcdCluster, m cluster.Member) certs.TLSProbe {
	probe := certs.TLSProbe{Member: m.Name}
	held, err := d.held(ctx, c)
	if err != nil {
		probe.Client.Err, probe.Peer.Err = err.Error(), err.Error()
		return probe
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	look := func(port int, as pki.Pair) certs.Port {
		return handshake(ctx, net.JoinHostPort(m.Pod.Address, strconv.Itoa(port)), specs.Host(c, m.Name), as)
	}
	var both sync.WaitGroup
	both.Go(func() { probe.Client = look(v1beta1.ClientPort, held.Server) })
	both.Go(func() { probe.Peer = look(v1beta1.PeerPort, held.Peer) })
	if len(held.List()) > 0 {
		both.Go(func() { probe.Refusal = d.refusal(ctx, c, m, held) })
	}
	both.Wait()
	return probe
}

// handshake says what a server shows and accepts. TLS 1.3 proves that it has the key of what it shows. The caller
// verifies the signer, because it must be able to see a member that is no longer trusted.
func handshake(ctx context.Context, address, name string, as pki.Pair) certs.Port {
	certificate, err := as.TLSCertificate()
	if err != nil {
		return certs.Port{Err: err.Error()}
	}
	var port certs.Port
	dialer := tls.Dialer{Config: &tls.Config{
		MinVersion: tls.VersionTLS13, ServerName: name,
		InsecureSkipVerify: true, //nolint:gosec // nothing is sent
		GetClientCertificate: func(asked *tls.CertificateRequestInfo) (*tls.Certificate, error) {
			port.Accepts = asked.AcceptableCAs
			return &certificate, nil
		},
	}}
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return certs.Port{Err: fmt.Sprintf("TLS handshake: %v", err)}
	}
	if secured, is := connection.(*tls.Conn); is {
		shown := secured.ConnectionState().PeerCertificates
		port.Shown = shown[0].Raw
		for _, between := range shown[1:] {
			port.Between = append(port.Between, between.Raw)
		}
	}
	_ = connection.Close() // nothing was sent that could be lost
	return port
}
