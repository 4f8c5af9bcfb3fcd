// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package v1beta1_test

import (
	"fmt"
	"strings"
	"testing"
)

// The operator takes several minor versions up one after the other, which an image of
// one version cannot; down etcd goes by one. What counts is what members run, not
// what the spec said before.
func TestVersionPath(t *testing.T) {
	const (
		skip = "spec.version: Invalid value|with spec.image set, version may go up by one minor at a time|members run "
		down = "spec.version: Invalid value|version may go down by one minor at a time: members run "
	)
	for i, path := range []struct{ wanted, run, to, refused string }{
		{"3.5.30", "3.5.30", "3.5.35", ""},
		{"3.5.30", "3.5.30", "3.5.26", ""},
		{"3.5.30", "3.5.30", "3.6.16", ""},
		{"3.5.30", "3.5.30", "3.7.3", ""},
		{"3.5.30", "3.5.30", `"3.7"`, ""},
		{"3.5.30", "3.5.30", "3.7.3, image: example/etcd:1", skip + "3.5.30"},
		{"3.5.30", "3.5.30", "3.6.16, image: example/etcd:1", ""},
		{"3.6.16", "3.6.16", "3.6.9", ""},
		{"3.6.16", "3.6.16", "3.7.3", ""},
		{"3.6.16", "3.6.16", "3.5.35", ""},
		{"3.7.3", "3.7.3", `"3.6"`, ""},
		{"3.7.3", "3.7.3", `"3.5"`, down + "3.7.3"},
		{"3.7.3", "3.7.3", "3.5.35", down + "3.7.3"},

		// An update that has not come to its end may be taken back, not taken further.
		{"3.7.3", "3.6.16", "3.6.16", ""},
		{"3.7.3", "3.6.16", "3.5.35", ""},
		{"3.6.16", "3.5.30", "3.7.3", ""},
		{"3.6.16", "3.5.30", "3.5.30", ""},

		// Nothing runs yet.
		{"3.7.3", "", "3.5.35", ""},
		{"3.5.30", "", "3.7.3", ""},
		// An image may hold another version, even one that this API cannot name.
		{"3.6.16", "3.5.30", "3.6.16", ""},
		{"3.5.35", "3.4.37", "3.6.16, image: example/etcd:1", skip + "3.4.37"},
		{"3.6.16", "custom", "3.7.3", ""},
	} {
		title := fmt.Sprintf("%s running %q to %s", path.wanted, path.run, path.to)
		switch {
		case strings.HasPrefix(path.refused, down):
			title = "fault 49: " + title
		case path.refused != "":
			title = "fault 50: " + title
		}
		t.Run(title, func(t *testing.T) {
			name := fmt.Sprintf("version-%d", i)
			create(t, name, "{version: "+path.wanted+"}")
			run(t, name, path.run)
			err := tryUpdate(t, name, "{version: "+path.to+"}")
			if path.refused == "" {
				wantAccepted(t, err, "version "+path.to)
				return
			}
			wantRefused(t, err, "version "+path.to, strings.Split(path.refused, "|")...)
		})
	}
}

// The operator must be able to write what members run, and users must be able to change
// other fields, whatever the versions are.
func TestVersionPathJudgesChangesOfTheVersionOnly(t *testing.T) {
	create(t, "mismatch", "{version: 3.7.3}")
	for _, version := range []string{"3.5.30", "3.6.16", "3.7.3", "", "3.5.30"} {
		run(t, "mismatch", version)
	}
	wantAccepted(t, tryUpdate(t, "mismatch", "{version: 3.7.3, size: 5}"), "another size")
	wantAccepted(t, tryUpdate(t, "mismatch", "{version: 3.6.16}"), "a version that members can go to")

	err := tryUpdate(t, "mismatch", "{version: latest}")
	wantRefused(t, err, "version latest", "version must be an etcd version")
	if strings.Contains(err.Error(), "members run") {
		t.Errorf("one fault, two complaints: %v", err)
	}
}

// run writes what members run into the status, as the operator does.
func run(t *testing.T, name, version string) {
	t.Helper()
	c := get(t, name)
	c.Status.Version = version
	if err := server.Status().Update(t.Context(), c); err != nil {
		t.Fatalf("status.version %q: %v", version, err)
	}
}
