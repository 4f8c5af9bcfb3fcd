// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
)

// reachesAll says of each resource that the operator may have rights on whether its objects are outside of namespaces.
// What is not listed is refused, so that no right gets to the wrong side, or lost, without anybody having said so.
var reachesAll = map[string]bool{
	"/nodes":                                    true,
	"/persistentvolumes":                        true,
	"authentication.k8s.io/tokenreviews":        true,
	"authorization.k8s.io/subjectaccessreviews": true,

	"/configmaps":                    false,
	"/events":                        false,
	"/persistentvolumeclaims":        false,
	"/pods":                          false,
	"/secrets":                       false,
	"/services":                      false,
	"coordination.k8s.io/leases":     false,
	"etcd-operator.dev/etcdclusters": false,
	"events.k8s.io/events":           false,
	"policy/poddisruptionbudgets":    false,

	// OpenShift asks in the namespace of a Pod whether its maker may use one.
	"security.openshift.io/securitycontextconstraints": false,
}

// splitRights makes of each ClusterRole of the operator two roles: one that Operator Lifecycle Manager grants in the
// watched namespaces alone, and one for what is in no namespace. Without that the operator would get every right everywhere,
// whichever namespaces it is installed for.
func splitRights(objects []object) ([]object, error) {
	accounts, namespace := serviceAccounts(objects)
	var result []object
	for _, o := range objects {
		if text(o, "kind") != "ClusterRoleBinding" || !binds(o, accounts) {
			result = append(result, o)
			continue
		}
		role, err := roleOf(objects, o)
		if err != nil {
			return nil, err
		}
		added, err := split(role, o, namespace)
		if err != nil {
			return nil, err
		}
		result = append(result, added...)
	}
	return slices.DeleteFunc(result, func(o object) bool {
		return text(o, "kind") == "ClusterRole" && len(parts(o, "rules")) == 0
	}), nil
}

// split leaves in role what reaches all namespaces, and returns its binding, if anything is left to bind, with a Role and a
// RoleBinding for the rest.
func split(role, binding object, namespace string) ([]object, error) {
	var inside, outside []object
	for _, rule := range parts(role, "rules") {
		in, out, err := splitRule(rule)
		if err != nil {
			return nil, fmt.Errorf("role %s: %w", nameOf(role), err)
		}
		inside, outside = append(inside, in...), append(outside, out...)
	}
	role["rules"] = list(outside)
	var result []object
	if len(outside) > 0 {
		result = append(result, binding)
	}
	if len(inside) > 0 {
		result = append(result, namespaced(role, inside, namespace), namespacedBinding(binding, namespace))
	}
	return result, nil
}

func namespaced(role object, rules []object, namespace string) object {
	return object{
		"apiVersion": role["apiVersion"],
		"kind":       "Role",
		"metadata":   object{"name": nameOf(role), "namespace": namespace},
		"rules":      list(rules),
	}
}

func namespacedBinding(binding object, namespace string) object {
	return object{
		"apiVersion": binding["apiVersion"],
		"kind":       "RoleBinding",
		"metadata":   object{"name": nameOf(binding), "namespace": namespace},
		"roleRef":    object{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": text(binding, "roleRef", "name")},
		"subjects":   binding["subjects"],
	}
}

// splitRule divides a rule by its resources.
func splitRule(rule object) (inside, outside []object, err error) {
	groups, resources := texts(rule, "apiGroups"), texts(rule, "resources")
	if everything := append(slices.Concat(groups, resources), texts(rule, "verbs")...); slices.Contains(everything, "*") {
		return nil, nil, fmt.Errorf("a rule says *, for %s: name every verb, resource and group", strings.Join(resources, ", "))
	}
	if len(texts(rule, "nonResourceURLs")) > 0 {
		return nil, []object{rule}, nil
	}
	var in, out []string
	for _, resource := range resources {
		everywhere, err := everywhere(groups, resource, len(texts(rule, "resourceNames")) > 0)
		if err != nil {
			return nil, nil, err
		}
		if everywhere {
			out = append(out, resource)
		} else {
			in = append(in, resource)
		}
	}
	return limited(rule, in), limited(rule, out), nil
}

func limited(rule object, resources []string) []object {
	if len(resources) == 0 {
		return nil
	}
	copied := object{}
	for key, value := range rule {
		copied[key] = value
	}
	copied["resources"] = list(resources)
	return []object{copied}
}

// everywhere is whether a right on a resource is of use only if it holds in all namespaces. So are Leases by name: they are
// those of other installations, wherever these are.
func everywhere(groups []string, resource string, byName bool) (bool, error) {
	kind, _, _ := strings.Cut(resource, "/")
	if byName && kind == "leases" {
		return true, nil
	}
	answers := map[bool]bool{}
	for _, group := range groups {
		answer, ok := reachesAll[group+"/"+kind]
		if !ok {
			return false, fmt.Errorf("is %q of group %q in namespaces or not? say so in hack/packaging/bundle/rights.go", resource, group)
		}
		answers[answer] = true
	}
	if len(answers) != 1 {
		return false, fmt.Errorf("%q is in namespaces in one of the groups %q and in another it is not: write two rules", resource, groups)
	}
	return answers[true], nil
}

// serviceAccounts returns the names of those that Deployments run as, and the namespace of the Deployments.
func serviceAccounts(objects []object) (names []string, namespace string) {
	for _, deployment := range ofKind(objects, "Deployment") {
		names = append(names, text(deployment, "spec", "template", "spec", "serviceAccountName"))
		namespace = text(deployment, "metadata", "namespace")
	}
	return names, namespace
}

func binds(binding object, accounts []string) bool {
	return slices.ContainsFunc(parts(binding, "subjects"), func(subject object) bool {
		return text(subject, "kind") == "ServiceAccount" && slices.Contains(accounts, text(subject, "name"))
	})
}

func roleOf(objects []object, binding object) (object, error) {
	name := text(binding, "roleRef", "name")
	for _, role := range ofKind(objects, "ClusterRole") {
		if nameOf(role) == name {
			return role, nil
		}
	}
	return nil, fmt.Errorf("%s binds the role %s, which is not there", nameOf(binding), name)
}
