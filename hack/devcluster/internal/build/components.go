// Package build compiles the pinned programs of the cluster, each once per
// machine, into the user's cache folder.
package build

import "slices"

// Component is one nested module below hack/components.
type Component struct {
	Name    string
	Version string
	// Target is the argument of go build: the module's own program, or the
	// tools that its go.mod names.
	Target  string
	Tags    string
	Ldflags string
	Cgo     bool
	// Rename gives built files the names that people know.
	Rename map[string]string
	// Links are further names of the one file that was built.
	Links []string
	// Keep names files and folders of the Module that are needed at run time.
	Module string
	Keep   []string
	// Groups say what the component is needed for.
	Groups []string
	// Minutes is what a first build takes on two cores.
	Minutes string
}

// The groups that --only accepts besides the names of components.
const (
	Cluster = "cluster"
	Envtest = "envtest"
	Images  = "images"
	OLM     = "olm"
	OLMv1   = "olmv1"
)

const (
	tools = "tool"
	own   = "."
	slim  = "-s -w"
)

const kubernetesVersion = "1.36.3"

// EtcdVersions are those that member images are made of.
var EtcdVersions = []string{"3.5.35", "3.6.16", "3.7.3"}

// All lists the components in the order of their build.
func All() []Component {
	all := []Component{kubernetes(), containerd(), etcd("3.6.16", Cluster, Envtest, Images)}
	all = append(all,
		Component{Name: "coredns", Version: "1.15.0", Target: tools, Ldflags: slim, Groups: []string{Cluster}, Minutes: "2"},
		Component{Name: "pause", Version: "1", Target: own, Ldflags: slim, Groups: []string{Cluster}, Minutes: "0.1"},
		etcd("3.5.35", Images), etcd("3.7.3", Images),
		Component{
			Name: "olm", Version: "0.42.0", Target: tools, Ldflags: slim, Groups: []string{OLM}, Minutes: "3",
			Module: "github.com/operator-framework/operator-lifecycle-manager",
			Keep:   []string{"deploy/chart/crds", "deploy/upstream/quickstart/olm.yaml"},
		},
		Component{
			Name: "opm", Version: "1.65.0", Target: tools, Ldflags: slim,
			Tags: "json1,containers_image_openpgp", Groups: []string{OLM}, Minutes: "1.5",
		},
		Component{
			Name: "scorecard", Version: "1.42.2", Target: tools, Ldflags: slim,
			Tags: "containers_image_openpgp", Groups: []string{OLM}, Minutes: "1",
		},
		olmv1(),
	)
	return all
}

func kubernetes() Component {
	version := "k8s.io/component-base/version."
	return Component{
		Name: "kubernetes", Version: kubernetesVersion, Target: own, Cgo: true,
		Ldflags: slim + " -X " + version + "gitVersion=v" + kubernetesVersion +
			" -X " + version + "gitMajor=1 -X " + version + "gitMinor=36",
		Links:  []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl"},
		Groups: []string{Cluster, Envtest}, Minutes: "6",
	}
}

func containerd() Component {
	return Component{
		Name: "containerd", Version: "2.4.2", Target: tools, Cgo: true,
		Tags: "no_btrfs no_zfs no_devmapper", Ldflags: slim, Groups: []string{Cluster}, Minutes: "1.5",
	}
}

// olmv1 is built on request only: tests run it as processes.
func olmv1() Component {
	const base, name = "config/base/", "/crd/bases/olm.operatorframework.io_"
	return Component{
		Name: "olmv1", Version: "1.2.0", Target: tools, Ldflags: slim,
		Tags: "containers_image_openpgp", Groups: []string{OLMv1}, Minutes: "4",
		Module: "github.com/operator-framework/operator-controller",
		Keep:   []string{base + "catalogd" + name + "clustercatalogs.yaml", base + "operator-controller" + name + "clusterextensions.yaml"},
	}
}

func etcd(version string, groups ...string) Component {
	return Component{
		Name: "etcd-" + version, Version: version, Target: tools, Ldflags: slim,
		Rename: map[string]string{"server": "etcd"}, Groups: groups, Minutes: "0.6",
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
