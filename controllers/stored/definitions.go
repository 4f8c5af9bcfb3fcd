// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stored

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Definitions says when the API server has CustomResourceDefinitions that are older than the operator, such as after an older manifest was
// applied: what they do not know is dropped from every object that is written, and nobody is told.
type Definitions struct {
	Client  client.Client // asks the API server, past every cache
	Log     logr.Logger
	Events  events.EventRecorder
	Version string // of the operator
	// Every is the time between two looks.
	Every time.Duration
}

// LookEvery is how long it takes at most to notice them: seven requests in that time.
const LookEvery = 10 * time.Minute

// NeedLeaderElection has one replica do it.
func (*Definitions) NeedLeaderElection() bool { return true }

// Start looks until it is stopped. What cannot be read is not judged.
func (d *Definitions) Start(ctx context.Context) error {
	said := map[string]string{}
	for ctx.Err() == nil {
		for _, plural := range slices.Sorted(maps.Keys(Kinds())) {
			d.look(ctx, plural, said)
		}
		_ = pause(ctx, d.Every)
	}
	return nil
}

// look says once what a definition drops, and again when that changes.
func (d *Definitions) look(ctx context.Context, plural string, said map[string]string) {
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(definitions)
	object, err := d.Client.Scheme().New(v1beta1.GroupVersion.WithKind(Kinds()[plural]))
	if err != nil || d.Client.Get(ctx, client.ObjectKey{Name: plural + "." + v1beta1.GroupVersion.Group}, crd) != nil {
		return
	}
	dropped := Dropped(crd, object)
	text := strings.Join(dropped, ", ")
	if text == said[plural] {
		return
	}
	if said[plural] = text; text == "" {
		return
	}
	const most = 5
	if more := len(dropped) - most; more > 0 {
		text = fmt.Sprintf("%s and %d more fields", strings.Join(dropped[:most], ", "), more)
	}
	note := fmt.Sprintf("CustomResourceDefinition %s is older than the operator: the API server drops %s from every object that is written; "+
		"apply the CustomResourceDefinitions of operator %s", crd.GetName(), text, d.Version)
	d.Log.Error(nil, note)
	d.Events.Eventf(crd, nil, corev1.EventTypeWarning, "OlderDefinition", "Look", "%s", note)
}

// Dropped are the fields of an object that its definition does not know in the version of the operator, in the order of their types.
func Dropped(crd *unstructured.Unstructured, object any) []string {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, version := range versions {
		of, _ := version.(map[string]any)
		known, found, _ := unstructured.NestedMap(of, "schema", "openAPIV3Schema")
		if of["name"] != v1beta1.GroupVersion.Version || !found {
			continue
		}
		var all []string
		kind := reflect.TypeOf(object).Elem()
		for _, part := range []string{"Spec", "Status"} {
			if field, has := kind.FieldByName(part); has {
				all = append(all, missing(field, known, "")...)
			}
		}
		return all
	}
	return nil
}

// missing are the fields at and below one that a schema does not have.
func missing(field reflect.StructField, within map[string]any, path string) []string {
	name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	if name == "" && strings.Contains(options, "inline") {
		return below(field.Type, within, path)
	}
	known, isObject := within["properties"].(map[string]any)
	if name == "" || name == "-" || !isObject {
		return nil
	}
	schema, has := known[name].(map[string]any)
	if !has {
		return []string{path + name}
	}
	return below(field.Type, schema, path+name+".")
}

// below are the fields within a type that a schema does not have. One that says nothing of what is within is not judged.
func below(of reflect.Type, schema map[string]any, path string) []string {
	var all []string
	switch of.Kind() {
	case reflect.Pointer:
		return below(of.Elem(), schema, path)
	case reflect.Slice:
		items, _ := schema["items"].(map[string]any)
		return below(of.Elem(), items, path)
	case reflect.Map:
		values, _ := schema["additionalProperties"].(map[string]any)
		return below(of.Elem(), values, path)
	case reflect.Struct:
		for i := range of.NumField() {
			all = append(all, missing(of.Field(i), schema, path)...)
		}
	default:
	}
	return all
}
