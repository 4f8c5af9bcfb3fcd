package e2e

import (
	"encoding/json"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

// past is a list as it once was, told to an operator that starts, as a stale API
// server or cache would.
type past struct {
	kind  schema.GroupVersionKind
	items unstructured.UnstructuredList
	lasts time.Duration
	told  bool
}

// remember keeps a kind's list of our objects as it is now.
func remember(namespace string, kind schema.GroupVersionKind, lasts time.Duration) *past {
	GinkgoHelper()
	p := &past{kind: kind, lasts: lasts}
	p.items.SetGroupVersionKind(kind)
	ours := client.MatchingLabels{"app.kubernetes.io/managed-by": v1alpha1.FieldOwner}
	Expect(api.List(ctx, &p.items, client.InNamespace(namespace), ours)).To(Succeed())
	return p
}

// tell serves the past to the next watch or list of the resource.
func (p *proxy) tell(resource string, what *past) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.old[resource] = what
}

// wasTold says whether the operator has looked at the past.
func (p *proxy) wasTold(what *past) func() bool {
	return func() bool {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		return what.told
	}
}

// first says whether this is the first look at the list. It runs under the lock.
func (p *past) first(asked request) bool {
	looks := asked.method == http.MethodGet && asked.name == "" && (!asked.watch || asked.initial)
	if !looks || p.told {
		return false
	}
	p.told = true
	return true
}

// serve answers with the past, keeps a watch silent for a while and ends it. The
// operator then watches on from the old version, and learns all that it missed.
func (p *past) serve(w http.ResponseWriter, r *http.Request, asked request) {
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	if !asked.watch {
		_ = encoder.Encode(&p.items)
		return
	}
	for i := range p.items.Items {
		_ = encoder.Encode(map[string]any{"type": "ADDED", "object": &p.items.Items[i]})
	}
	_ = encoder.Encode(map[string]any{"type": "BOOKMARK", "object": map[string]any{
		"apiVersion": p.kind.GroupVersion().String(), "kind": p.kind.Kind,
		"metadata": map[string]any{
			"resourceVersion": p.items.GetResourceVersion(),
			"annotations":     map[string]string{"k8s.io/initial-events-end": "true"},
		},
	}})
	w.(http.Flusher).Flush() //nolint:forcetypeassert // every server's writer is one
	select {
	case <-time.After(p.lasts):
	case <-r.Context().Done():
	}
}
