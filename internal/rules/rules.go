// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rules is how every kind of object decides its next step: an ordered list of named rules, of which the first that decides
// wins. Each list has a page under docs/reference and scripts under testdata in which each of its rules decides (rulestest).
//
// It must never import anything of Kubernetes, of etcd or of this module: it is a loop.
package rules

// Rule looks at a view and either decides the step or passes, returning nil. S is an interface type.
type Rule[V any, S comparable] struct {
	name   string
	decide func(V) S
	does   string // in one line, for its page
}

// New is a rule: its name, what it decides, and what it does in one line, for its page.
func New[V any, S comparable](name string, decide func(V) S, does string) Rule[V, S] {
	return Rule[V, S]{name, decide, does}
}

// Section is a part of a list that has a heading on its page.
type Section[V any, S comparable] struct {
	heading string // empty: none
	rules   []Rule[V, S]
}

// Under is a section.
func Under[V any, S comparable](heading string, all ...Rule[V, S]) Section[V, S] {
	return Section[V, S]{heading, all}
}

// List is all rules of a kind, in the order in which they are asked.
type List[V any, S comparable] []Section[V, S]

// Of is a list without headings.
func Of[V any, S comparable](all ...Rule[V, S]) List[V, S] { return List[V, S]{Under("", all...)} }

// Next is the step of the first rule that decides, and the name of that rule; nil and "" if none does.
func (l List[V, S]) Next(view V) (step S, name string) {
	var passes S
	for _, section := range l {
		for _, rule := range section.rules {
			if step = rule.decide(view); step != passes {
				return step, rule.name
			}
		}
	}
	return passes, ""
}

// Line is what documentation says of a rule.
type Line struct{ Heading, Name, Does string }

// Lines are those of all rules in their order.
func (l List[V, S]) Lines() (all []Line) {
	for _, section := range l {
		for _, rule := range section.rules {
			all = append(all, Line{section.heading, rule.name, rule.does})
		}
	}
	return all
}
