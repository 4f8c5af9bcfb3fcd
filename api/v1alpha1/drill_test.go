//go:build envtest

package v1alpha1_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

// What is refused of drills, and what the refusal says. None can be changed.
func TestRefusedDrills(t *testing.T) {
	for name, c := range map[string]struct{ bad, good, says string }{
		"drill-of-nothing": {"{action: KillMember}", "{cluster: a, action: KillMember}", "cluster"},
		"drill-undecided":  {"{cluster: a}", "{cluster: a, action: KillAll}", "action"},
		"drill-unknown":    {"{cluster: a, action: Explode}", "{cluster: a, action: LoseVolume}", "KillLeader"},
		"drill-short":      {"{cluster: a, action: KillAll, timeout: 59s}", "{cluster: a, action: KillAll, timeout: 1m}", "between 1m and 24h"},
		"drill-long":       {"{cluster: a, action: KillAll, timeout: 25h}", "{cluster: a, action: KillAll, timeout: 24h}", "between 1m and 24h"},
		"drill-isolating":  {"{cluster: a, action: KillAll, duration: 1m}", "{cluster: a, action: IsolateMember, duration: 1m}", "goes with"},
		"drill-moment":     {"{cluster: a, action: IsolateMember, duration: 9s}", "{cluster: a, action: IsolateMember}", "between 10s and 1h"},
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
			typed := &v1alpha1.EtcdDrill{}
			if err := server.Get(t.Context(), client.ObjectKeyFromObject(object), typed); err != nil {
				t.Fatal(err)
			}
			typed.Finalizers = []string{v1alpha1.FinalizerDrill}
			wantAccepted(t, server.Update(t.Context(), typed), "the same spec in other words, such as 1m0s")
			object.SetResourceVersion(typed.ResourceVersion)
			_ = unstructured.SetNestedField(object.Object, "b", "spec", "cluster")
			if err := server.Update(t.Context(), object, strict); err == nil || !strings.Contains(err.Error(), "cannot be changed") {
				t.Errorf("a drill can be changed: %v", err)
			}
		})
	}
	wantRefused(t, server.Create(t.Context(), ofKind(t, "EtcdDrill", strings.Repeat("n", 64), "{cluster: a, action: KillAll}"), strict), "64")
	create(t, "drilled", "{drills: Allowed}")
	wantAccepted(t, tryUpdate(t, "drilled", "{drills: Forbidden}"), "forbidding drills")
	wantRefused(t, tryUpdate(t, "drilled", "{drills: Sometimes}"), "another word")
}
