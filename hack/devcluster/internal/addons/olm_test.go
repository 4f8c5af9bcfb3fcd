// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package addons

import (
	"strings"
	"testing"
)

const quickstart = `kind: Deployment
          args:
          - '-namespace'
          - -configmapServerImage=x
          - -util-image
          -  quay.io/operator-framework/olm@sha256:0a1b
          - --namespace
          image: quay.io/operator-framework/olm@sha256:0a1b
          readinessProbe:
            httpGet:
---
kind: CatalogSource
`

func TestRewriteFitsTheQuickstart(t *testing.T) {
	got := rewrite(quickstart)
	for _, want := range []string{
		"- '--namespace'", "- --configmapServerImage=x", "- --util-image", "- --namespace\n",
		"- quay.io/operator-framework/olm:v0.42.0", "image: quay.io/operator-framework/olm:v0.42.0",
		"          readinessProbe:\n            periodSeconds: 1\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "CatalogSource") || strings.Contains(got, "---namespace") {
		t.Errorf("left or broken:\n%s", got)
	}
}
