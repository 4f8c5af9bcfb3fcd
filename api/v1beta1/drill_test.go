// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package v1beta1_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// What is refused of drills, and what the refusal says. None can be changed.
func TestRefusedDrills(t *testing.T) {
	for name, c := range map[string]struct{ bad, good, says string }{
		"drill-of-nothing": {"{action: KillMember}", "{cluster: a, action: KillMember}", "cluster"},
		"drill-undecided":  {"{cluster: a}", "{cluster: a, action: KillAll}", "action"},
		"drill-unknown":    {"{cluster: a, action: Explode}", "{cluster: a, action: LoseVolume}", "KillLeader"},
		"drill-of-disks":   {"{cluster: a, action: FillDisk}", "{cluster: a, action: Measure}", "use Measure beside a tool"},
		"drill-short":      {"{cluster: a, action: KillAll, timeout: 59s}", "{cluster: a, action: KillAll, timeout: 1m}", "between 1m and 24h"},
		"drill-long":       {"{cluster: a, action: KillAll, timeout: 25h}", "{cluster: a, action: KillAll, timeout: 24h}", "between 1m and 24h"},
		"drill-lasting":    {"{cluster: a, action: KillAll, duration: 1m}", "{cluster: a, action: Measure, duration: 1m}", "goes with"},
		"drill-moment":     {"{cluster: a, action: Measure, duration: 9s}", "{cluster: a, action: Measure}", "between 10s and 1h"},
		"drill-cron": {
			"{cluster: a, action: KillAll, schedule: sometimes}", "{cluster: a, action: LoseQuorum, schedule: 0 10 * * 2}", "five fields",
		},
		"drill-zoned": {
			"{cluster: a, action: KillAll, timeZone: Europe/Berlin}",
			"{cluster: a, action: KillAll, schedule: '@weekly', timeZone: Europe/Berlin}", "goes with",
		},
		"drill-forgetful": {
			"{cluster: a, action: KillAll, historyLimit: 0}", "{cluster: a, action: KillAll, historyLimit: 1}", "historyLimit",
		},
		"drill-expects-of-members": {
			"{cluster: a, action: KillAll, expect: [{key: k}]}", "{cluster: a, action: RestoreBackup, expect: [{key: k}]}",
			"expect is about data that is restored",
		},
		"drill-expects-two": {
			"{cluster: a, action: RestoreBackup, expect: [{key: k, prefix: p, min: 1}]}",
			"{cluster: a, action: LoseQuorum, expect: [{key: k}, {prefix: p, min: 1}]}", "either a key or a prefix",
		},
		"drill-expects-nothing": {
			"{cluster: a, action: RestoreBackup, expect: [{min: 1}]}", "{cluster: a, action: RestoreBackup, expect: []}",
			"either a key or a prefix",
		},
		"drill-expects-a-value": {
			"{cluster: a, action: RestoreBackup, expect: [{prefix: p, min: 1, value: v}]}",
			"{cluster: a, action: RestoreBackup, expect: [{key: k, value: ''}]}", "value goes with key",
		},
		"drill-expects-some-of-a-key": {
			"{cluster: a, action: RestoreBackup, expect: [{key: k, max: 1}]}",
			"{cluster: a, action: RestoreBackup, expect: [{prefix: p, max: 0}]}", "min and max go with prefix",
		},
		"drill-expects-any-number": {
			"{cluster: a, action: RestoreBackup, expect: [{prefix: p}]}",
			"{cluster: a, action: RestoreBackup, expect: [{prefix: p, min: 4}]}", "prefix needs min or max",
		},
		"drill-expects-no-number": {
			"{cluster: a, action: RestoreBackup, expect: [{prefix: p, min: 5, max: 4}]}",
			"{cluster: a, action: RestoreBackup, expect: [{prefix: p, min: 4, max: 4}]}", "min must not be more than max",
		},
		"drill-expects-less-than-none": {
			"{cluster: a, action: RestoreBackup, expect: [{prefix: p, min: -1}]}",
			"{cluster: a, action: RestoreBackup, expect: [{prefix: p, min: 0}]}", "greater than or equal to 0",
		},
		"drill-expects-much": {
			"{cluster: a, action: RestoreBackup, expect: [" + strings.Repeat("{key: k},", 17) + "]}",
			"{cluster: a, action: RestoreBackup, expect: [" + strings.Repeat("{key: k},", 16) + "]}", "at most 16 items",
		},
		"drill-expects-a-long-value": {
			"{cluster: a, action: RestoreBackup, expect: [{key: k, value: " + strings.Repeat("v", 1025) + "}]}",
			"{cluster: a, action: RestoreBackup, expect: [{key: k, value: " + strings.Repeat("v", 1024) + "}]}", "1024",
		},
		"drill-timeless": {"{cluster: a, action: KillAll, timeout: soon}", "{cluster: a, action: KillLeader}", "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			err := server.Create(t.Context(), ofKind(t, "EtcdDrill", name, c.bad), strict)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s is accepted, or refused without saying %q: %v", c.bad, c.says, err)
			}
			object := ofKind(t, "EtcdDrill", name, c.good)
			if err := server.Create(t.Context(), object, strict); err != nil {
				t.Fatalf("%s is refused: %v", c.good, err)
			}
			typed := &v1beta1.EtcdDrill{}
			if err := server.Get(t.Context(), client.ObjectKeyFromObject(object), typed); err != nil {
				t.Fatal(err)
			}
			typed.Finalizers = []string{v1beta1.FinalizerDrill}
			wantAccepted(t, server.Update(t.Context(), typed), "the same spec in other words, such as 1m0s")
			object.SetResourceVersion(typed.ResourceVersion)
			_ = unstructured.SetNestedField(object.Object, "b", "spec", "cluster")
			if err := server.Update(t.Context(), object, strict); err == nil || !strings.Contains(err.Error(), "cannot be changed") {
				t.Errorf("a drill can be changed: %v", err)
			}
		})
	}
	corrected := &v1beta1.EtcdDrill{}
	if err := server.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "drill-expects-two"}, corrected); err != nil {
		t.Fatal(err)
	}
	corrected.Spec.Expect = corrected.Spec.Expect[:1]
	wantAccepted(t, server.Update(t.Context(), corrected), "other expectations")
	wantRefused(t, server.Create(t.Context(), ofKind(t, "EtcdDrill", strings.Repeat("n", 64), "{cluster: a, action: KillAll}"), strict), "64")
	create(t, "drilled", "{drills: Allowed}")
	wantAccepted(t, tryUpdate(t, "drilled", "{drills: Forbidden}"), "forbidding drills")
	wantRefused(t, tryUpdate(t, "drilled", "{drills: Sometimes}"), "another word")
}
