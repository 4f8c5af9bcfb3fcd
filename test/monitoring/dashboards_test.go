// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
)

// values are those of variables in the queries of dashboards.
var values = strings.NewReplacer("$namespace", "default", "$cluster", "example", "$__rate_interval", "5m")

// TestDashboards: Prometheus reads each query, and each shows something of clusters that two replicas of the operator have looked at.
func TestDashboards(t *testing.T) {
	ask := engine(t)
	files, err := filepath.Glob("../../config/monitoring/dashboards/*.json")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	asked := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var page struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		if err := json.Unmarshal(text, &page); err != nil {
			t.Fatal(file, err)
		}
		for _, p := range page.Panels {
			for _, q := range p.Targets {
				asked++
				if found := ask(values.Replace(q.Expr)); len(found) == 0 {
					t.Errorf("%s: panel %s shows nothing: %s", filepath.Base(file), p.Title, q.Expr)
				}
			}
		}
	}
	if asked < 50 {
		t.Errorf("only %d queries were found", asked)
	}
}

// TestValues: what two replicas say is not counted twice, members of clusters with a similar name are left out, and learners do not vote.
func TestValues(t *testing.T) {
	ask := engine(t)
	for file, panels := range map[string]map[string]float64{
		"etcd-fleet": {
			"Clusters": 2, "Not available": 1, "Degraded": 1, "Alarms": 1, "Without a leader": 1, "Paused": 0, "Share of the quota": 0.6,
		},
		"etcd-cluster": {
			"Members healthy": 2, "Members wanted": 3, "Leader": 1, "Proposals": 20, "Leader changes in an hour": 2,
			"How drills ended": 2, "Recovered in": 2.5,
		},
		"etcd-backups": {
			"Schedules that fail": 1, "Clusters without a verified backup": 1, "Stores that do not delete": 1,
			"Newest backup that is not verified yet": 1800,
		},
	} {
		for title, want := range panels {
			found := ask(values.Replace(firstQuery(t, file, title)))
			if len(found) != 1 || found[0].F < want*0.97 || found[0].F > want*1.03 {
				t.Errorf("%s: %s is %v, wanted %v", file, title, found, want)
			}
		}
	}
}

// engine is a Prometheus with the series of testdata, an hour and a half after their beginning.
func engine(t *testing.T) func(query string) promql.Vector {
	t.Helper()
	series, err := os.ReadFile("testdata/dashboards.txt")
	if err != nil {
		t.Fatal(err)
	}
	store := promqltest.LoadedStorage(t, string(series))
	t.Cleanup(func() { _ = store.Close() }) // it was only read
	run := promqltest.NewTestEngine(t, false, 5*time.Minute, 1e6)
	return func(query string) promql.Vector {
		t.Helper()
		asked, err := run.NewInstantQuery(t.Context(), store, nil, query, time.Unix(90*60, 0))
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		defer asked.Close()
		found, err := asked.Exec(t.Context()).Vector()
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		return append(promql.Vector(nil), found...)
	}
}

func firstQuery(t *testing.T, file, title string) string {
	t.Helper()
	var page struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	read(t, "../../config/monitoring/dashboards/"+file+".json", &page)
	for _, p := range page.Panels {
		if p.Title == title {
			return p.Targets[0].Expr
		}
	}
	t.Fatalf("%s has no panel %s", file, title)
	return ""
}
