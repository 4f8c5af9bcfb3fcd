// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"regexp"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// notYet is the line of the description that says what is missing.
var notYet = regexp.MustCompile(`(?m)^Not yet: (.+)$`)

// checkDescription compares what people read on OperatorHub with the kinds of the bundle: each kind is named, and what there is a
// kind or a field for is not said to be missing.
func checkDescription(b *Bundle, _ Options) []string {
	var all lines
	if len(b.CSV.Spec.Description) < 20 {
		return nil // required fields tells of it
	}
	missing := ""
	if found := notYet.FindStringSubmatch(b.CSV.Spec.Description); found != nil {
		missing = strings.ToLower(found[1])
	}
	for _, owned := range b.CSV.Spec.CustomResourceDefinitions.Owned {
		if !regexp.MustCompile("\\b" + owned.Kind + "\\b").MatchString(b.CSV.Spec.Description) {
			all.add("the description does not name %s: say what it is for", owned.Kind)
		}
		subject := strings.ToLower(strings.TrimPrefix(owned.Kind, "Etcd"))
		if strings.Contains(missing, subject) {
			all.add("the description says %q is not there yet, but there is the kind %s", subject, owned.Kind)
		}
	}
	for _, word := range sortedKeys(featuresFor) {
		if hasField(b, featuresFor[word]) && !strings.Contains(strings.ToLower(b.CSV.Spec.Description), word) {
			all.add("the description does not say %q, but there is the field spec.%s: say what it is for", word, featuresFor[word])
		}
	}
	for _, word := range sortedKeys(fieldsFor) {
		if strings.Contains(missing, word) && hasField(b, fieldsFor[word]) {
			all.add("the description says %q is not there yet, but there is the field spec.%s", word, fieldsFor[word])
		}
	}
	return all
}

// fieldsFor are fields of what a kind does not stand for, by the words in which a description would miss them.
var fieldsFor = map[string]string{
	"authentication": "auth", "certificate": "tls.secretRefs", "cert-manager": "tls.issuerRef", "network polic": "networkPolicy",
	"networkpolic": "networkPolicy", "revo": "tls.revocations", "schedule": "backup.schedule", "import": "bootstrap.import",
}

// featuresFor are fields of features that no kind stands for, by a word with which a description names them.
var featuresFor = map[string]string{
	"adoption": "bootstrap.adopt", "copied": "bootstrap.copy", "cpu and memory by use": "autoscale", "prefix": "prefix",
	"outside of kubernetes": "clientService", "continuous log": "backup.continuous", "network policies": "networkPolicy",
}

func hasField(b *Bundle, path string) bool {
	return slices.ContainsFunc(b.CSV.Spec.CustomResourceDefinitions.Owned, func(owned v1alpha1.CRDDescription) bool {
		return slices.ContainsFunc(owned.SpecDescriptors, func(d v1alpha1.SpecDescriptor) bool { return d.Path == path })
	})
}
