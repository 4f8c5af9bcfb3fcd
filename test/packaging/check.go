// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package packaging says what is wrong with a bundle or a catalog, in lines that each say what to do.
//
// It reads files only: no cluster, no registry, no clock. Everything that depends on where and when a bundle is looked
// at is in Options. Rules that others keep are asked of their own code: operator-framework/api and operator-registry
// (what `operator-sdk bundle validate` and `opm validate` run), crdify (which OLM v1 runs before it changes a CRD),
// pod-security-admission and the CEL library of the API server. What OperatorHub's and Red Hat's pipelines, scorecard and
// OLM v1's own validators ask cannot be imported; those rules are written down here again, each with its origin.
package packaging

import (
	"fmt"
	"slices"
	"time"
)

// Options say what a bundle is compared with.
type Options struct {
	// Digests asks for every image by digest: the bundle was made for a registry. Without it an exact version tag will do,
	// since a digest is not known before the image is somewhere.
	Digests bool
	// Released is the day createdAt is compared with; zero compares it with nothing.
	Released time.Time
	// Rights are files with the roles that the bundle must grant, no more and no less; none compares with nothing.
	Rights []string
	// CRDs are the generated CRDs that the bundle must hold as they are; none compares with nothing.
	CRDs []string
	// Dockerfile must carry the labels of metadata/annotations.yaml; empty compares with nothing.
	Dockerfile string
	// Previous are the folders of bundles, published or not, whose users will update to this one.
	Previous []string
	// Reviewed are changes of CEL rules that somebody has looked at.
	Reviewed []Reviewed
}

// Problem is one thing to mend.
type Problem struct {
	// Rule is the name of the rule, for those who look for it in this package.
	Rule string
	// Text says in one line what is wrong and what to do.
	Text string
}

func (p Problem) String() string { return p.Rule + ": " + p.Text }

// unreadable stands for the rule of a bundle that no rule could look at.
const unreadable = "bundle"

// rule looks at one side of a bundle. It returns one line for each thing to mend.
type rule struct {
	name  string
	check func(*Bundle, Options) []string
}

// rules are in the order in which their lines are read: is it a bundle at all, is it complete, does it run, does it update.
var rules = []rule{
	{"bundle format", checkFormat},
	{"operator-framework", checkValidators},
	{"names", checkNames},
	{"labels", checkLabels},
	{"required fields", checkRequired},
	{"annotations", checkAnnotations},
	{"description", checkDescription},
	{"features", checkFeatures},
	{"createdAt", checkCreatedAt},
	{"icon", checkIcon},
	{"size", checkSize},
	{"kinds", checkKinds},
	{"images", checkImages},
	{"volumes", checkVolumes},
	{"pods", checkPods},
	{"rights", checkRights},
	{"install modes", checkInstallModes},
	{"CRDs", checkCRDs},
	{"resources", checkResources},
	{"descriptors", checkDescriptors},
	{"examples", checkExamples},
	{"OLM v1", checkOLMv1},
	{"CRD upgrade", checkUpgrade},
}

// lines are what rules find.
type lines []string

func (l *lines) add(format string, args ...any) { *l = append(*l, fmt.Sprintf(format, args...)) }

// Check returns what is wrong with the bundle in a folder, in a fixed order; nothing if it is fit to be published.
func Check(folder string, options Options) []Problem {
	bundle, err := Load(folder)
	if err != nil {
		return []Problem{{unreadable, fmt.Sprintf("cannot be read, fix it first: %v", err)}}
	}
	var problems []Problem
	for _, r := range rules {
		for _, text := range r.check(bundle, options) {
			problem := Problem{r.name, oneLine(text)}
			if !slices.Contains(problems, problem) {
				problems = append(problems, problem)
			}
		}
	}
	return problems
}
