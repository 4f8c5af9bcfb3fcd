// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

// These ports are below those that the kernel gives to connections and to listeners that ask for any, 32768 and more: a server that
// is down for a while must find its own free again. They are above those of the local cluster.
const lowestPort, ports = 21000, 9000

// FreeAddress is an address on the loopback interface for a server of a test, which may stop and start again.
func FreeAddress(t testing.TB) string {
	t.Helper()
	return FreeAddressOf(t, "127.0.0.1")
}

// FreeAddressOf is one at an IP address of this machine. No other test is given it, of this test binary or of another one that runs
// beside it: this process holds the UDP port of the same number until it ends.
func FreeAddressOf(t testing.TB, ip string) string {
	t.Helper()
	for range 100 {
		address := net.JoinHostPort(ip, strconv.Itoa(lowestPort+rand.IntN(ports)))
		reserved, err := net.ListenPacket("udp", address)
		if err != nil {
			continue // it is another test's
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			_ = reserved.Close() // it is in use
			continue
		}
		_ = listener.Close() // it was only asked whether it is free
		reservations.Store(address, reserved)
		return address
	}
	t.Fatal("found no free port")
	return ""
}

// reservations keeps what is held open from being collected, which would close it.
var reservations sync.Map
