// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// installed is what kustomize makes of a Deployment, its role, and roles that are not its own.
const installed = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: operator, namespace: home}
spec: {template: {spec: {serviceAccountName: operator, containers: [{name: manager, image: team/operator:v1}]}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: manager}
rules:
- {apiGroups: [""], resources: [nodes, pods, pods/resize], verbs: [get, list]}
- {apiGroups: [""], resources: [persistentvolumes], verbs: [get]}
- {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [etcd-operator.dev], verbs: [get]}
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}
- {apiGroups: ["", events.k8s.io], resources: [events], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: manager-binding}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: manager}
subjects: [{kind: ServiceAccount, name: operator, namespace: home}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: viewer}
rules:
- {apiGroups: [anything], resources: [things], verbs: [get]}
`

func objectsOf(t *testing.T, content string) []object {
	t.Helper()
	objects, err := readStream(strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// rulesOf writes down what a role allows, a rule a line.
func rulesOf(objects []object, kind, name string) string {
	var lines []string
	for _, o := range ofKind(objects, kind) {
		if nameOf(o) != name {
			continue
		}
		for _, rule := range parts(o, "rules") {
			line := strings.Join(texts(rule, "verbs"), " ") + " " + strings.Join(texts(rule, "resources"), " ")
			if names := texts(rule, "resourceNames"); len(names) > 0 {
				line += " named " + strings.Join(names, " ")
			}
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

func TestRightsAreSplitByWhereTheyReach(t *testing.T) {
	objects, err := splitRights(objectsOf(t, installed))
	if err != nil {
		t.Fatal(err)
	}
	inside := "get list pods pods/resize\ncreate leases\ncreate events"
	if got := rulesOf(objects, "Role", "manager"); got != inside {
		t.Errorf("in namespaces:\n%s\nwant\n%s", got, inside)
	}
	outside := "get list nodes\nget persistentvolumes\nget leases named etcd-operator.dev"
	if got := rulesOf(objects, "ClusterRole", "manager"); got != outside {
		t.Errorf("in the whole cluster:\n%s\nwant\n%s", got, outside)
	}
	if got := rulesOf(objects, "ClusterRole", "viewer"); got != "get things" {
		t.Errorf("a role that is not the operator's became %q", got)
	}
	bindings := ofKind(objects, "RoleBinding")
	if len(bindings) != 1 || len(ofKind(objects, "ClusterRoleBinding")) != 1 {
		t.Fatalf("want one binding of each kind: %v", objects)
	}
	if got := text(bindings[0], "roleRef", "kind"); got != "Role" {
		t.Errorf("the RoleBinding binds a %s", got)
	}
	for _, o := range append(bindings, ofKind(objects, "Role")...) {
		if got := text(o, "metadata", "namespace"); got != "home" {
			t.Errorf("%s is in namespace %q, want that of the Deployment", text(o, "kind"), got)
		}
	}
}

func TestRoleWithoutClusterWideRightsGoes(t *testing.T) {
	content := strings.Replace(installed, "nodes, pods", "pods", 1)
	content = strings.Replace(content, "resources: [persistentvolumes]", "resources: [secrets]", 1)
	content = strings.Replace(content, "resourceNames: [etcd-operator.dev], ", "", 1)
	objects, err := splitRights(objectsOf(t, content))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(ofKind(objects, "ClusterRoleBinding")); n != 0 {
		t.Errorf("%d ClusterRoleBindings are left, want none", n)
	}
	if got := rulesOf(objects, "ClusterRole", "manager"); got != "" {
		t.Errorf("the ClusterRole is still there: %s", got)
	}
}

func TestRightsThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ rule, says string }{
		"unknown resource":     {`{apiGroups: [apps], resources: [daemonsets], verbs: [get]}`, `"daemonsets" of group "apps"`},
		"any verb":             {`{apiGroups: [""], resources: [pods], verbs: ["*"]}`, "says *"},
		"any resource":         {`{apiGroups: [""], resources: ["*"], verbs: [get]}`, "says *"},
		"any group":            {`{apiGroups: ["*"], resources: [pods], verbs: [get]}`, "says *"},
		"one of two unknown":   {`{apiGroups: ["", apps], resources: [pods], verbs: [get]}`, `"pods" of group "apps"`},
		"resource of no group": {`{apiGroups: [], resources: [pods], verbs: [get]}`, "write two rules"},
	} {
		t.Run(name, func(t *testing.T) {
			var rule object
			if err := yaml.Unmarshal([]byte(c.rule), &rule); err != nil {
				t.Fatal(err)
			}
			_, _, err := splitRule(rule)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error is %v, want one that says %s", err, c.says)
			}
		})
	}
}

func TestBindingWithoutItsRoleIsAnError(t *testing.T) {
	content := strings.Replace(installed, "kind: ClusterRole, name: manager", "kind: ClusterRole, name: other", 1)
	if _, err := splitRights(objectsOf(t, content)); err == nil {
		t.Error("rights would be lost without a word")
	}
}
