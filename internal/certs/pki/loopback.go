// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import "net"

// Loopback is the address of a server that only its own Pod reaches.
func Loopback() []net.IP { return []net.IP{net.IPv4(127, 0, 0, 1)} }
