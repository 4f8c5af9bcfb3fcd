// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"image/png"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"gonum.org/v1/plot/plotter"
)

const folder = "../../../config/monitoring/dashboards/"

// prometheusOf answers every query: three series of an hour, one of which has a gap; to an instant query three rows.
func prometheusOf(t *testing.T, asked *[]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		query := r.Form.Get("query")
		*asked = append(*asked, query)
		var all []any
		for i := range 3 {
			labels := map[string]string{
				"namespace": "default", "cluster": "example", "member": fmt.Sprintf("example-%d", i), "pod": fmt.Sprintf("example-%d", i),
				"reason": "Healthy",
			}
			one := map[string]any{"metric": labels}
			if strings.HasSuffix(r.URL.Path, "query_range") {
				one["values"] = points(r, i)
			} else {
				one["value"] = []any{1.8e9, "1"}
			}
			all = append(all, one)
		}
		kind := "vector"
		if strings.HasSuffix(r.URL.Path, "query_range") {
			kind = "matrix"
		}
		answer := map[string]any{"status": "success", "data": map[string]any{"resultType": kind, "result": all}}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func points(r *http.Request, series int) []any {
	from, _ := strconv.ParseFloat(r.Form.Get("start"), 64)
	to, _ := strconv.ParseFloat(r.Form.Get("end"), 64)
	var all []any
	for at := from; at <= to; at += (to - from) / 60 {
		value := fmt.Sprint(0.2 + 0.1*float64(series) + (at-from)/(to-from)/2)
		if series == 1 && len(all) == 30 {
			value = "NaN"
		}
		all = append(all, []any{at, value})
	}
	return all
}

// TestRender draws every dashboard that there is, as PNG and as SVG.
func TestRender(t *testing.T) {
	files, err := filepath.Glob(folder + "*.json")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		var asked []string
		url := prometheusOf(t, &asked)
		for _, kind := range []string{".png", ".svg"} {
			out := filepath.Join(t.TempDir(), "picture"+kind)
			if to := os.Getenv("PICTURES"); to != "" {
				out = filepath.Join(to, strings.TrimSuffix(filepath.Base(file), ".json")+kind)
			}
			if err := run(t.Context(), []string{
				"-prometheus", url, "-dashboard", file, "-out", out, "-set", "namespace=default", "-set", "cluster=example", "-until",
				"2027-01-15T08:00:00Z",
			}); err != nil {
				t.Fatal(err)
			}
			isPicture(t, out)
		}
		for _, query := range asked {
			if strings.Contains(query, "$") {
				t.Errorf("a variable was left in %s", query)
			}
		}
	}
}

// isPicture says whether there is more than one colour in it.
func isPicture(t *testing.T, file string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(file, ".svg") {
		for _, part := range []string{"<svg", "example-1"} {
			if !strings.Contains(string(raw), part) {
				t.Errorf("%s has no %q", file, part)
			}
		}
		return
	}
	picture, err := png.Decode(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[any]bool{}
	for x := 0; x < picture.Bounds().Dx(); x += 3 {
		for y := 0; y < picture.Bounds().Dy(); y += 3 {
			seen[picture.At(x, y)] = true
		}
	}
	if picture.Bounds().Dx() < 1000 || len(seen) < 10 {
		t.Errorf("%s is %v with %d colours", file, picture.Bounds(), len(seen))
	}
}

// TestWrongUse: each error says what to give.
func TestWrongUse(t *testing.T) {
	var asked []string
	url := prometheusOf(t, &asked)
	for want, arguments := range map[string][]string{
		"-prometheus, -dashboard and -out are needed": nil,
		"must end with .png or .svg":                  {"-prometheus", url, "-dashboard", "d", "-out", "picture.gif"},
		"give -set=namespace=VALUE": {
			"-prometheus", url, "-dashboard", folder + "etcd-cluster.json", "-out", filepath.Join(t.TempDir(), "p.png"),
		},
		"no such file": {"-prometheus", url, "-dashboard", "none.json", "-out", "p.png"},
	} {
		if err := run(t.Context(), arguments); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, wanted %s", arguments, err, want)
		}
	}
}

// TestUnits: a value is readable in its unit.
func TestUnits(t *testing.T) {
	for want, is := range map[string]string{
		"75 %": shownAs(0.75, "percentunit"), "1.5 GiB": shownAs(1.5*(1<<30), "bytes"), "8.5 ms": shownAs(0.0085, "s"), "2 d": shownAs(2*86400,
			"s"),
		"20 µs": shownAs(0.00002, "s"), "1.2 k/s": shownAs(1200, "ops"), "3": shownAs(3, "short"), "0 s": shownAs(0, "s"),
	} {
		if is != want {
			t.Errorf("%q, wanted %q", is, want)
		}
	}
}

// TestPieces: what is no number ends a line, and is not drawn as 0.
func TestPieces(t *testing.T) {
	nan := model.SampleValue(math.NaN())
	is := pieces([]model.SamplePair{
		{Timestamp: 1000, Value: 1}, {Timestamp: 2000, Value: nan}, {Timestamp: 3000, Value: 3}, {Timestamp: 4000, Value: 4},
	})
	if want := []plotter.XYs{{{X: 1, Y: 1}}, {{X: 3, Y: 3}, {X: 4, Y: 4}}}; !reflect.DeepEqual(is, want) {
		t.Errorf("%v, wanted %v", is, want)
	}
}
