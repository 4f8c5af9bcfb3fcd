// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

const dashboards = "../../config/monitoring/dashboards/"

// A dashboard is what is judged of the JSON of Grafana.
type dashboard struct {
	ID         *int // of one Grafana, as the version
	Version    *int
	UID        string
	Panels     []panel
	Templating struct{ List []struct{ Name string } }
}

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	Targets                  []struct{ Expr string }
}

// read returns the dashboards by their names, each without its rows.
func read(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := filepath.Glob(dashboards + "*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	all := map[string]dashboard{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatal(file, err)
		}
		var indented bytes.Buffer
		if err := json.Indent(&indented, bytes.TrimSpace(text), "", "  "); err != nil || indented.String()+"\n" != string(text) {
			t.Errorf("%s is not indented by two spaces (%v): jq . does it", file, err)
		}
		d.Panels = slices.DeleteFunc(d.Panels, func(p panel) bool { return p.Type == "row" })
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = d
	}
	return all
}

// TestSidecar: each dashboard is in a ConfigMap for the sidecar of Grafana.
func TestSidecar(t *testing.T) {
	text, err := os.ReadFile(dashboards + "kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var made struct {
		ConfigMapGenerator []struct {
			Name  string
			Files []string
		}
		GeneratorOptions struct{ Labels map[string]string }
	}
	if err := yaml.Unmarshal(text, &made); err != nil || made.GeneratorOptions.Labels["grafana_dashboard"] != "1" {
		t.Error(made, err)
	}
	all := read(t)
	for _, m := range made.ConfigMapGenerator {
		name := strings.TrimSuffix(m.Name, "-dashboard")
		if _, is := all[name]; !is || !slices.Equal(m.Files, []string{name + ".json"}) {
			t.Errorf("%s has %v", m.Name, m.Files)
		}
		delete(all, name)
	}
	for name := range all {
		t.Errorf("%s.json is in no ConfigMap of %skustomization.yaml", name, dashboards)
	}
}

// TestQueries: each panel asks only for metrics that there are, the operator's or etcd's own, and for one cluster or those that are chosen.
func TestQueries(t *testing.T) {
	metric := regexp.MustCompile(`\betcd_[a-z_]+`)
	asked, all := map[string]bool{}, known(t)
	for name, d := range read(t) {
		ofOne := false
		for _, v := range d.Templating.List {
			ofOne = ofOne || v.Name == "cluster"
		}
		for _, p := range d.Panels {
			for _, q := range p.Targets {
				names := metric.FindAllString(q.Expr, -1)
				if len(names) == 0 || len(names) > strings.Count(q.Expr, "$namespace") {
					t.Errorf("%s: %s asks for no metric, or not only in the namespaces that are chosen: %s", name, p.Title, q.Expr)
				}
				if ofOne && len(names) > strings.Count(q.Expr, "$cluster") {
					t.Errorf("%s: %s asks for other clusters, too: %s", name, p.Title, q.Expr)
				}
				for _, m := range names {
					asked[m] = true
					if !all[m] {
						t.Errorf("%s: %s asks for %s, which there is not", name, p.Title, m)
					}
				}
			}
		}
	}
	for _, g := range report.Gauges {
		if !asked[g.Name] {
			t.Errorf("no panel shows %s", g.Name)
		}
	}
}

// known are the names of the metrics that the operator and etcd have.
func known(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, g := range report.Gauges {
		names[g.Name] = true
	}
	module, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "go.etcd.io/etcd/server/v3").Output()
	if err != nil {
		t.Fatalf("find the source of etcd: %v", err)
	}
	err = filepath.WalkDir(strings.TrimSpace(string(module)), func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		code, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(code, func(n ast.Node) bool {
			if options, is := n.(*ast.CompositeLit); is {
				add(names, options)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatalf("read the source of etcd: %v", err)
	}
	return names
}

// add adds the metric that is made with these options, such as HistogramOpts: namespace, subsystem and name.
func add(names map[string]bool, options *ast.CompositeLit) {
	parts := map[string]string{}
	for _, e := range options.Elts {
		pair, is := e.(*ast.KeyValueExpr)
		if !is {
			continue
		}
		key, isKey := pair.Key.(*ast.Ident)
		value, isText := pair.Value.(*ast.BasicLit)
		if isKey && isText && value.Kind == token.STRING {
			parts[key.Name] = strings.Trim(value.Value, `"`)
		}
	}
	if parts["Namespace"] == "" || parts["Name"] == "" {
		return
	}
	name := strings.Join([]string{parts["Namespace"], parts["Subsystem"], parts["Name"]}, "_")
	for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
		names[name+suffix] = true
	}
}

// TestKnown: the test above notices a metric that there is not.
func TestKnown(t *testing.T) {
	all := known(t)
	for name, want := range map[string]bool{
		"etcd_server_has_leader": true, "etcd_disk_wal_fsync_duration_seconds_bucket": true, "etcd_operator_cluster_info": true,
		"etcd_server_has_leaders": false, "etcd_operator_cluster_infos": false,
	} {
		if all[name] != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
}

// TestPanels: each panel has a text, queries, an ID and a place of its own within the 24 columns; a dashboard has nothing of one Grafana.
func TestPanels(t *testing.T) {
	for name, d := range read(t) {
		if d.UID != name || d.ID != nil || d.Version != nil {
			t.Errorf("%s: the uid is %s; id and version are to be left out", name, d.UID)
		}
		ids, taken := map[int]bool{}, map[[2]int]bool{}
		for _, p := range d.Panels {
			if p.Title == "" || p.Description == "" || len(p.Targets) == 0 || ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 {
				t.Errorf("%s: a panel has no title, description or query, the id of another, or is too wide: %+v", name, p)
			}
			ids[p.ID] = true
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if taken[[2]int{x, y}] {
						t.Fatalf("%s: two panels are at %d, %d: %+v", name, x, y, p)
					}
					taken[[2]int{x, y}] = true
				}
			}
		}
	}
}
