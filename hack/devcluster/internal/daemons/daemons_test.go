// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package daemons

import (
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/layout"
)

var three = layout.Layout{Root: "/c", Count: 3}

func TestDaemonsHaveNamesAndPortsOfTheirOwn(t *testing.T) {
	names, ports := map[string]bool{}, map[string]string{}
	for _, daemon := range Table(three) {
		if names[daemon.Name] {
			t.Errorf("two daemons are called %s", daemon.Name)
		}
		names[daemon.Name] = true
		for _, port := range daemon.Ports {
			if other := ports[port]; other != "" {
				t.Errorf("%s and %s both listen at %s", other, daemon.Name, port)
			}
			ports[port] = daemon.Name
		}
	}
	for _, name := range []string{"etcd", "kubelet", "kubelet-node-2", "containerd-node-3"} {
		if !names[name] {
			t.Errorf("there is no %s", name)
		}
	}
}

func TestAFurtherNodeRunsInItsNetwork(t *testing.T) {
	for _, node := range three.Nodes() {
		all := On(Table(three), node.Name)
		if len(all) != 4 {
			t.Errorf("%s has %d daemons, want 4", node.Name, len(all))
		}
		for _, daemon := range all {
			if daemon.Network != node.Network() {
				t.Errorf("%s runs in %q", daemon.Name, daemon.Network)
			}
			// Another namespace's loopback answers for someone else.
			if !node.IsMachine() && strings.Contains(strings.Join(daemon.Argv, " "), "127.0.0.1") {
				t.Errorf("%s uses a loopback address: %v", daemon.Name, daemon.Argv)
			}
		}
	}
}

// One node is the usual case: it must not be restarted because others join.
func TestEachNodeEnforcesNetworkPolicies(t *testing.T) {
	for _, node := range three.Nodes() {
		if all := On(Table(three.Policing(true)), node.Name); len(all) != 5 || !strings.HasPrefix(all[4].Name, "kube-router") {
			t.Errorf("%s has %d daemons, want 5, of which the last enforces NetworkPolicies", node.Name, len(all))
		}
	}
}

func TestTheFirstNodeTakesSnapshots(t *testing.T) {
	all := Table(three.Snapshotting(true))
	for _, name := range []string{"csi-driver", "csi-snapshotter", "snapshot-controller"} {
		if daemon, found := Find(all, name); !found || daemon.Node != layout.First {
			t.Errorf("%s: %+v", name, daemon)
		}
	}
	if more := len(all) - len(Table(three)); more != 3 {
		t.Errorf("%d daemons more", more)
	}
}

// The API server does not start with the first Services of another family than its own address.
func TestTheAPIServerHasTheFamilyOfTheFirstServices(t *testing.T) {
	for families, want := range map[layout.Families]string{
		layout.OnlyIPv4:  "--advertise-address 10.254.0.1 --service-cluster-ip-range 10.96.0.0/16",
		layout.IPv4First: "--advertise-address 10.254.0.1 --service-cluster-ip-range 10.96.0.0/16,fdec:d0:96::/112",
		layout.IPv6First: "--advertise-address fdec:d0:254::1 --service-cluster-ip-range fdec:d0:96::/112,10.96.0.0/16",
		layout.OnlyIPv6:  "--advertise-address fdec:d0:254::1 --service-cluster-ip-range fdec:d0:96::/112",
	} {
		argv := apiserver(three.Having(families)).Argv
		var got []string
		for i, word := range argv {
			if word == "--advertise-address" || word == "--service-cluster-ip-range" {
				got = append(got, argv[i:i+2]...)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %v, want %s", families, got, want)
		}
	}
}

func TestFurtherNodesChangeNothingForOthers(t *testing.T) {
	all := Table(three)
	for _, alone := range Table(layout.Layout{Root: "/c"}) {
		among, found := Find(all, alone.Name)
		if !found || strings.Join(alone.Argv, " ") != strings.Join(among.Argv, " ") || alone.Network != among.Network {
			t.Errorf("%s differs in a cluster of three", alone.Name)
		}
	}
}
