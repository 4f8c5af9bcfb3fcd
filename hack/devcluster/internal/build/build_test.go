package build

import (
	"slices"
	"testing"
)

func names(components []Component) []string {
	var all []string
	for _, component := range components {
		all = append(all, component.Name)
	}
	return all
}

func TestKeyHoldsWhatMakesBuildsDiffer(t *testing.T) {
	first := kubernetes()
	base := key(first, "go1.26", []byte("sums"))
	if base != key(kubernetes(), "go1.26", []byte("sums")) {
		t.Error("the same build has two keys")
	}
	flags, version := first, first
	flags.Ldflags += " -x"
	version.Version = "9.9.9"
	for what, other := range map[string]string{
		"flags": key(flags, "go1.26", []byte("sums")), "version": key(version, "go1.26", []byte("sums")),
		"compiler": key(first, "go1.27", []byte("sums")), "sources": key(first, "go1.26", []byte("other")),
	} {
		if other == base {
			t.Errorf("other %s, but the same key", what)
		}
	}
}

func TestSelect(t *testing.T) {
	if got := names(Select(Envtest)); !slices.Equal(got, []string{"kubernetes", "etcd-3.6.16"}) {
		t.Errorf("envtest needs %v", got)
	}
	if got := names(Select("pause")); !slices.Equal(got, []string{"pause"}) {
		t.Errorf("one name selects %v", got)
	}
	if len(Select("nonsense")) != 0 {
		t.Error("an unknown name selects something")
	}
}
