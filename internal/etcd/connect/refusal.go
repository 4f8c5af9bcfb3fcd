// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// hello is what every client of HTTP/2 says first, with settings that change nothing (RFC 9113, 3.4): the server answers with its own.
const hello = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// refusal shows a member two certificates, of which one is on the list that it is to have. A member that takes the other one and
// refuses that one has read the list; one that refuses both proves nothing.
func (d *Dialer) refusal(ctx context.Context, c *v1beta1.EtcdCluster, m cluster.Member, held certs.KeyMaterial) certs.Refusal {
	good, revoked, err := held.Witnesses(d.Random, d.Now())
	if err != nil {
		return certs.Refusal{Err: err.Error()}
	}
	address := net.JoinHostPort(m.Pod.Address, strconv.Itoa(v1beta1.ClientPort))
	return Refusal(ctx, address, specs.Host(c, m.Name), held.ClientCA.Bundle(), good, revoked)
}

// Refusal says whether a member, whose certificate must be by an authority in the bundle, refuses one certificate and takes another.
func Refusal(ctx context.Context, address, name string, bundle []byte, good, revoked pki.Pair) certs.Refusal {
	takes, err := accepts(ctx, address, name, bundle, good)
	switch {
	case err != nil:
		return certs.Refusal{Err: err.Error()}
	case !takes:
		return certs.Refusal{Err: "it refuses also what is not revoked"}
	}
	takes, err = accepts(ctx, address, name, bundle, revoked)
	if err != nil {
		return certs.Refusal{Err: err.Error()}
	}
	return certs.Refusal{Is: !takes}
}

// accepts connects as an etcd client does, up to the server's answer; nothing is asked of etcd. A client of TLS 1.3 has done its part
// before the server looks at its certificate, so that only what follows counts.
func accepts(ctx context.Context, address, name string, bundle []byte, as pki.Pair) (bool, error) {
	config, err := pki.ClientConfig(bundle, as)
	if err != nil {
		return false, fmt.Errorf("configure TLS: %w", err)
	}
	config.ServerName, config.NextProtos = name, []string{"h2"}
	dialer := tls.Dialer{Config: config}
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return false, fmt.Errorf("TLS handshake: %w", err)
	}
	defer func() { _ = connection.Close() }() // nothing was sent that could be lost
	if deadline, bounded := ctx.Deadline(); bounded {
		if err := connection.SetDeadline(deadline); err != nil {
			return false, fmt.Errorf("set deadline: %w", err)
		}
	}
	if _, err := io.WriteString(connection, hello); err != nil {
		return false, unlessEnded(err)
	}
	if _, err := connection.Read(make([]byte, 1)); err != nil {
		return false, unlessEnded(err)
	}
	return true, nil
}

// unlessEnded is nil if the server has ended the connection, which is how etcd refuses a certificate, and else why nothing is known.
func unlessEnded(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("it does not answer: %w", err)
	}
	var said *net.OpError // such as the alert bad certificate
	refused := errors.As(err, &said) && said.Op == "remote error"
	if refused || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return fmt.Errorf("after the TLS handshake: %w", err)
}
