// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/plugin/screen"
)

// ofContexts is a kubeconfig with contexts of these names.
func ofContexts(t *testing.T, names ...string) string {
	t.Helper()
	var text strings.Builder
	text.WriteString("apiVersion: v1\nkind: Config\ncontexts:\n")
	for _, name := range names {
		text.WriteString("- {name: " + name + ", context: {cluster: c, user: u}}\n")
	}
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// inEast is a cluster with a verified backup and a log; inWest one that is degraded, in another namespace.
func inEast() *v1beta1.EtcdCluster {
	c := cluster("a", available)
	c.Status.Version, c.Status.ReadyMembers = "3.6.16", 3
	c.Status.Backup = &v1beta1.ClusterBackups{Verified: &v1beta1.BackupPoint{Name: "b", Time: metav1.NewTime(noon.Add(-2 * 3600e9))}}
	c.Status.Log = &v1beta1.LogStatus{Until: &v1beta1.LogPoint{Time: metav1.NewTime(noon.Add(-5e9)), Revision: 7}}
	return c
}

func inWest() *v1beta1.EtcdCluster {
	c := cluster("z", available, condition(v1beta1.ConditionDegraded, metav1.ConditionTrue, "MemberDown"))
	c.Namespace = "shop"
	return c
}

// TestFleet: all clusters of all contexts, those that are not well first; a context that does not answer hides no other one.
func TestFleet(t *testing.T) {
	east, west := newWorld(t, inEast()), newWorld(t, inWest())
	east.contexts = map[string]client.Client{"east": east.client, "west": west.client, "empty": newWorld(t).client}
	config := ofContexts(t, "west", "east", "empty", "gone")
	fleet := func(more ...string) int {
		return east.run(t.Context(), append([]string{"fleet", "--kubeconfig", config}, more...)...)
	}
	wantExit(t, fleet("--contexts", "east"), Done)
	wantText(t, &east.out, "east", "default", "a ", "3/3", "3.6.16", "120m ago", "5s ago")
	wantExit(t, fleet(), Unwell)
	wantText(t, &east.out, "shop", "MemberDown")
	if out := east.out.String(); strings.Index(out, "west") > strings.Index(out, "east") {
		t.Errorf("what is well comes first:\n%s", out)
	}
	wantText(t, &east.err, "context empty has no EtcdCluster", "context gone could not be asked: no route")
	wantExit(t, fleet("--contexts", "east,gone"), Failed)
	wantExit(t, fleet("-n", "shop", "--contexts", "east,west", "-o", "json"), Unwell)
	var all []screen.Summary
	if err := json.Unmarshal(east.out.Bytes(), &all); err != nil || len(all) != 1 || all[0].Context != "west" || all[0].Name != "z" {
		t.Errorf("%+v: %v", all, err)
	}
	for _, line := range []string{"--contexts north", "-o yaml", "a"} {
		wantExit(t, fleet(strings.Fields(line)...), Failed)
	}
	wantExit(t, east.run(t.Context(), "fleet", "--kubeconfig", ofContexts(t)), Failed)
}

var errNoRoute = errors.New("no route")
