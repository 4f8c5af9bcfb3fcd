// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package build compiles the pinned programs of the cluster, each once per
// machine, into the user's cache folder.
package build

import (
	"slices"
	"strings"
)

// Component is what is built of one project. Components of one folder are one nested module below hack/components: one version of
// each dependency, so that Go compiles a package once for all of them.
type Component struct {
	Name    string
	Version string
	// Folder is the module.
	Folder string
	// Targets are the arguments of go build: main packages, or the tools that go.mod names.
	Targets []string
	Tags    string
	// Stamp is for the linker, beside what all have.
	Stamp string
	// Rename gives built files the names that people know.
	Rename map[string]string
	// Links are further names of the one file that was built.
	Links []string
	// Keep names files and folders of the Module that are needed at run time.
	Module string
	Keep   []string
	// Groups say what the component is needed for.
	Groups []string
	// Minutes is what a first build takes on two cores, before or after others of the folder.
	Minutes float64
}

// The groups that --only accepts besides the names of components.
const (
	CertManager = "cert-manager"
	Cluster     = "cluster"
	Envtest     = "envtest"
	Images      = "images"
	Policies    = "network-policies"
	OLM         = "olm"
	OLMv1       = "olmv1"
	Scorecard   = "scorecard"
	Snapshots   = "snapshots"
)

const (
	tools  = "tool"
	own    = "."
	shared = "cluster" // the folder of all that can have the same dependencies
)

const kubernetesVersion = "1.37.2"

// OldKubernetes are the versions that the operator is tested on before a release, each the newest that can be had of
// its minor version. The first is a whole Kubernetes, the others are kube-apiserver alone.
var OldKubernetes = []string{"1.30.14", "1.31.14", "1.32.10", "1.33.6", "1.34.2", "1.35.3", "1.36.3"}

// EtcdVersions are those that member images are made of.
var EtcdVersions = []string{"3.5.35", "3.6.16", "3.7.3"}

// All lists the components in the order of their build.
func All() []Component {
	all := []Component{
		kubernetes(),
		{
			Name: "coredns", Version: "1.15.0", Folder: shared, Targets: []string{"./coredns"},
			Groups: []string{Cluster}, Minutes: 0.5,
		},
		olm(), opm(), containerd(),
		etcd("3.6.16", Cluster, Envtest, Images), etcd("3.5.35", Images), etcd("3.7.3", Images),
		{Name: "pause", Version: "1", Folder: "pause", Targets: []string{own}, Groups: []string{Cluster}},
		{
			Name: "scorecard", Version: "1.42.2", Folder: "scorecard", Targets: []string{tools},
			Groups: []string{Scorecard}, Minutes: 1,
		},
		olmv1(), kubeRouter(), certManager(), snapshots(),
	}
	for _, version := range OldKubernetes {
		all = append(all, oldKubernetes(version))
	}
	return all
}

func kubernetes() Component {
	return Component{
		Name: "kubernetes", Version: kubernetesVersion, Folder: shared, Targets: []string{own}, Stamp: stamp(kubernetesVersion),
		Rename: map[string]string{shared: "kubernetes"},
		Links:  []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl"},
		Groups: []string{Cluster, Envtest}, Minutes: 4,
	}
}

// oldKubernetes is built on request only.
func oldKubernetes(version string) Component {
	c := kubernetes()
	c.Name, c.Version, c.Stamp, c.Groups = "kubernetes-"+version, version, stamp(version), nil
	c.Folder, c.Rename = c.Name, nil
	if version != OldKubernetes[0] {
		c.Targets, c.Links, c.Minutes = []string{tools}, nil, 3
	}
	return c
}

// stamp has the linker write the version into a Kubernetes program, which knows it from nowhere else.
func stamp(version string) string {
	const in = "k8s.io/component-base/version."
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	return "-X " + in + "gitVersion=v" + version + " -X " + in + "gitMajor=" + major + " -X " + in + "gitMinor=" + minor
}

// Whole is an older Kubernetes of which the cluster can be made instead, and whether there is one of that version.
func Whole(version string) (Component, bool) {
	return oldKubernetes(version), version == OldKubernetes[0]
}

// IsOldKubernetes says whether a component stands beside the Kubernetes that the cluster is made of.
func IsOldKubernetes(c Component) bool { return strings.HasPrefix(c.Name, "kubernetes-") }

// containerd is a module of its own: opm needs the API of an older one.
func containerd() Component {
	return Component{
		Name: "containerd", Version: "2.4.2", Folder: "containerd", Targets: []string{tools},
		Tags: "no_btrfs,no_zfs,no_devmapper", Groups: []string{Cluster}, Minutes: 0.8,
	}
}

func olm() Component {
	const module = "github.com/operator-framework/operator-lifecycle-manager"
	c := Component{
		Name: "olm", Version: "0.42.0", Folder: shared, Groups: []string{OLM}, Minutes: 0.5,
		Module: module, Keep: []string{"deploy/chart/crds", "deploy/upstream/quickstart/olm.yaml"},
	}
	for _, program := range []string{"cmd/catalog", "cmd/copy-content", "cmd/olm", "cmd/package-server", "util/cpb"} {
		c.Targets = append(c.Targets, module+"/"+program)
	}
	return c
}

func opm() Component {
	return Component{
		Name: "opm", Version: "1.65.0", Folder: shared, Targets: []string{"github.com/operator-framework/operator-registry/cmd/opm"},
		Groups: []string{OLM}, Minutes: 0.5,
	}
}

// olmv1 is built on request only: tests run it as processes.
func olmv1() Component {
	const base, name = "config/base/", "/crd/bases/olm.operatorframework.io_"
	return Component{
		Name: "olmv1", Version: "1.2.0", Folder: "olmv1", Targets: []string{tools}, Groups: []string{OLMv1}, Minutes: 4,
		Module: "github.com/operator-framework/operator-controller",
		Keep:   []string{base + "catalogd" + name + "clustercatalogs.yaml", base + "operator-controller" + name + "clusterextensions.yaml"},
	}
}

// kubeRouter enforces NetworkPolicies. It is built on request only.
func kubeRouter() Component {
	return Component{
		Name: "kube-router", Version: "2.1.0", Folder: "kube-router", Targets: []string{tools}, Groups: []string{Policies}, Minutes: 3,
	}
}

// certManager is built on request only. Its own programs are modules that cannot be had: ours runs what they are made of.
func certManager() Component {
	return Component{
		Name: "cert-manager", Version: "1.21.2", Folder: "cert-manager", Targets: []string{own}, Groups: []string{CertManager}, Minutes: 4,
		Module: "github.com/cert-manager/cert-manager", Keep: []string{"deploy/crds"},
	}
}

// snapshots is built on request only: what Kubernetes CSI has beside a driver that takes VolumeSnapshots. The driver is this program. Its
// module excludes newer versions of what it shares with others, so that Go need not compile that again.
func snapshots() Component {
	const types = "config/crd/snapshot.storage.k8s.io_"
	return Component{
		Name: "snapshots", Version: "8.7.0", Folder: "snapshots", Targets: []string{tools}, Groups: []string{Snapshots}, Minutes: 2,
		Module: "github.com/kubernetes-csi/external-snapshotter/client/v8",
		Keep:   []string{types + "volumesnapshots.yaml", types + "volumesnapshotcontents.yaml", types + "volumesnapshotclasses.yaml"},
	}
}

func etcd(version string, groups ...string) Component {
	return Component{
		Name: "etcd-" + version, Version: version, Folder: "etcd-" + version, Targets: []string{tools},
		Rename: map[string]string{"server": "etcd"}, Groups: groups, Minutes: 0.5,
	}
}

// Select keeps the components with one of these names or groups.
func Select(names ...string) []Component {
	var selected []Component
	for _, component := range All() {
		wanted := func(name string) bool {
			return name == component.Name || slices.Contains(component.Groups, name)
		}
		if slices.ContainsFunc(names, wanted) {
			selected = append(selected, component)
		}
	}
	return selected
}
