// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Served has each CustomResourceDefinition that it is given serve the version of the API that came before, too: with the same schema, so
// that the API server converts without a webhook, and as the version that is stored, so that an update can be rolled back to a release
// that serves nothing else (rule 4b of https://kubernetes.io/docs/reference/using-api/deprecation-policy/).
//
// usage: served CRD.yaml…
package main

import (
	"fmt"
	"os"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func main() {
	for _, path := range os.Args[1:] {
		if err := rewrite(path); err != nil {
			fmt.Fprintf(os.Stderr, "served: %s: %v\n", path, err)
			os.Exit(1)
		}
	}
}

func rewrite(path string) error {
	written, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	crd := map[string]any{}
	if err := yaml.Unmarshal(written, &crd); err != nil {
		return err
	}
	if err := serveEarlier(crd); err != nil {
		return err
	}
	served, err := yaml.Marshal(crd)
	if err != nil {
		return err
	}
	return os.WriteFile(path, append([]byte("---\n"), served...), 0o644)
}

// serveEarlier puts the deprecated version beside the only one that a CustomResourceDefinition has.
func serveEarlier(crd map[string]any) error {
	spec, _ := crd["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	if len(versions) != 1 {
		return fmt.Errorf("it has %d versions, and not the one that controller-gen makes", len(versions))
	}
	current := versions[0].(map[string]any)
	if name := current["name"]; name != v1beta1.GroupVersion.Version {
		return fmt.Errorf("its version is %v, not %s", name, v1beta1.GroupVersion.Version)
	}
	earlier := map[string]any{}
	for key, value := range current {
		earlier[key] = value
	}
	earlier["name"], earlier["deprecated"] = v1beta1.EarlierVersion.Version, true
	earlier["schema"] = withoutDescriptions(current["schema"], false)
	current["storage"] = false
	spec["versions"] = append(versions, earlier)
	spec["conversion"] = map[string]any{"strategy": string(apiextensionsv1.NoneConverter)}
	return nil
}

// withoutDescriptions is a schema without its documentation, which the current version has: an object of Kubernetes has at most 1.5 MiB.
// Values of additionalProperties keep it, because OLM v1 takes another description there for another schema, and refuses the update.
func withoutDescriptions(schema any, keep bool) any {
	switch of := schema.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, value := range of {
			if _, isText := value.(string); key == "description" && isText && !keep {
				continue
			}
			kept[key] = withoutDescriptions(value, keep || key == "additionalProperties")
		}
		return kept
	case []any:
		kept := make([]any, len(of))
		for i, value := range of {
			kept[i] = withoutDescriptions(value, keep)
		}
		return kept
	default:
		return schema
	}
}
