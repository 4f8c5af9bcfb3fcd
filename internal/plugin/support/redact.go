// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package support makes a support bundle of what was read from a cluster: files without secrets, and their archive.
//
// It must never do I/O, nor let anything through that looks like a secret: a value that was redacted in one place is redacted
// everywhere.
package support

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Redacted is what a bundle has in the place of a secret.
const Redacted = "REDACTED"

// shortestKnown is how long a value is that is looked for everywhere: shorter ones, such as true, are words of their own.
const shortestKnown = 6

// redactor takes secrets out, and remembers them.
type redactor struct {
	known map[string]bool
	uids  map[string]bool // of objects: etcd's initial-cluster-token is one
}

var (
	// secretName is how a field, a flag, a variable or a header is called whose value is a secret.
	secretName = regexp.MustCompile(`(?i)\bpwd\b|_pwd\b|\bpass\b|` +
		`passw|passphrase|secret|token|credential|api[-_.]?key|access[-_.]?key|account[-_.]?key|private|` +
		`authorization|cookie|signature|identit|\bauth\b|\bsig\b`)
	// reference is how a field is called that names an object, or says yes or no about it.
	reference = regexp.MustCompile(`^(secret|.*(Name|Ref|Secret|Secrets|Policy|Mode|Type|UID))$`)
	// ours are the domains of annotations whose values are known.
	ours = regexp.MustCompile(`^([a-z0-9-]+\.)*(etcd-operator\.dev|kubernetes\.io|k8s\.io|operatorframework\.io)/|^olm\.`)
)

// object is what is kept of an object. It is changed.
func (r *redactor) object(fields map[string]any) map[string]any {
	if meta, is := fields["metadata"].(map[string]any); is {
		delete(meta, "managedFields")
	}
	if kind := fields["kind"]; kind == "ConfigMap" || kind == "Secret" {
		for _, part := range []string{"data", "binaryData", "stringData"} {
			fields[part] = r.sizes(fields[part])
		}
	}
	cleaned, _ := r.value("", fields).(map[string]any)
	return cleaned
}

// sizes is what is shown of the content of a ConfigMap.
func (r *redactor) sizes(data any) any {
	values, is := data.(map[string]any)
	if !is {
		return nil
	}
	shown := map[string]any{}
	for key, value := range values {
		text, _ := value.(string)
		shown[key] = fmt.Sprintf("%s (%d bytes)", Redacted, len(text))
	}
	return shown
}

// value is what is kept of a field.
func (r *redactor) value(field string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		return r.fields(field, v)
	case []any:
		if field == "args" || field == "command" {
			return r.arguments(v)
		}
		for i := range v {
			v[i] = r.value(field, v[i])
		}
		return v
	case string:
		return r.text(field, v)
	default:
		return value
	}
}

func (r *redactor) fields(field string, fields map[string]any) map[string]any {
	name, hasName := fields["name"].(string)
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		text, isText := fields[key].(string)
		switch {
		case field == "annotations" && key == corev1.LastAppliedConfigAnnotation:
			delete(fields, key)
		case field == "annotations" && !ours.MatchString(key):
			fields[key] = r.hide(key, text)
		case key == "value" && hasName && isText: // a variable, or a header
			fields[key] = r.hide(name, text)
		default:
			fields[key] = r.value(key, fields[key])
		}
	}
	return fields
}

// text is what is kept of the text in a field.
func (r *redactor) text(field, text string) string {
	if secretName.MatchString(field) && !reference.MatchString(field) && text != "" {
		return r.hide(field, text)
	}
	var inside any
	if strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &inside) == nil {
		if raw, err := json.Marshal(r.value("", inside)); err == nil {
			return string(raw)
		}
	}
	return scrub(text)
}

// arguments are those of a command: --password=x and --password x, and text with x in it.
func (r *redactor) arguments(all []any) []any {
	before := "" // a flag whose value follows
	for i, each := range all {
		text, _ := each.(string)
		flag, value, has := strings.Cut(text, "=")
		isSecret := strings.HasPrefix(flag, "-") && secretName.MatchString(flag)
		switch {
		case before != "" && !strings.HasPrefix(flag, "-"):
			all[i] = r.hide(before, text)
		case isSecret && has:
			all[i] = plain(flag) + "=" + r.hide(flag, value)
		default:
			all[i] = r.text("", text)
		}
		before = ""
		if isSecret && !has {
			before = flag
		}
	}
	return all
}

// hide redacts a value. That of something which is called like a secret is looked for everywhere.
func (r *redactor) hide(name, value string) string {
	if value == "" || r.uids[value] || booleans.MatchString(value) {
		return value
	}
	trimmed := strings.TrimSpace(value)
	if secretName.MatchString(name) && len(trimmed) >= shortestKnown && !harmless.MatchString(trimmed) {
		r.known[trimmed] = true
	}
	return Redacted
}

// booleans are no secrets, whatever they are of.
var booleans = regexp.MustCompile(`^(true|false)$`)

// harmless values are those of variables and flags that are no secrets, and would be missed elsewhere: numbers, paths, names of variables.
var harmless = regexp.MustCompile(`^([0-9.:]+|/[\w./-]*|\$\(\w+\)|true|false|[a-z]{1,12})$`)

// forgetIn takes them out of every text of an object.
func (r *redactor) forgetIn(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = r.forgetIn(v[key])
		}
	case []any:
		for i := range v {
			v[i] = r.forgetIn(v[i])
		}
	case string:
		return r.forget(v)
	}
	return value
}

// forget takes every value out of a text that was redacted anywhere. Longer values are removed first: one may be in another.
func (r *redactor) forget(text string) string {
	longest := slices.SortedFunc(maps.Keys(r.known), func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	for _, value := range longest {
		text = strings.ReplaceAll(text, value, Redacted)
	}
	return text
}
