// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/layout"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files")

func TestRenderMatchesGolden(t *testing.T) {
	files, err := Render(layout.Layout{Root: "/checkout", Count: 2}, Machine{MayRaisePriority: true, FiltersBridges: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		golden := filepath.Join("testdata", filepath.Base(file.Path)+".golden")
		if strings.Contains(file.Path, "/node-2/") {
			golden = filepath.Join("testdata", "node-2", filepath.Base(file.Path)+".golden")
		}
		text := "# " + file.Path + "\n" + file.Text
		if *rewrite {
			if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if text != string(want) {
			t.Errorf("%s differs from %s; look at it and run with -rewrite:\n%s", file.Path, golden, text)
		}
	}
}

// What differs in a cluster with both families: nothing else may.
func TestRenderFollowsTheFamilies(t *testing.T) {
	alone := layout.Layout{Root: "/c"}
	for name, wants := range map[string][]string{
		"network.conflist": {
			`"ranges": [[{"subnet": "fdec:d0:244:0::/64"}], [{"subnet": "10.244.0.0/22"}]],`, `"routes": [{"dst": "::/0"}, {"dst": "0.0.0.0/0"}]`,
		},
		"proxy.yaml":   {"clusterCIDR: fdec:d0:244::/48,10.244.0.0/16"},
		"kubelet.yaml": {"clusterDNS: [fdec:d0:96::a]"},
	} {
		before, err := render(name, alone, alone.Node(1), Machine{})
		if err != nil {
			t.Fatal(err)
		}
		both, err := render(name, alone.Having(layout.IPv6First), alone.Node(1), Machine{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		lines := strings.Split(before, "\n")
		for i, line := range strings.Split(both, "\n") {
			if line != lines[i] {
				got = append(got, strings.TrimSpace(line))
			}
		}
		if !slices.Equal(got, wants) {
			t.Errorf("of %s, these lines differ:\n%s\nwant:\n%s", name, strings.Join(got, "\n"), strings.Join(wants, "\n"))
		}
	}
}

func TestRenderFollowsTheMachine(t *testing.T) {
	poor, err := render("containerd.toml", layout.Layout{Root: "/c"}, layout.Layout{Root: "/c"}.Node(1), Machine{})
	if err != nil {
		t.Fatal(err)
	}
	if !contains(poor, "restrict_oom_score_adj = true") {
		t.Error("without CAP_SYS_RESOURCE, out-of-memory scores must be restricted")
	}
	proxy, err := render("proxy.yaml", layout.Layout{Root: "/c"}, layout.Layout{Root: "/c"}.Node(1), Machine{})
	if err != nil {
		t.Fatal(err)
	}
	if !contains(proxy, "masqueradeAll: true") {
		t.Error("without br_netfilter, everything must be masqueraded")
	}
}

func TestWriteLeavesUnchangedFilesAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "etc", "file")
	if err := Write([]File{{Path: path, Text: "one"}}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	before, _ := os.Stat(path)
	if err := Write([]File{{Path: path, Text: "one"}}); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.Stat(path); !after.ModTime().Equal(before.ModTime()) {
		t.Error("the unchanged file was written")
	}
}

func contains(text, part string) bool { return strings.Contains(text, part) }
