package dashboards_test

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
	"github.com/etcd-operator/etcd-operator/internal/monitoring/dashboards"
)

var update = flag.Bool("update", false, "write config/monitoring/dashboards instead of comparing with it")

const (
	folder     = "../../../config/monitoring/dashboards"
	configMaps = "../../../config/monitoring/dashboards.yaml"
)

// TestFiles: what there is to import, and to apply for the sidecar of Grafana, is what this package says.
func TestFiles(t *testing.T) {
	all := []string{"# Dashboards for the sidecar of Grafana. Made by go test ./internal/monitoring/... -update.\n"}
	for _, d := range dashboards.All {
		text, err := dashboards.JSON(d)
		if err != nil {
			t.Fatal(err)
		}
		isWritten(t, filepath.Join(folder, d.Name+".json"), string(text))
		object, err := yaml.Marshal(dashboards.ConfigMap(d, text))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(object))
	}
	isWritten(t, configMaps, all[0]+strings.Join(all[1:], "---\n"))
	files, err := filepath.Glob(folder + "/*.json")
	if err != nil || len(files) != len(dashboards.All) {
		t.Errorf("%v are there, and %d are made: %v", files, len(dashboards.All), err)
	}
}

func isWritten(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(file); err != nil || string(have) != want {
		t.Errorf("%s is not what there is (%v): run go test ./internal/monitoring/... -update", file, err)
	}
}

// TestQueries: each panel asks only for metrics that there are, the operator's or etcd's own, and for one cluster or those that are chosen.
func TestQueries(t *testing.T) {
	metric := regexp.MustCompile(`\betcd_[a-z_]+`)
	asked, all := map[string]bool{}, known(t)
	for _, d := range dashboards.All {
		for _, row := range d.Rows {
			for _, p := range row.Panels {
				if p.Title == "" || p.Help == "" || len(p.Queries) == 0 {
					t.Errorf("%s: a panel has no title, help or query: %+v", d.Name, p)
				}
				for _, q := range p.Queries {
					names := metric.FindAllString(q.Expr, -1)
					if len(names) == 0 || len(names) > strings.Count(q.Expr, "$namespace") {
						t.Errorf("%s: %s asks for no metric, or not only in the namespaces that are chosen: %s", d.Name, p.Title, q.Expr)
					}
					if d.Scope == dashboards.Cluster && len(names) > strings.Count(q.Expr, "$cluster") {
						t.Errorf("%s: %s asks for other clusters, too: %s", d.Name, p.Title, q.Expr)
					}
					for _, name := range names {
						asked[name] = true
						if !all[name] {
							t.Errorf("%s: %s asks for %s, which there is not", d.Name, p.Title, name)
						}
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

// TestGrafana: each panel has an ID and a place of its own within the 24 columns, and a target for each query.
func TestGrafana(t *testing.T) {
	type place struct{ X, Y, W, H int }
	for _, d := range dashboards.All {
		text, err := dashboards.JSON(d)
		if err != nil {
			t.Fatal(err)
		}
		var page struct {
			UID    string
			Panels []struct {
				ID      int
				Type    string
				GridPos place
				Targets []struct{ Expr string }
			}
		}
		if err := json.Unmarshal(text, &page); err != nil || page.UID != d.Name {
			t.Fatal(page.UID, err)
		}
		panels, seen, taken := 0, map[int]bool{}, map[[2]int]bool{}
		for _, p := range page.Panels {
			if p.Type == "row" {
				continue
			}
			panels++
			if seen[p.ID] || len(p.Targets) == 0 || p.GridPos.X+p.GridPos.W > 24 {
				t.Errorf("%s: %+v", d.Name, p)
			}
			seen[p.ID] = true
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if taken[[2]int{x, y}] {
						t.Fatalf("%s: two panels are at %d, %d: %+v", d.Name, x, y, p)
					}
					taken[[2]int{x, y}] = true
				}
			}
		}
		want := 0
		for _, row := range d.Rows {
			want += len(row.Panels)
		}
		if panels != want {
			t.Errorf("%s has %d panels, wanted %d", d.Name, panels, want)
		}
	}
}
