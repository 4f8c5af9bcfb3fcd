// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const role = `
kind: Role
rules:
- apiGroups: [""]
  resources: [pods, pods/log]
  verbs: [get]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [list, watch]
`

// line is a request of an account as the audit log has it.
func line(account, verb, group, resource, subresource, decision string) string {
	return `{"stage":"ResponseComplete","verb":"` + verb + `","user":{"username":"system:serviceaccount:a:` + account + `"},` +
		`"objectRef":{"apiGroup":"` + group + `","resource":"` + resource + `","subresource":"` + subresource + `"},` +
		`"annotations":{"authorization.k8s.io/decision":"` + decision + `"}}` + "\n"
}

func TestEachRightIsUsed(t *testing.T) {
	const ours = "etcd-operator-controller-manager"
	log := line(ours, "get", "", "pods", "", "allow")
	watch := line(ours, "watch", "batch", "jobs", "", "allow")
	for name, c := range map[string]struct{ log, unused string }{
		"all":                     {log + watch + line(ours, "get", "", "pods", "log", "allow"), ""},
		"a subresource is not":    {log + watch, "say in without why nobody can see it: get pods/log"},
		"by somebody else":        {log + watch + line("other", "get", "", "pods", "log", "allow"), "get pods/log"},
		"was refused":             {log + watch + line(ours, "get", "", "pods", "log", "forbid"), "get pods/log"},
		"a list without a watch":  {log + line(ours, "get", "", "pods", "log", "allow"), "list jobs.batch; watch jobs.batch"},
		"is written at this time": {log + watch + strings.TrimSpace(line(ours, "get", "", "pods", "log", "allow")), "get pods/log"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for file, text := range map[string]string{
				"role.yaml": role, "leader_election_role.yaml": role, "metrics_auth_role.yaml": role, "audit.log": c.log,
			} {
				if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var told strings.Builder
			err := run(&told, filepath.Join(folder, "audit.log"), folder)
			switch {
			case c.unused == "" && err != nil:
				t.Errorf("%v\n%s", err, &told)
			case c.unused != "" && (err == nil || !strings.HasSuffix(err.Error(), c.unused)):
				t.Errorf("%v, want %s\n%s", err, c.unused, &told)
			}
		})
	}
}

// TestTheRolesOfThisTreeAreRead: a check that reads nothing finds nothing.
func TestTheRolesOfThisTreeAreRead(t *testing.T) {
	rights, err := granted("../../config/rbac")
	if err != nil || len(rights) < 60 {
		t.Errorf("%d rights: %v", len(rights), err)
	}
	known := map[right]bool{}
	for _, r := range rights {
		known[r] = true
	}
	for r := range without {
		if !known[r] {
			t.Errorf("%s is excepted, and granted by no role", r)
		}
	}
}
