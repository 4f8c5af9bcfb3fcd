// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gitops tries the health checks that are shipped for Argo CD and Flux on objects of every kind.
package gitops

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/cel-go/cel"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// cases are objects as the operator leaves them, without kind, and what tools make of them. kstatus is what Flux, Helm 4 and kpt go by
// without an expression. Those of a kind of its own are tried with this kind alone.
var cases = map[string]struct {
	kind, object        string
	argo, flux, kstatus string
}{
	"nobody has looked at it": {
		object: `{metadata: {generation: 1}}`, argo: "Progressing", flux: "InProgress", kstatus: "Current",
	},
	"it was changed since": {
		object: `{metadata: {generation: 2}, status: {observedGeneration: 1, conditions: [{type: Ready, status: "True", reason: Healthy}]}}`,
		argo:   "Progressing", flux: "InProgress", kstatus: "InProgress",
	},
	"it is ready": {
		object: `{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [
			{type: Ready, status: "True", reason: Healthy, message: m}]}}`,
		argo: "Healthy", flux: "Current", kstatus: "Current",
	},
	"it is not ready": {
		object: `{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [{type: Ready, status: Unknown, reason: FirstCheck}]}}`,
		argo:   "Progressing", flux: "InProgress", kstatus: "InProgress",
	},
	"it says nothing of it": {
		object: `{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: []}}`,
		argo:   "Progressing", flux: "InProgress", kstatus: "Current",
	},
	"first members start": {
		kind: "EtcdCluster", object: `{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [
			{type: Available, status: "False", reason: Bootstrapping}, {type: Degraded, status: "False", reason: AsExpected},
			{type: Progressing, status: "True", reason: Acting}, {type: Ready, status: "False", reason: Bootstrapping, message: m}]}}`,
		argo: "Progressing", flux: "InProgress", kstatus: "InProgress",
	},
	"a person must act": {
		kind: "EtcdCluster", object: `{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [
			{type: Degraded, status: "True", reason: ActionRequired, message: m}, {type: Ready, status: "False", reason: ActionRequired}]}}`,
		argo: "Degraded", flux: "InProgress", kstatus: "InProgress",
	},
	"an authority ends": {
		kind: "EtcdCluster", object: `{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [
			{type: Degraded, status: "True", reason: AuthorityEnds, message: m}, {type: Ready, status: "True", reason: Healthy}]}}`,
		argo: "Healthy", flux: "Current", kstatus: "Current",
	},
	"it is paused": {
		kind: "EtcdCluster", object: `{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [
			{type: Progressing, status: "False", reason: Paused, message: m}, {type: Ready, status: "False", reason: Paused}]}}`,
		argo: "Suspended", flux: "InProgress", kstatus: "InProgress",
	},
	"it hibernates": {
		kind: "EtcdCluster", object: `{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [
			{type: Available, status: "False", reason: Hibernated}, {type: Ready, status: "True", reason: Hibernated, message: m}]}}`,
		argo: "Healthy", flux: "Current", kstatus: "Current",
	},
	"a backup has failed": {
		kind: "EtcdBackup", object: `{metadata: {generation: 1}, status: {observedGeneration: 1, phase: Failed, conditions: [
			{type: Ready, status: "False", reason: StoreUnready, message: m}]}}`,
		argo: "Degraded", flux: "Failed", kstatus: "InProgress",
	},
	"a drill is refused": {
		kind: "EtcdDrill", object: `{metadata: {generation: 1}, status: {observedGeneration: 1, phase: Refused, conditions: [
			{type: Ready, status: "False", reason: Forbidden, message: m}]}}`,
		argo: "Degraded", flux: "Failed", kstatus: "InProgress",
	},
	"a restore waits to be confirmed": {
		kind: "EtcdRestore", object: `{metadata: {generation: 1}, status: {observedGeneration: 1, phase: Previewed, conditions: [
			{type: Ready, status: "False", reason: Previewed, message: m}]}}`,
		argo: "Suspended", flux: "InProgress", kstatus: "InProgress",
	},
	"a restore was undone": {
		kind: "EtcdRestore", object: `{metadata: {generation: 1}, status: {observedGeneration: 1, phase: Undone, conditions: [
			{type: Complete, status: "False", reason: Undone}, {type: Ready, status: "True", reason: Undone, message: m}]}}`,
		argo: "Healthy", flux: "Current", kstatus: "Current",
	},
	"a store refuses the keys": {
		kind: "EtcdBackupStore", object: `{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [
			{type: Ready, status: "False", reason: Forbidden, message: m}]}}`,
		argo: "Degraded", flux: "InProgress", kstatus: "InProgress",
	},
	"a user waits for its cluster": {
		kind: "EtcdUser", object: `{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [
			{type: Ready, status: "False", reason: ClusterMissing, message: m}]}}`,
		argo: "Progressing", flux: "InProgress", kstatus: "InProgress",
	},
}

// TestHealth: what Argo CD, Flux and kstatus say of every kind in every state.
func TestHealth(t *testing.T) {
	script, exprs := argoScript(t), fluxExprs(t)
	for _, kind := range kinds(t) {
		for name, test := range cases {
			if test.kind != "" && test.kind != kind {
				continue
			}
			t.Run(kind+"/"+name, func(t *testing.T) {
				object := map[string]any{}
				if err := yaml.Unmarshal([]byte(test.object), &object); err != nil {
					t.Fatal(err)
				}
				u := &unstructured.Unstructured{}
				object["apiVersion"], object["kind"] = "etcd-operator.dev/v1beta1", kind
				if u.Object = integers(object).(map[string]any); len(exprs[kind]) == 0 {
					t.Fatal("Flux has no expressions for it")
				}
				if got, message := argo(t, script, u.Object); got != test.argo || message == "" {
					t.Errorf("Argo CD says %s (%q), want %s", got, message, test.argo)
				}
				if got := flux(t, exprs[kind], u.Object); got != test.flux {
					t.Errorf("Flux says %s, want %s", got, test.flux)
				}
				if got, err := status.Compute(u); err != nil || got.Status.String() != test.kstatus {
					t.Errorf("kstatus says %v (%v), want %s", got, err, test.kstatus)
				}
			})
		}
	}
}

// TestFluxKnowsEveryKind, and none that is not there.
func TestFluxKnowsEveryKind(t *testing.T) {
	var known []string
	for kind := range fluxExprs(t) {
		known = append(known, kind)
	}
	slices.Sort(known)
	if want := kinds(t); !slices.Equal(known, want) {
		t.Errorf("Flux has expressions for %v, the kinds are %v", known, want)
	}
}

// kinds are those of the CRDs.
func kinds(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../config/crd/bases/*.yaml")
	if err != nil || len(files) != 7 {
		t.Fatalf("CRDs: %v, %v", files, err)
	}
	var all []string
	for _, file := range files {
		var crd struct {
			Spec struct{ Names struct{ Kind string } }
		}
		read(t, file, &crd)
		all = append(all, crd.Spec.Names.Kind)
	}
	slices.Sort(all)
	return all
}

// argoScript is the script for all kinds of the group.
func argoScript(t *testing.T) string {
	t.Helper()
	var shipped struct{ Data map[string]string }
	read(t, "../../config/gitops/argocd-cm.yaml", &shipped)
	customizations := map[string]map[string]string{}
	if err := yaml.Unmarshal([]byte(shipped.Data["resource.customizations"]), &customizations); err != nil {
		t.Fatal(err)
	}
	script := customizations["etcd-operator.dev/*"]["health.lua"]
	if script == "" {
		t.Fatal("no script for the group")
	}
	return script
}

// argo runs a script as Argo CD does: with the libraries that it opens, and the object as obj.
func argo(t *testing.T, script string, object map[string]any) (health, message string) {
	t.Helper()
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{
		lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable,
	} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			t.Fatal(err)
		}
	}
	state.SetGlobal("obj", table(state, object))
	if err := state.DoString(script); err != nil {
		t.Fatal(err)
	}
	result, is := state.Get(-1).(*lua.LTable)
	if !is {
		t.Fatalf("the script returns a %s", state.Get(-1).Type())
	}
	return result.RawGetString("status").String(), lua.LVAsString(result.RawGetString("message"))
}

// table is a value of JSON in Lua.
func table(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case map[string]any:
		made := state.NewTable()
		for name, field := range value {
			made.RawSetString(name, table(state, field))
		}
		return made
	case []any:
		made := state.NewTable()
		for _, item := range value {
			made.Append(table(state, item))
		}
		return made
	case string:
		return lua.LString(value)
	case int64:
		return lua.LNumber(value)
	case bool:
		return lua.LBool(value)
	default:
		return lua.LNil
	}
}

// expr is an entry of healthCheckExprs.
type expr struct{ APIVersion, Kind, Failed, Current string }

func fluxExprs(t *testing.T) map[string][]expr {
	t.Helper()
	var shipped struct {
		Spec struct{ HealthCheckExprs []expr }
	}
	read(t, "../../config/gitops/flux-kustomization.yaml", &shipped)
	all := map[string][]expr{}
	for _, e := range shipped.Spec.HealthCheckExprs {
		if e.APIVersion != "etcd-operator.dev/v1beta1" {
			t.Errorf("%s is of %s", e.Kind, e.APIVersion)
		}
		all[e.Kind] = append(all[e.Kind], e)
	}
	return all
}

// flux asks the expressions as Flux does: failed comes before current, and one that reads what is not there is not true yet.
func flux(t *testing.T, exprs []expr, object map[string]any) string {
	t.Helper()
	switch {
	case len(exprs) != 1:
		t.Errorf("%d expressions for a kind", len(exprs))
		return ""
	case holds(t, exprs[0].Failed, object):
		return "Failed"
	case holds(t, exprs[0].Current, object):
		return "Current"
	default:
		return "InProgress"
	}
}

func holds(t *testing.T, text string, object map[string]any) bool {
	t.Helper()
	env, err := cel.NewEnv(cel.Variable("metadata", cel.DynType), cel.Variable("spec", cel.DynType), cel.Variable("status", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		t.Fatalf("%s: %v", text, issues.Err())
	}
	program, err := env.Program(ast)
	if err != nil {
		t.Fatal(err)
	}
	value, _, err := program.Eval(object)
	if err != nil && !strings.Contains(err.Error(), "no such") {
		t.Fatalf("%s: %v", text, err)
	}
	return err == nil && value.Value() == true
}

// integers are the whole numbers of YAML as the API server gives them.
func integers(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name := range value {
			value[name] = integers(value[name])
		}
	case []any:
		for i := range value {
			value[i] = integers(value[i])
		}
	case float64:
		return int64(value)
	}
	return value
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
