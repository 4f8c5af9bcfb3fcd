package dashboards

import (
	"encoding/json"
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SidecarLabel is what the sidecar of Grafana's chart looks for
// (https://github.com/grafana/helm-charts/tree/main/charts/grafana#sidecar-for-dashboards).
const SidecarLabel = "grafana_dashboard"

// Sizes of panels, in columns of 24 and in rows of 30 pixels.
const (
	wide       = 24
	numberHigh = 4
	linesHigh  = 8
)

// JSON is the dashboard as Grafana imports it. It is of the first schema, which sidecars and every Grafana since 9 read.
func JSON(d Dashboard) ([]byte, error) {
	//nolint:staticcheck // the second schema is not read by sidecars, nor by Grafana before 12
	page := dashboard.NewDashboardBuilder(d.Title).Uid(d.Name).Description(d.Summary).Tags([]string{"etcd", "etcd-operator"}).
		Timezone("browser").Time("now-6h", "now").Refresh("1m").Tooltip(dashboard.DashboardCursorSyncCrosshair).Readonly()
	for _, v := range variables(d.Scope) {
		page.WithVariable(v)
	}
	id := uint32(0)
	for _, row := range d.Rows {
		id++
		page.WithRow(dashboard.NewRowBuilder(row.Title).Id(id))
		for _, p := range row.Panels {
			id++
			page.WithPanel(built(p, id, width(p, row.Panels)))
		}
	}
	made, err := page.Build()
	if err != nil {
		return nil, fmt.Errorf("build dashboard %s: %w", d.Name, err)
	}
	text, err := json.MarshalIndent(made, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write dashboard %s: %w", d.Name, err)
	}
	return append(text, '\n'), nil
}

// ConfigMap has the dashboard for the sidecar.
func ConfigMap(d Dashboard, text []byte) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: d.Name + "-dashboard", Labels: map[string]string{
			SidecarLabel:             "1",
			"app.kubernetes.io/name": "etcd-operator",
		}},
		Data: map[string]string{d.Name + ".json": string(text)},
	}
}

// width shares a row among the panels of the same kind: numbers stand beside each other, then the others, three at most.
func width(p Panel, row []Panel) uint32 {
	same := 0
	for _, other := range row {
		if (other.Kind == Number) == (p.Kind == Number) {
			same++
		}
	}
	if p.Kind == Number {
		return uint32(wide / same)
	}
	if same%3 == 0 {
		return wide / 3
	}
	return uint32(wide / min(same, 2))
}

const source = "${datasource}"

func datasource() common.DataSourceRef {
	kind, uid := "prometheus", source
	return common.DataSourceRef{Type: &kind, Uid: &uid}
}

// variables choose the data source, and which clusters are shown.
func variables(scope Scope) []cog.Builder[dashboard.VariableModel] {
	ask := func(name, label, query string) *dashboard.QueryVariableBuilder {
		return dashboard.NewQueryVariableBuilder(name).Label(label).Datasource(datasource()).Query(dashboard.StringOrMap{String: &query}).
			Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortAlphabeticalAsc)
	}
	all := []cog.Builder[dashboard.VariableModel]{dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus")}
	const namespaces = `label_values(etcd_operator_cluster_info, namespace)`
	if scope == Cluster {
		return append(all, ask("namespace", "Namespace", namespaces),
			ask("cluster", "Cluster", `label_values(etcd_operator_cluster_info{namespace="$namespace"}, cluster)`))
	}
	return append(all, ask("namespace", "Namespace", namespaces).Multi(true).IncludeAll(true).AllValue(".*"))
}

// built is a panel of Grafana.
func built(p Panel, id, columns uint32) cog.Builder[dashboard.Panel] {
	switch p.Kind {
	case Number:
		panel := stat.NewPanelBuilder().Id(id).Title(p.Title).Description(p.Help).Datasource(datasource()).Height(numberHigh).Span(columns).
			Unit(string(p.Unit)).Thresholds(thresholds(p)).GraphMode(common.BigValueGraphModeArea).ColorMode(common.BigValueColorModeValue).
			ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"}))
		return panel.Targets(targets(p))
	case Table:
		panel := table.NewPanelBuilder().Id(id).Title(p.Title).Description(p.Help).Datasource(datasource()).Height(linesHigh).Span(columns).
			Unit(string(p.Unit)).WithTransformation(hidden(p))
		return panel.Targets(targets(p))
	case Lines, Steps:
	}
	panel := timeseries.NewPanelBuilder().Id(id).Title(p.Title).Description(p.Help).Datasource(datasource()).Height(linesHigh).Span(columns).
		Unit(string(p.Unit)).Min(0).Thresholds(thresholds(p)).FillOpacity(5).ShowPoints(common.VisibilityModeNever).
		Legend(common.NewVizLegendOptionsBuilder().DisplayMode(common.LegendDisplayModeList).
			Placement(common.LegendPlacementBottom).ShowLegend(true))
	if p.Kind == Steps {
		panel.LineInterpolation(common.LineInterpolationStepAfter)
	}
	if p.Warn != nil || p.Bad != nil {
		panel.ThresholdsStyle(common.NewGraphThresholdsStyleConfigBuilder().Mode(common.GraphThresholdsStyleModeDashed))
	}
	return panel.Targets(targets(p))
}

// hidden leaves the time out of a table, and the value where the labels say all.
func hidden(p Panel) dashboard.DataTransformerConfig {
	hide := map[string]bool{"Time": true}
	if p.Unit == "" {
		hide["Value"] = true
	}
	return dashboard.DataTransformerConfig{Id: "organize", Options: map[string]any{"excludeByName": hide}}
}

func targets(p Panel) []cog.Builder[variants.Dataquery] {
	var all []cog.Builder[variants.Dataquery]
	for i, q := range p.Queries {
		target := prometheus.NewDataqueryBuilder().Expr(q.Expr).LegendFormat(q.Legend).RefId(string(rune('A' + i))).Datasource(datasource())
		if p.Kind == Table {
			target.Instant().Format(prometheus.PromQueryFormatTable)
		} else {
			target.Range()
		}
		all = append(all, target)
	}
	return all
}

// thresholds colour a value: green, orange from Warn on, red from Bad on; with Low below them.
func thresholds(p Panel) *dashboard.ThresholdsConfigBuilder {
	const good, warn, bad = "green", "orange", "red"
	var steps []dashboard.Threshold
	add := func(from *float64, colour string) {
		steps = append(steps, dashboard.Threshold{Value: from, Color: colour})
	}
	switch {
	case !p.Low:
		add(nil, good)
		if p.Warn != nil {
			add(p.Warn, warn)
		}
		if p.Bad != nil {
			add(p.Bad, bad)
		}
	case p.Bad != nil:
		add(nil, bad)
		if p.Warn != nil {
			add(p.Bad, warn)
			add(p.Warn, good)
		} else {
			add(p.Bad, good)
		}
	default:
		add(nil, warn)
		add(p.Warn, good)
	}
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(steps)
}
