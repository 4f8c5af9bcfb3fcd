// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Rights compares what the operator may do with what it did while tests ran: each verb that a
// role grants must have been used. What is missing shows by itself, because end-to-end tests run the operator with these
// roles only.
//
//	rights -log .devcluster/logs/audit.log -roles config/rbac
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

func main() {
	log := flag.String("log", "", "the API server's audit log")
	roles := flag.String("roles", "config/rbac", "the folder with the roles of the operator")
	flag.Parse()
	if err := run(os.Stdout, *log, *roles); err != nil {
		fmt.Fprintln(os.Stderr, "rights:", err)
		os.Exit(1)
	}
}

// run tells how often each right was used, and fails if one never was.
func run(out io.Writer, log, folder string) error {
	rights, err := granted(folder)
	if err != nil {
		return err
	}
	file, err := os.Open(log)
	if err != nil {
		return fmt.Errorf("open the audit log: %w", err)
	}
	defer file.Close() //nolint:errcheck // opened to read
	uses, err := used(file)
	if err != nil {
		return err
	}
	var unused []string
	for _, r := range rights {
		count, why := uses[r], without[r]
		if r.verb == "list" {
			count += uses[right{r.group, r.resource, "watch"}]
		}
		switch {
		case count == 0 && why == "":
			unused = append(unused, r.String())
			fmt.Fprintf(out, "%8s  %s\n", "UNUSED", r)
		case count == 0:
			fmt.Fprintf(out, "%8s  %s: %s\n", "-", r, why)
		default:
			fmt.Fprintf(out, "%8d  %s\n", count, r)
		}
	}
	if len(unused) > 0 {
		return fmt.Errorf("%d of %d rights were used by no test: take them from the role, or say in without why nobody can see it: %s",
			len(unused), len(rights), strings.Join(unused, "; "))
	}
	return nil
}

// A right is a verb on a resource; a subresource is behind a slash, as roles have it.
type right struct{ group, resource, verb string }

func (r right) String() string {
	return fmt.Sprintf("%s %s", r.verb, strings.TrimSuffix(r.resource+"."+r.group, "."))
}

const (
	withCertManager = "used where cert-manager is installed: make test-e2e E2E_LABELS=certmanager"
	withSnapshots   = "used where a CSI driver takes VolumeSnapshots: make test-snapshots"
)

// without are the rights whose use no audit log of the local cluster shows, and why. Of a list there is none to see where a
// watch begins with what there is (https://kubernetes.io/docs/reference/using-api/api-concepts/#streaming-lists); it counts as
// used then, because older API servers are asked for it.
var without = map[right]string{
	{"security.openshift.io", "securitycontextconstraints", "use"}: "asked by the admission of OpenShift",
	{"etcd-operator.dev", "etcdclusters/finalizers", "update"}:     "asked by the admission plugin OwnerReferencesPermissionEnforcement",
	{"etcd-operator.dev", "etcdbackups/finalizers", "update"}:      "asked by the admission plugin OwnerReferencesPermissionEnforcement",
	{"etcd-operator.dev", "etcdbackupstores/finalizers", "update"}: "asked by the admission plugin OwnerReferencesPermissionEnforcement",
	{"etcd-operator.dev", "etcdusers/finalizers", "update"}:        "asked by the admission plugin OwnerReferencesPermissionEnforcement",
	{"cert-manager.io", "certificates", "get"}:                     withCertManager,
	{"cert-manager.io", "certificates", "create"}:                  withCertManager,
	{"cert-manager.io", "certificates", "patch"}:                   withCertManager,
	{"snapshot.storage.k8s.io", "volumesnapshots", "get"}:          withSnapshots,
	{"snapshot.storage.k8s.io", "volumesnapshots", "create"}:       withSnapshots,
	{"snapshot.storage.k8s.io", "volumesnapshots", "delete"}:       withSnapshots,
}

// granted reads the roles that the operator's own account is bound to; what those of people grant is theirs.
func granted(folder string) ([]right, error) {
	var all []right
	for _, name := range []string{"role.yaml", "leader_election_role.yaml", "metrics_auth_role.yaml"} {
		file, err := os.Open(filepath.Join(folder, name))
		if err != nil {
			return nil, fmt.Errorf("open a role: %w", err)
		}
		decoder := yaml.NewYAMLOrJSONDecoder(file, 4096)
		for {
			var role rbacv1.ClusterRole // a Role has the same rules
			err := decoder.Decode(&role)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, errors.Join(fmt.Errorf("read %s: %w", name, err), file.Close())
			}
			for _, rule := range role.Rules {
				all = append(all, rightsOf(rule)...)
			}
		}
		if err := file.Close(); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
	}
	slices.SortFunc(all, func(a, b right) int {
		return strings.Compare(a.group+" "+a.resource+" "+a.verb, b.group+" "+b.resource+" "+b.verb)
	})
	return slices.Compact(all), nil
}

func rightsOf(rule rbacv1.PolicyRule) []right {
	var all []right
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				all = append(all, right{group, resource, verb})
			}
		}
	}
	return all
}

// used counts what accounts of the operator were allowed, its own and those that a test lends it.
func used(log io.Reader) (map[right]int, error) {
	uses := map[right]int{}
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // a last line that is still being written does not count
			return uses, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		var e auditv1.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("read a line of the audit log: %w", err)
		}
		if !isOperators(e) || e.ObjectRef == nil {
			continue
		}
		o := e.ObjectRef
		uses[right{o.APIGroup, strings.TrimSuffix(o.Resource+"/"+o.Subresource, "/"), e.Verb}]++
	}
}

// isOperators says whether the operator was let do it. A watch has no last stage while it lasts.
func isOperators(e auditv1.Event) bool {
	who := e.User.Username
	if e.ImpersonatedUser != nil {
		who = e.ImpersonatedUser.Username
	}
	begun := e.Stage == auditv1.StageResponseStarted || e.Stage == auditv1.StageResponseComplete
	return begun && strings.HasSuffix(who, ":etcd-operator-controller-manager") && e.Annotations["authorization.k8s.io/decision"] == "allow"
}
