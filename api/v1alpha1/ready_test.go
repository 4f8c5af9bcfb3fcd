package v1alpha1_test

import (
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

// TestEveryKindHasAStatusForTools: kstatus, and with it Flux, Argo CD and kubectl wait, looks at status.observedGeneration and at the
// condition Ready.
func TestEveryKindHasAStatusForTools(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	kinds := 0
	for kind, of := range scheme.KnownTypes(v1alpha1.GroupVersion) {
		if !strings.HasPrefix(kind, "Etcd") || strings.HasSuffix(kind, "List") {
			continue
		}
		kinds++
		status, has := of.FieldByName("Status")
		if !has {
			t.Errorf("%s has no status", kind)
			continue
		}
		for name, want := range map[string]reflect.Type{
			"ObservedGeneration": reflect.TypeFor[int64](), "Conditions": reflect.TypeFor[[]metav1.Condition](),
		} {
			if field, has := status.Type.FieldByName(name); !has || field.Type != want {
				t.Errorf("the status of %s has no %s", kind, name)
			}
		}
	}
	if kinds != 6 {
		t.Errorf("looked at %d kinds", kinds)
	}
}
