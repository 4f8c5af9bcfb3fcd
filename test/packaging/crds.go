// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/crdify/pkg/config"
	"sigs.k8s.io/crdify/pkg/runner"
	"sigs.k8s.io/crdify/pkg/validations"
	"sigs.k8s.io/yaml"
)

// Reviewed is a change that somebody has looked at: objects that are stored go on to be valid, and lose nothing. Nobody can see that from
// the schemas alone, so OLM v1 refuses every such change; whoever updates past one there has to allow it.
type Reviewed struct {
	// Since are the releases that are before the change.
	Since []string `json:"since"`
	// CRD and Field say where, such as etcdclusters.etcd-operator.dev and ^.spec.size.
	CRD   string `json:"crd"`
	Field string `json:"field"`
	// Because says why the change takes nothing away.
	Because string `json:"because"`
}

// checkCRDs compares the bundle's CRDs with the generated ones.
func checkCRDs(b *Bundle, options Options) []string {
	var all lines
	for _, file := range options.CRDs {
		want, err := readCRD(file)
		if err != nil {
			return []string{err.Error()}
		}
		all = append(all, unescaped(want)...)
		have := b.crd(want.Name)
		if have == nil || !equality.Semantic.DeepEqual(have.Spec, want.Spec) {
			all.add("CRD %s is not the one in %s: run 'make bundle'", want.Name, filepath.Base(file))
		}
	}
	if len(options.CRDs) > 0 && len(b.Raw.V1CRDs) != len(options.CRDs) {
		all.add("the bundle has %d CRDs, config/crd has %d: run 'make bundle'", len(b.Raw.V1CRDs), len(options.CRDs))
	}
	return all
}

// reserved are the words of CEL that no identifier may be, after a dot.
var reserved = regexp.MustCompile(
	`\.(as|break|const|continue|else|for|function|if|import|in|let|loop|namespace|package|return|var|void|while)\b`)

// unescaped says which rules name a field by a reserved word as it is. Kubernetes calls such a field __word__ in rules; newer versions
// take the word, too, but 1.30 refuses the whole CRD
// (https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules).
func unescaped(crd *apiextensionsv1.CustomResourceDefinition) []string {
	var all lines
	for _, version := range crd.Spec.Versions {
		fields := validations.FlattenCRDVersion(version)
		for _, name := range sortedKeys(fields) {
			for _, rule := range fields[name].XValidations {
				if word := reserved.FindString(rule.Rule); word != "" {
					all.add("%s %s: older versions of Kubernetes refuse the CEL rule %q: write .__%s__", crd.Name, name, rule.Rule, word[1:])
				}
			}
		}
	}
	return all
}

func readCRD(file string) (*apiextensionsv1.CustomResourceDefinition, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(raw, crd); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return crd, nil
}

// checkUpgrade asks, for each released bundle, whether its objects live on under the CRDs of this one.
func checkUpgrade(b *Bundle, options Options) []string {
	var all lines
	for _, folder := range options.Previous {
		released, err := loadReleased(folder)
		if err != nil {
			all.add("released bundle %s cannot be read: %v", folder, err)
			continue
		}
		since := "v" + released.CSV.Spec.Version.String()
		for _, old := range released.Raw.V1CRDs {
			for _, text := range Unsafe(old, b.crd(old.Name), since, options.Reviewed) {
				all.add("CRD %s since %s: %s", old.Name, since, text)
			}
		}
		all = append(all, lostExamples(released, b, since)...)
	}
	return all
}

// released keeps bundles that were read, since they never change and each check reads them all.
var released sync.Map

func loadReleased(folder string) (*Bundle, error) {
	if known, there := released.Load(folder); there {
		return known.(*Bundle), nil
	}
	b, err := Load(folder)
	if err == nil {
		released.Store(folder, b)
	}
	return b, err
}

// lostExamples takes the examples of a release as objects that somebody has made: they must be valid still, also when they
// are only touched.
func lostExamples(released, b *Bundle, since string) []string {
	var all lines
	for _, example := range released.Examples {
		props := b.schema(example.GetKind(), example.GroupVersionKind().Version)
		if props == nil {
			continue
		}
		j, err := newJudge(props)
		if err != nil {
			return []string{err.Error()}
		}
		for _, finding := range j.admit(example.Object, example.Object) {
			all.add("example %s of %s would no longer be accepted: %s", example.GetName(), since, finding)
		}
	}
	return all
}

// reviews are those of one CRD since one release.
func reviews(all []Reviewed, crd, since string) []string {
	var fields []string
	for _, r := range all {
		if r.CRD == crd && slices.Contains(r.Since, since) {
			fields = append(fields, r.Field)
		}
	}
	return fields
}

// Unsafe says what of a change from one CRD to another OLM v1 would refuse, but for what is reviewed.
func Unsafe(old, updated *apiextensionsv1.CustomResourceDefinition, since string, reviewed []Reviewed) []string {
	if updated == nil {
		return []string{"it is gone, and with it every object: put it back"}
	}
	known := reviews(reviewed, old.Name, since)
	all := lines(changedRules(old, updated, known))
	old, updated = withoutRules(old), withoutRules(updated)
	results, err := compare(old, updated)
	if err != nil {
		return append(all, err.Error())
	}
	removed := removedFields(results.CRDValidation)
	for _, field := range removed {
		if _, place, _ := strings.Cut(field, "."); slices.Contains(known, place) {
			continue
		}
		all.add("field %s is gone: stored objects would lose it; put it back, deprecated if need be", field)
	}
	for _, result := range results.CRDValidation {
		if result.Name != "existingFieldRemoval" {
			all = append(all, result.Errors...)
		}
	}
	for _, versioned := range append(results.SameVersionValidation, results.ServedVersionValidation...) {
		for _, property := range versioned.PropertyComparisons {
			if !under(versioned.Version+"."+property.Property, removed) && !slices.Contains(known, property.Property) {
				all = append(all, propertyErrors(versioned.Version+"."+property.Property, property.ComparisonResults)...)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// compare runs crdify as OLM v1 configures it: descriptions may change, and a list of allowed values may grow.
func compare(old, updated *apiextensionsv1.CustomResourceDefinition) (*runner.Results, error) {
	rules, err := runner.New(&config.Config{
		Conversion:           config.ConversionPolicyIgnore,
		UnhandledEnforcement: config.EnforcementPolicyError,
		Validations: []config.ValidationConfig{
			{Name: "description", Enforcement: config.EnforcementPolicyNone},
			{Name: "enum", Enforcement: config.EnforcementPolicyError, Configuration: map[string]any{"additionPolicy": "Allow"}},
		},
	}, runner.DefaultRegistry())
	if err != nil {
		return nil, fmt.Errorf("crdify: %w", err)
	}
	return rules.Run(old, updated), nil
}

func propertyErrors(place string, results []validations.ComparisonResult) []string {
	var all lines
	for _, result := range results {
		for _, text := range result.Errors {
			all.add("%s: %s: %s; take it back, or add a new field", place, result.Name, text)
		}
	}
	return all
}

var removedField = regexp.MustCompile(`^removed field : (.+)$`)

// removedFields are the topmost ones: what was below them needs no line of its own.
func removedFields(results []validations.ComparisonResult) []string {
	var fields []string
	for _, result := range results {
		for _, text := range result.Errors {
			if match := removedField.FindStringSubmatch(text); match != nil {
				fields = append(fields, match[1])
			}
		}
	}
	slices.Sort(fields)
	var top []string
	for _, field := range fields {
		if !under(field, top) {
			top = append(top, field)
		}
	}
	return top
}

func under(field string, parents []string) bool {
	return slices.ContainsFunc(parents, func(parent string) bool {
		return field == parent || strings.HasPrefix(field, parent+".")
	})
}

// changedRules compares the CEL rules of each field that both versions have, since crdify knows only that they differ.
func changedRules(old, updated *apiextensionsv1.CustomResourceDefinition, reviewed []string) []string {
	var all lines
	for _, version := range old.Spec.Versions {
		newer := validations.GetCRDVersionByName(updated, version.Name)
		if newer == nil || version.Schema == nil || newer.Schema == nil {
			continue
		}
		fields := validations.FlattenCRDVersion(*newer)
		before := validations.FlattenCRDVersion(version)
		for _, name := range sortedKeys(before) {
			field, found := fields[name]
			if !found || equality.Semantic.DeepEqual(before[name].XValidations, field.XValidations) {
				continue
			}
			if !slices.Contains(reviewed, name) {
				all.add("%s: the CEL rules changed: see that no stored object breaks them and note it in reviewed.yaml", name)
			}
		}
	}
	return all
}

// withoutRules also says which versions objects are stored in, as the API server does: a bundle has no status.
func withoutRules(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	bare := crd.DeepCopy()
	bare.Status.StoredVersions = nil
	for i := range bare.Spec.Versions {
		if bare.Spec.Versions[i].Storage {
			bare.Status.StoredVersions = append(bare.Status.StoredVersions, bare.Spec.Versions[i].Name)
		}
		if s := bare.Spec.Versions[i].Schema; s != nil {
			dropRules(s.OpenAPIV3Schema)
		}
	}
	return bare
}

func dropRules(schema *apiextensionsv1.JSONSchemaProps) {
	if schema == nil {
		return
	}
	schema.XValidations = nil
	for name, property := range schema.Properties {
		dropRules(&property)
		schema.Properties[name] = property
	}
	if schema.Items != nil {
		dropRules(schema.Items.Schema)
	}
	if schema.AdditionalProperties != nil {
		dropRules(schema.AdditionalProperties.Schema)
	}
}
