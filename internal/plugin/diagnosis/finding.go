// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"slices"
	"strings"

	"github.com/etcd-operator/etcd-operator/internal/plugin/screen"
)

// Severity ranks findings.
type Severity string

// The severities, the worst first.
const (
	// ServiceDown: clients are not served, or nobody knows whether they are.
	ServiceDown Severity = "ServiceDown"
	// DataAtRisk: data is lost, or one more fault loses some.
	DataAtRisk Severity = "DataAtRisk"
	// RedundancyLost: clients are served, and one more fault may end that; or nothing heals.
	RedundancyLost Severity = "RedundancyLost"
	// WillBeAProblem: nothing is lost yet, and will be if nobody acts.
	WillBeAProblem Severity = "WillBeAProblem"
	// Hint: worth knowing, and nothing is wrong.
	Hint Severity = "Hint"
	// Fine: there is nothing to say. No finding has it.
	Fine Severity = "Fine"
)

// severities in their order.
var severities = []Severity{ServiceDown, DataAtRisk, RedundancyLost, WillBeAProblem, Hint, Fine}

// Manual is where the pages of findings are.
const Manual = "https://github.com/etcd-operator/etcd-operator/blob/main/docs/"

// Finding is one thing that is wrong.
type Finding struct {
	Severity Severity `json:"severity"`
	// What is true, as a condition, an event or the Lease of the operator says it.
	What string `json:"what"`
	// Do is what a person does about it.
	Do string `json:"do"`
	// Run is a command that shows more of it.
	Run string `json:"run"`
	// Page explains it, below docs/; a runbook where there is one. In JSON and in the text it is an address.
	Page string `json:"page"`
}

// Diagnosis is what kubectl etcd diagnose says of one cluster. Its JSON is what scripts read.
type Diagnosis struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Healthy is true while nothing is worse than a hint.
	Healthy  bool      `json:"healthy"`
	State    string    `json:"state"`
	Findings []Finding `json:"findings"`
	// Read is what was looked at, and Unread what could not be, and why.
	Read   []string `json:"read"`
	Unread []string `json:"unread,omitempty"`
}

// checks are asked in this order; findings of one severity stay in it.
var checks = []func(Facts) []Finding{
	conditions, operator, newest, stores, restores, warned,
}

// Of is the diagnosis of a cluster.
func Of(f Facts) Diagnosis {
	status := screen.Of(screen.Objects{Cluster: f.Cluster})
	d := Diagnosis{
		Namespace: f.Cluster.Namespace, Name: f.Cluster.Name, State: status.State, Findings: []Finding{}, Read: read(f), Unread: f.Unread,
	}
	asked := checks
	if f.Cluster.IsGoing() {
		asked = checks[:1] // what else is missing is gone as well
	}
	for _, check := range asked {
		d.Findings = append(d.Findings, check(f)...)
	}
	slices.SortStableFunc(d.Findings, func(a, b Finding) int { return cmp.Compare(rank(a.Severity), rank(b.Severity)) })
	for i, one := range d.Findings {
		d.Findings[i].Page = Manual + one.Page
		if d.Findings[i].Run = strings.ReplaceAll(one.Run, "CLUSTER", f.Cluster.Name); !strings.Contains(one.Run, " -n ") {
			d.Findings[i].Run += " -n " + f.Cluster.Namespace
		}
	}
	d.Healthy = !slices.ContainsFunc(d.Findings, func(one Finding) bool { return one.Severity != Hint })
	return d
}

func rank(s Severity) int { return slices.Index(severities, s) }
