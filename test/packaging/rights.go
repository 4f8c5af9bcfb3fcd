// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// tooMuch are verbs by which a role can give itself every other right.
var tooMuch = []string{"escalate", "bind", "impersonate"}

// wholeCluster is what there are rights on whichever namespaces the operator is installed for: what is in none, among it which versions of
// its own kinds are stored, and the Leases of other installations, wherever these are.
var wholeCluster = []string{
	"customresourcedefinitions.apiextensions.k8s.io etcdbackups.etcd-operator.dev",
	"customresourcedefinitions.apiextensions.k8s.io etcdbackupstores.etcd-operator.dev",
	"customresourcedefinitions.apiextensions.k8s.io etcdclusters.etcd-operator.dev",
	"customresourcedefinitions.apiextensions.k8s.io etcddrills.etcd-operator.dev",
	"customresourcedefinitions.apiextensions.k8s.io etcdrestores.etcd-operator.dev",
	"customresourcedefinitions.apiextensions.k8s.io etcdroles.etcd-operator.dev",
	"customresourcedefinitions.apiextensions.k8s.io etcdusers.etcd-operator.dev",
	"customresourcedefinitions/status.apiextensions.k8s.io etcdbackups.etcd-operator.dev",
	"customresourcedefinitions/status.apiextensions.k8s.io etcdbackupstores.etcd-operator.dev",
	"customresourcedefinitions/status.apiextensions.k8s.io etcdclusters.etcd-operator.dev",
	"customresourcedefinitions/status.apiextensions.k8s.io etcddrills.etcd-operator.dev",
	"customresourcedefinitions/status.apiextensions.k8s.io etcdrestores.etcd-operator.dev",
	"customresourcedefinitions/status.apiextensions.k8s.io etcdroles.etcd-operator.dev",
	"customresourcedefinitions/status.apiextensions.k8s.io etcdusers.etcd-operator.dev",
	"leases.coordination.k8s.io etcd-operator.dev", "nodes", "persistentvolumes",
	"subjectaccessreviews.authorization.k8s.io", "tokenreviews.authentication.k8s.io",
}

// onRequest is the role of config/rbac that the operator has only where an administrator binds it. The bundle has it as an object.
const onRequest = "adoption-role"

// checkRights wants exact rights, and just those that the markers in the code ask for. A wildcard is told alone: that
// it also differs from the generated roles is then no news.
func checkRights(b *Bundle, options Options) []string {
	strategy := b.CSV.Spec.InstallStrategy.StrategySpec
	outside := rulesOf(strategy.ClusterPermissions)
	granted := append(rulesOf(strategy.Permissions), outside...)
	if all := append(greedy(granted), openLeases(granted)...); len(all) > 0 {
		return all
	}
	if len(options.Rights) == 0 {
		return nil
	}
	wanted, requested, err := readRules(options.Rights)
	if err != nil {
		return []string{err.Error()}
	}
	have, want := atoms(granted), atoms(wanted)
	var all lines
	if offered := b.offered(); !slices.Equal(atoms(offered), atoms(requested)) {
		all.add("the ClusterRole %s of the bundle is not that of config/rbac: run 'make bundle'", onRequest)
	}
	everywhere := objectsOf(outside)
	if more := without(everywhere, wholeCluster); len(more) > 0 {
		all.add("rights in all namespaces are also on %s: see roleName of the markers in controllers/", strings.Join(more, ", "))
	}
	if missing := without(wholeCluster, everywhere); len(missing) > 0 {
		all.add("rights in all namespaces are not on %s: see roleName of the markers in controllers/", strings.Join(missing, ", "))
	}
	for _, right := range want {
		if !slices.Contains(have, right) {
			all.add("the right to %s is in config/rbac, but not in the CSV: run 'make bundle'", right)
		}
	}
	for _, right := range have {
		if !slices.Contains(want, right) {
			all.add("the right to %s is in the CSV, but not in config/rbac: run 'make bundle'", right)
		}
	}
	return all
}

// without are those of all that others has not.
func without(all, others []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(one string) bool { return slices.Contains(others, one) })
}

func rulesOf(permissions []v1alpha1.StrategyDeploymentPermissions) []rbacv1.PolicyRule {
	var all []rbacv1.PolicyRule
	for _, permission := range permissions {
		all = append(all, permission.Rules...)
	}
	return all
}

func greedy(rules []rbacv1.PolicyRule) []string {
	var all lines
	for _, rule := range rules {
		what := strings.Join(append(slices.Clone(rule.Resources), rule.NonResourceURLs...), ", ")
		for _, list := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs, rule.NonResourceURLs} {
			if slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, "*") }) {
				all.add("the rule for %s has a wildcard (%s): name each group, resource and verb", what, strings.Join(rule.Verbs, ", "))
				break
			}
		}
		for _, verb := range tooMuch {
			if slices.Contains(rule.Verbs, verb) {
				all.add("the rule for %s has the verb %s, which is as good as every right: remove it", what, verb)
			}
		}
	}
	return all
}

// openLeases finds rights on the Leases of others. OLM grants the rights of a namespace in all of them where the operator watches
// all, and by the Leases of Nodes and of Kubernetes' own controllers a cluster can be brought down.
func openLeases(rules []rbacv1.PolicyRule) []string {
	var all lines
	for _, rule := range rules {
		free := slices.DeleteFunc(slices.Clone(rule.Verbs), func(verb string) bool { return verb == "create" })
		if slices.Contains(rule.Resources, "leases") && len(rule.ResourceNames) == 0 && len(free) > 0 {
			all.add("the rule for leases lets the operator %s every Lease: give it resourceNames", strings.Join(free, ", "))
		}
	}
	return all
}

// readRules tells what the operator is granted from what it may be granted on request.
func readRules(files []string) (granted, requested []rbacv1.PolicyRule, err error) {
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, nil, err
		}
		for document := range strings.SplitSeq(string(raw), "\n---\n") {
			var role rbacv1.ClusterRole
			if err := yaml.Unmarshal([]byte(document), &role); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", file, err)
			}
			if role.Name == onRequest {
				requested = append(requested, role.Rules...)
				continue
			}
			granted = append(granted, role.Rules...)
		}
	}
	return granted, requested, nil
}

// offered are the rules of the bundle's own role that is bound on request.
func (b *Bundle) offered() []rbacv1.PolicyRule {
	var all []rbacv1.PolicyRule
	for _, object := range b.Raw.Objects {
		if object.GetKind() != "ClusterRole" || !strings.HasSuffix(object.GetName(), onRequest) {
			continue
		}
		var role rbacv1.ClusterRole
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err == nil {
			all = append(all, role.Rules...)
		}
	}
	return all
}

// atoms takes rules apart into single rights, in words, so that two lists can be compared however they are grouped.
func atoms(rules []rbacv1.PolicyRule) []string {
	var all []string
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			for _, url := range rule.NonResourceURLs {
				all = append(all, verb+" "+url)
			}
			for _, object := range objects(rule) {
				all = append(all, verb+" "+object)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func objectsOf(rules []rbacv1.PolicyRule) []string {
	var all []string
	for _, rule := range rules {
		all = append(all, objects(rule)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func objects(rule rbacv1.PolicyRule) []string {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	var all []string
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, name := range names {
				object := resource
				if group != "" {
					object += "." + group
				}
				if name != "" {
					object += " " + name
				}
				all = append(all, object)
			}
		}
	}
	return all
}
