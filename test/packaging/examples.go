// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// checkExamples does with each example what the API server would do, and wants it told what it is an example of. It has a
// status too, although creating drops it: scorecard wants to see one.
func checkExamples(b *Bundle, _ Options) []string {
	about := map[string]struct {
		Description string `json:"description"`
	}{}
	if text := b.CSV.Annotations["alm-examples-metadata"]; text != "" {
		if err := json.Unmarshal([]byte(text), &about); err != nil {
			return []string{fmt.Sprintf("annotation alm-examples-metadata cannot be read: %v", err)}
		}
	}
	var all lines
	shown, judges := map[string]bool{}, map[string]*judge{}
	for _, example := range b.Examples {
		name := example.GetName()
		if about[name].Description == "" {
			all.add("example %s has no description: add it to alm-examples-metadata", name)
		}
		if shown[name] {
			all.add("two examples are called %s: the console shows one of them", name)
		}
		shown[name] = true
		all = append(all, oddExample(b, judges, example)...)
	}
	for _, name := range sortedKeys(about) {
		if !shown[name] {
			all.add("alm-examples-metadata describes %s, which is no example: remove it", name)
		}
	}
	return append(all, unshown(b)...)
}

// unshown are kinds without an example, and examples with which scorecard is not content: it wants a spec and a status.
func unshown(b *Bundle) []string {
	var all lines
	for _, owned := range b.CSV.Spec.CustomResourceDefinitions.Owned {
		if !slices.ContainsFunc(b.Examples, func(u unstructured.Unstructured) bool { return u.GetKind() == owned.Kind }) {
			all.add("there is no example of %s: add one to config/samples", owned.Kind)
		}
	}
	for _, side := range []string{"spec", "status"} {
		for _, text := range missing(b, side) {
			all.add("example %s: add one, scorecard looks for it", text)
		}
	}
	return all
}

func oddExample(b *Bundle, judges map[string]*judge, example unstructured.Unstructured) []string {
	kind := example.GroupVersionKind()
	props := b.schema(kind.Kind, kind.Version)
	if props == nil {
		return []string{fmt.Sprintf("example %s is a %s, which the bundle does not own: remove it", example.GetName(), kind)}
	}
	if judges[kind.String()] == nil {
		j, err := newJudge(props)
		if err != nil {
			return []string{fmt.Sprintf("example %s cannot be judged: %v", example.GetName(), err)}
		}
		judges[kind.String()] = j
	}
	var all lines
	for _, finding := range judges[kind.String()].admit(example.Object, nil) {
		all.add("example %s would be refused: %s", example.GetName(), finding)
	}
	return all
}

// judge does with an object what the API server does when it is written.
type judge struct {
	structural *schema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

func newJudge(props *apiextensionsv1.JSONSchemaProps) (*judge, error) {
	raw, err := json.Marshal(props)
	if err != nil {
		return nil, err
	}
	made, _ := judges.LoadOrStore(sha256.Sum256(raw), sync.OnceValues(func() (*judge, error) { return compileJudge(props) }))
	return made.(func() (*judge, error))()
}

// judges are kept by their schema: the CEL rules of one take a second to compile, and each example of a kind asks for the same.
var judges sync.Map

func compileJudge(props *apiextensionsv1.JSONSchemaProps) (*judge, error) {
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, &internal, nil); err != nil {
		return nil, err
	}
	structural, err := schema.NewStructural(&internal)
	if err != nil {
		return nil, err
	}
	validator, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		return nil, err
	}
	return &judge{structural, validator, cel.NewValidator(structural, true, celconfig.PerCallLimit)}, nil
}

// admit fills in defaults, and looks for unknown fields, at the schema and at CEL rules. With an old object it is an update, so
// that rules about a change take part, too.
func (j *judge) admit(object, old map[string]any) []string {
	object = j.filled(object)
	options := schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	var all lines
	for _, path := range pruning.PruneWithOptions(object, j.structural, true, options) {
		all = append(all, "unknown field "+path)
	}
	var before any
	if old != nil {
		before = j.filled(old)
	}
	errs := validation.ValidateCustomResource(nil, object, j.schema)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, j.structural, object)...)
	broken, _ := j.rules.Validate(context.Background(), nil, j.structural, object, before, celconfig.RuntimeCELCostBudget)
	for _, err := range append(errs, broken...) {
		all = append(all, err.Error())
	}
	return all
}

func (j *judge) filled(object map[string]any) map[string]any {
	object = runtime.DeepCopyJSON(object)
	defaulting.Default(object, j.structural)
	return object
}
