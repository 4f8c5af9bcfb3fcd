// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	prometheus "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// dashboard is what is drawn of the JSON of Grafana.
type dashboard struct {
	Title      string  `json:"title"`
	Panels     []panel `json:"panels"`
	Templating struct {
		List []struct {
			Name     string `json:"name"`
			AllValue string `json:"allValue"`
		} `json:"list"`
	} `json:"templating"`
}

// panel is one of them, with the answers to its queries.
type panel struct {
	Type    string `json:"type"`
	Title   string `json:"title"`
	GridPos struct {
		X int `json:"x"`
		Y int `json:"y"`
		W int `json:"w"`
		H int `json:"h"`
	} `json:"gridPos"`
	Targets     []target `json:"targets"`
	FieldConfig struct {
		Defaults struct {
			Unit       string `json:"unit"`
			Thresholds struct {
				Steps []threshold `json:"steps"`
			} `json:"thresholds"`
			Custom struct {
				LineInterpolation string `json:"lineInterpolation"`
			} `json:"custom"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	series []series
}

type target struct {
	Expr    string `json:"expr"`
	Legend  string `json:"legendFormat"`
	Instant bool   `json:"instant"`
}

// threshold is from which value on there is another colour; nil: from the lowest.
type threshold struct {
	Value *float64 `json:"value"`
	Color string   `json:"color"`
}

// series is a line, or a row of a table, which has one point.
type series struct {
	name   string
	labels model.Metric
	points []model.SamplePair
}

func read(file string) (dashboard, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return dashboard{}, err
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		return dashboard{}, fmt.Errorf("%s is no dashboard: %w", file, err)
	}
	return d, nil
}

// ask asks Prometheus what the panels ask, and returns them with the answers.
func ask(ctx context.Context, api prometheus.API, d dashboard, given variables, shown prometheus.Range) ([]panel, error) {
	values := variables{}
	for _, v := range d.Templating.List {
		if v.AllValue != "" {
			values[v.Name] = v.AllValue
		}
	}
	for name, value := range given {
		values[name] = value
	}
	var all []panel
	for _, p := range d.Panels {
		for _, t := range p.Targets {
			found, err := answer(ctx, api, t, values, shown)
			if err != nil {
				return nil, fmt.Errorf("panel %s: %w", p.Title, err)
			}
			p.series = append(p.series, found...)
		}
		all = append(all, p)
	}
	return all, nil
}

func answer(ctx context.Context, api prometheus.API, t target, values variables, shown prometheus.Range) ([]series, error) {
	query, err := replaced(t.Expr, values)
	if err != nil {
		return nil, err
	}
	if t.Instant {
		value, _, _, err := api.Query(ctx, query, shown.End)
		if err != nil {
			return nil, fmt.Errorf("ask %s: %w", query, err)
		}
		return rows(value)
	}
	value, _, _, err := api.QueryRange(ctx, query, shown)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", query, err)
	}
	matrix, is := value.(model.Matrix)
	if !is {
		return nil, fmt.Errorf("ask %s: the answer is a %s", query, value.Type())
	}
	var all []series
	for _, s := range matrix {
		all = append(all, series{named(t.Legend, s.Metric), s.Metric, s.Values})
	}
	return sorted(all), nil
}

func rows(value model.Value) ([]series, error) {
	vector, is := value.(model.Vector)
	if !is {
		return nil, fmt.Errorf("the answer is a %s", value.Type())
	}
	var all []series
	for _, s := range vector {
		all = append(all, series{s.Metric.String(), s.Metric, []model.SamplePair{{Timestamp: s.Timestamp, Value: s.Value}}})
	}
	return sorted(all), nil
}

func sorted(all []series) []series {
	slices.SortFunc(all, func(a, b series) int { return cmp.Compare(a.name, b.name) })
	return all
}

var variable = regexp.MustCompile(`\$\{?([A-Za-z_]+)\}?`)

// replaced is a query with the values of the variables.
func replaced(query string, values variables) (string, error) {
	var missing []string
	text := variable.ReplaceAllStringFunc(query, func(found string) string {
		name := strings.Trim(found, "${}")
		value, has := values[name]
		if !has {
			missing = append(missing, name)
		}
		return value
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("give -set=%s=VALUE: the dashboard has that variable", missing[0])
	}
	return text, nil
}

var placeholder = regexp.MustCompile(`\{\{ *([A-Za-z_]+) *\}\}`)

// named is the legend of a series.
func named(legend string, labels model.Metric) string {
	if legend == "" {
		return labels.String()
	}
	return placeholder.ReplaceAllStringFunc(legend, func(found string) string {
		return string(labels[model.LabelName(strings.Trim(found, "{} "))])
	})
}
