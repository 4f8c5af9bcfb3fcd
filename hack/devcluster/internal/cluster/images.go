// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/addons"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/build"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/images"
)

// images lists what the registry must hold: the most urgent first.
func (c *Cluster) images(wish Wish) ([]images.Image, error) {
	dirs, err := c.dirs()
	if err != nil {
		return nil, err
	}
	all := []images.Image{
		{
			Names: []string{"pause:devcluster"}, Entrypoint: []string{"/pause"}, User: "65535:65535",
			Files: map[string]string{"/pause": filepath.Join(dirs["pause"], "pause")},
		},
		{
			Names: []string{"coredns/coredns:v1.15.0"}, Entrypoint: []string{"/coredns"},
			Files: map[string]string{"/coredns": filepath.Join(dirs["coredns"], "coredns")},
		},
	}
	if wish.OLM {
		all = append(all, olmImages(dirs)...)
	}
	if wish.CertManager {
		all = append(all, images.Image{
			Names: []string{addons.CertManagerImage}, Entrypoint: []string{"/cert-manager"}, User: "65535:65535",
			Files: map[string]string{"/cert-manager": filepath.Join(dirs["cert-manager"], "cert-manager")},
		})
	}
	for _, version := range build.EtcdVersions {
		all = append(all, etcdImage(version, dirs["etcd-"+version]))
	}
	box, err := busybox()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(append(all, box), lacksPrograms), nil
}

// lacksPrograms says whether nobody has built the programs of an image, because nobody has asked for them.
func lacksPrograms(i images.Image) bool {
	for _, file := range i.Files {
		if _, err := os.Stat(file); err != nil {
			return true
		}
	}
	return false
}

func (c *Cluster) dirs() (map[string]string, error) {
	dirs := map[string]string{}
	for _, component := range build.All() {
		dir, err := c.builder.Dir(component)
		if err != nil {
			return nil, err
		}
		dirs[component.Name] = dir
	}
	return dirs, nil
}

// etcdImage stands in for the upstream image: same names, same layout.
func etcdImage(version, dir string) images.Image {
	files := map[string]string{}
	for _, name := range []string{"etcd", "etcdctl", "etcdutl"} {
		files["/usr/local/bin/"+name] = filepath.Join(dir, name)
	}
	return images.Image{
		Names:   []string{"etcd-development/etcd:v" + version, "coreos/etcd:v" + version},
		Command: []string{"/usr/local/bin/etcd"}, WorkingDir: "/var/lib/etcd/", Files: files,
	}
}

// busybox is the machine's own static one, for tests that need a shell.
func busybox() (images.Image, error) {
	program, err := exec.LookPath("busybox")
	if err != nil {
		return images.Image{}, fmt.Errorf("no busybox: %w", err)
	}
	out, err := exec.Command(program, "--list").Output()
	if err != nil {
		return images.Image{}, fmt.Errorf("ask busybox for its applets: %w", err)
	}
	links := map[string]string{}
	for applet := range strings.FieldsSeq(string(out)) {
		if applet != "busybox" {
			links[path.Join("/bin", applet)] = "busybox"
		}
	}
	return images.Image{
		Names: []string{"library/busybox:1.37", "library/busybox:latest"}, Command: []string{"sh"},
		Files: map[string]string{"/bin/busybox": program}, Links: links,
	}, nil
}

func olmImages(dirs map[string]string) []images.Image {
	files := map[string]string{"/bin/cp": "/bin/busybox"}
	if program, err := exec.LookPath("busybox"); err == nil {
		files["/bin/cp"] = program
	}
	untar := images.Image{ // no entrypoint: the scorecard gives the whole command
		Names: []string{"operator-framework/scorecard-untar:v1.42.2"}, User: "1001",
		Files: map[string]string{"/bin/busybox": files["/bin/cp"]}, Links: map[string]string{"/bin/tar": "busybox"},
	}
	for _, name := range []string{"olm", "catalog", "package-server", "copy-content", "cpb"} {
		files["/bin/"+name] = filepath.Join(dirs["olm"], name)
	}
	return []images.Image{
		untar,
		{
			Names: []string{"operator-framework/scorecard-test:v1.42.2"}, Entrypoint: []string{"/usr/local/bin/scorecard-test"}, User: "1001",
			Files: map[string]string{"/usr/local/bin/scorecard-test": filepath.Join(dirs["scorecard"], "scorecard-test")},
		},
		{Names: []string{addons.OLMImage}, Entrypoint: []string{"/bin/olm"}, User: "1001", Files: files},
		{
			Names: []string{"operator-framework/opm:v1.65.0", "operator-framework/opm:latest"}, Entrypoint: []string{"/bin/opm"}, User: "1001",
			Files: map[string]string{"/bin/opm": filepath.Join(dirs["opm"], "opm")},
		},
	}
}

// manifests is where those are that a component's project has released.
func (c *Cluster) manifests(component string) (string, error) {
	dirs, err := c.dirs()
	return filepath.Join(dirs[component], build.Manifests), err
}
