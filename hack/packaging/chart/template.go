// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// What config/default calls things. A release takes the place of both.
const (
	prefix    = "etcd-operator-"
	namespace = "etcd-operator-system"
)

type object struct {
	*unstructured.Unstructured
	watchesAll string // YAML of the value of WATCH_NAMESPACE, of the operator's Deployment
}

func (o object) kind() string { return o.GetKind() }
func (o object) name() string { return o.GetName() }
func (o object) into(typed any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed)
}

func readObjects(stream string) ([]object, error) {
	var all []object
	for _, text := range strings.Split(stream, "\n---\n") {
		o := object{Unstructured: &unstructured.Unstructured{}}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			return nil, fmt.Errorf("read an object: %w", err)
		}
		all = append(all, o)
	}
	return all, nil
}

// template returns the file of an object and what is in it.
func (o *object) template() (file, text string, err error) {
	file = "templates/" + strings.ToLower(o.kind()) + "-" + strings.TrimPrefix(o.name(), prefix) + ".yaml"
	switch o.kind() {
	case "CustomResourceDefinition":
		file = "templates/crds/" + strings.Split(o.name(), ".")[0] + ".yaml"
		set(*o, block("keep"), "metadata", "annotations", block("keep"))
	case "Deployment":
		o.manager()
	default:
		renamed(o.Object)
	}
	set(*o, "{{ .Release.Service }}", "metadata", "labels", "app.kubernetes.io/managed-by")
	set(*o, `{{ include "etcd-operator.chart" . }}`, "metadata", "labels", "helm.sh/chart")
	raw, err := yaml.Marshal(o.Object)
	if err != nil {
		return "", "", err
	}
	// Braces of a description are no template: those of ours come after.
	text = string(raw)
	if o.kind() == "CustomResourceDefinition" && strings.Count(text, "{{") > 2 {
		return "", "", fmt.Errorf("a description has {{, which is a template to Helm")
	}
	return file, "{{/* " + generated + " */}}\n" + o.condition(filled(text, blocks(o.watchesAll))), nil
}

// condition puts an object under the value by which it can be left out.
func (o object) condition(text string) string {
	when := func(condition string) string { return "{{- if " + condition + " }}\n" + text + "{{- end }}\n" }
	switch {
	case o.kind() == "CustomResourceDefinition":
		return when(".Values.crds.install")
	case o.kind() == "NetworkPolicy":
		return when(".Values.networkPolicy.enabled")
	case o.kind() == "ClusterRoleBinding" && o.bound() == "manager-role":
		return "{{- if .Values.watchNamespaces }}\n{{- range .Values.watchNamespaces }}\n---\n" + inNamespace(text) +
			"{{- end }}\n{{- else }}\n" + text + "{{- end }}\n"
	}
	return text
}

// bound is the role of a binding, without the prefix.
func (o object) bound() string {
	name, _, _ := unstructured.NestedString(o.Object, "roleRef", "name")
	return name[strings.LastIndex(name, "}}-")+len("}}-"):]
}

// inNamespace makes of the binding for all namespaces one for the namespace that a range is at.
func inNamespace(text string) string {
	text = strings.Replace(text, "kind: ClusterRoleBinding", "kind: RoleBinding", 1)
	text = strings.NewReplacer("{{ .", "{{ $.", "include \"etcd-operator.chart\" .", "include \"etcd-operator.chart\" $").Replace(text)
	return strings.Replace(text, "\nroleRef:", "\n  namespace: '{{ . }}'\nroleRef:", 1)
}

// relatedImage begins the name of a variable with the image of a version of etcd.
const relatedImage = "RELATED_IMAGE_ETCD_"

// manager puts values into the operator's Deployment.
func (o *object) manager() {
	renamed(o.Object)
	set(*o, "{{ .Values.replicas }}", "spec", "replicas")
	pod, _, _ := unstructured.NestedMap(o.Object, "spec", "template", "spec")
	pod[block("pod")] = ""
	container := pod["containers"].([]any)[0].(map[string]any)
	container["image"] = `{{ include "etcd-operator.image" . }}`
	container["imagePullPolicy"] = "{{ .Values.image.pullPolicy }}"
	container["args"] = append(container["args"].([]any), block("args"))
	delete(container, "resources")
	container[block("resources")] = ""
	for i, variable := range container["env"].([]any) {
		if variable := variable.(map[string]any); variable["name"] == "WATCH_NAMESPACE" {
			from, _ := yaml.Marshal(map[string]any{"valueFrom": variable["valueFrom"]})
			o.watchesAll = strings.TrimSpace(string(from))
			container["env"].([]any)[i] = map[string]any{"name": "WATCH_NAMESPACE", block("watch"): ""}
		}
	}
	others := slices.DeleteFunc(container["env"].([]any), func(variable any) bool {
		name, is := variable.(map[string]any)["name"].(string)
		return is && strings.HasPrefix(name, relatedImage)
	})
	container["env"] = append(append([]any{block("etcd")}, others...), block("env"))
	_ = unstructured.SetNestedField(o.Object, pod, "spec", "template", "spec")
}

// set is for paths that are there but for their last part.
func set(o object, value string, path ...string) {
	if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
		panic(err)
	}
}

// renamed gives all names of our objects the release's name, and all that is in our namespace the release's namespace.
func renamed(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			value[key] = renamed(inner)
		}
	case []any:
		for i, inner := range value {
			value[i] = renamed(inner)
		}
	case string:
		if value == namespace {
			return "{{ .Release.Namespace }}"
		}
		if name, is := strings.CutPrefix(value, prefix); is {
			return "{{ .Release.Name }}-" + name
		}
	}
	return value
}

// block is a line that stands for several, which are in blocks. It is the last key of a map.
func block(name string) string { return "zzz_" + name }

var (
	blockLine = regexp.MustCompile(`(?m)^( *)(?:- )?zzz_(\w+)(?:: .*)?\n`)
	deeper    = regexp.MustCompile(`nindent \+(\d+)`)
	number    = regexp.MustCompile(`'(\{\{ \.Values\.replicas \}\})'`)
)

// filled puts blocks in place of their lines, as far to the right as those are.
func filled(text string, blocks map[string]string) string {
	text = number.ReplaceAllString(text, "$1")
	return blockLine.ReplaceAllStringFunc(text, func(line string) string {
		found := blockLine.FindStringSubmatch(line)
		lines := strings.ReplaceAll(strings.Trim(blocks[found[2]], "\n"), "\n", "\n"+found[1])
		return deeper.ReplaceAllStringFunc(found[1]+lines+"\n", func(by string) string {
			more, _ := strconv.Atoi(deeper.FindStringSubmatch(by)[1])
			return "nindent " + strconv.Itoa(len(found[1])+more)
		})
	})
}
