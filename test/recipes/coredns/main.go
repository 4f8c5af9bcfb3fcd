// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command coredns is CoreDNS with the plugin that reads records from etcd.
package main

import (
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/etcd"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/ready"
)

func main() {
	coremain.Run()
}
