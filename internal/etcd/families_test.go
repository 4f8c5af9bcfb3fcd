// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"net"
	"strings"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestFault55MembersListenOnBothFamilies: etcd's own listener, with what members are told to listen on, takes clients by IPv4 and by IPv6.
func TestFault55MembersListenOnBothFamilies(t *testing.T) {
	if own, err := net.Listen("tcp", "[::1]:0"); err != nil {
		t.Skipf("this machine has no IPv6: %v", err)
	} else {
		_ = own.Close()
	}
	c := &v1beta1.EtcdCluster{}
	c.Name, c.Namespace, c.Spec.Version = "a", "default", "3.6.16"
	found := 0
	for _, arg := range specs.Etcd(specs.Pod(c, "a-0", specs.Joining{})).Args {
		flag, url, _ := strings.Cut(arg, "=")
		if !strings.HasPrefix(flag, "--listen-") {
			continue
		}
		found++
		host, _, err := net.SplitHostPort(url[strings.Index(url, "//")+2:])
		if err != nil {
			t.Fatal(err)
		}
		listener, err := transport.NewListener(net.JoinHostPort(host, "0"), "http", nil)
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(listener.Addr().String())
		for _, client := range []string{"127.0.0.1", "::1"} {
			connection, err := net.Dial("tcp", net.JoinHostPort(client, port))
			if err != nil {
				t.Errorf("%s: %v", arg, err)
				continue
			}
			_ = connection.Close()
		}
		_ = listener.Close()
	}
	if found != 3 {
		t.Errorf("%d flags say where a member listens", found)
	}
}
