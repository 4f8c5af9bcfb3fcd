// Package dashboards says what Grafana shows of clusters: what Prometheus is asked, and in which words.
//
// It is pure. Rows that need no scrape of members come first: they are of the operator's own metrics.
package dashboards

// A Dashboard is one page. Scope says which variables choose what it shows.
type Dashboard struct {
	Name    string // of its file and its ConfigMap; also its uid
	Title   string
	Summary string
	Scope   Scope
	Rows    []Row
}

// Scope is what a dashboard shows.
type Scope int

// The scopes.
const (
	// Fleet shows every cluster, or those of some namespaces.
	Fleet Scope = iota
	// Cluster shows one.
	Cluster
)

// A Row is a heading with panels below.
type Row struct {
	Title  string
	Panels []Panel
}

// A Panel is one picture. Help says what is good, and what to do where it is not.
type Panel struct {
	Kind    Kind
	Title   string
	Help    string
	Unit    Unit
	Queries []Query
	// Warn and Bad are from which value on a number is orange and red; nil: it is never. With Low it is below.
	Warn, Bad *float64
	Low       bool
}

// A Query asks Prometheus; Legend names its series by their labels, as {{label}}.
type Query struct {
	Expr   string
	Legend string
}

// Kind is how a panel shows.
type Kind int

// The kinds.
const (
	// Number is the value of now, with its line behind.
	Number Kind = iota
	// Lines are series over time.
	Lines
	// Steps are series over time that do not rise or fall in between.
	Steps
	// Table has the labels and the value of now, a series a row.
	Table
)

// Unit is that of the values.
type Unit string

// The units, by the names that Grafana has for them.
const (
	Count   Unit = "short"
	Bytes   Unit = "bytes"
	Seconds Unit = "s"
	Share   Unit = "percentunit"
	Rate    Unit = "ops"
)

// All are the dashboards.
var All = []Dashboard{fleet, cluster, backups}

// at is a threshold.
func at(value float64) *float64 { return &value }
