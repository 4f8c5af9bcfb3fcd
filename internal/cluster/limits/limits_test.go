// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package limits_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/limits"
)

// allowing are limits as flags give them.
func allowing(t *testing.T, flags map[string]string) limits.Limits {
	t.Helper()
	var l limits.Limits
	for flag, text := range flags {
		var err error
		switch flag {
		case limits.ImagesFlag:
			err = l.Images.Set(text)
		case limits.PriorityClassesFlag:
			err = l.PriorityClasses.Set(text)
		case limits.TolerationsFlag:
			err = l.Tolerations.Set(text)
		case limits.LabelsFlag:
			err = l.Labels.Set(text)
		case limits.AnnotationsFlag:
			err = l.Annotations.Set(text)
		default:
			t.Fatalf("flag %s", flag)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// asking is an EtcdCluster with all fields that can be limited.
func asking() *v1beta1.EtcdCluster {
	return &v1beta1.EtcdCluster{Spec: v1beta1.EtcdClusterSpec{
		Image: "registry.example/etcd:v3.6.16",
		Scheduling: v1beta1.Scheduling{
			PriorityClassName: "high",
			Tolerations:       []corev1.Toleration{{Key: "dedicated", Value: "etcd", Effect: corev1.TaintEffectNoSchedule}},
		},
		PodMetadata: v1beta1.PodMetadata{
			Labels: map[string]string{"team": "a", "example.com/tier": "b"}, Annotations: map[string]string{"example.com/scrape": "true"},
		},
	}}
}

// TestForbidden: what is said of the same EtcdCluster by each limit.
func TestForbidden(t *testing.T) {
	for name, test := range map[string]struct {
		flag, allowed string
		says          string // of what is not allowed; empty if all is
	}{
		"nothing is limited":    {limits.ImagesFlag, "", ""},
		"this image":            {limits.ImagesFlag, "registry.example/etcd:v3.6.16", ""},
		"images of a registry":  {limits.ImagesFlag, "other.example/*, registry.example/*", ""},
		"tags of an image":      {limits.ImagesFlag, "registry.example/etcd:*", ""},
		"digests of an image":   {limits.ImagesFlag, "registry.example/etcd@*", `spec.image "registry.example/etcd:v3.6.16" is not allowed`},
		"images of another":     {limits.ImagesFlag, "other.example/*", "--allowed-images of the operator allows other.example/*"},
		"another tag":           {limits.ImagesFlag, "registry.example/etcd:v3.6.1", "spec.image"},
		"this class":            {limits.PriorityClassesFlag, "low,high", ""},
		"another class":         {limits.PriorityClassesFlag, "low", `spec.scheduling.priorityClassName "high" is not allowed`},
		"the beginning of it":   {limits.PriorityClassesFlag, "hig", "priorityClassName"},
		"this taint":            {limits.TolerationsFlag, "dedicated=etcd:NoSchedule", ""},
		"any value":             {limits.TolerationsFlag, "dedicated:NoSchedule", ""},
		"any effect":            {limits.TolerationsFlag, "dedicated=etcd", ""},
		"the key":               {limits.TolerationsFlag, "spot,dedicated", ""},
		"another value":         {limits.TolerationsFlag, "dedicated=gpu", `spec.scheduling.tolerations[0] "dedicated=etcd:NoSchedule"`},
		"another effect":        {limits.TolerationsFlag, "dedicated:NoExecute", "--allowed-tolerations of the operator allows dedicated:No"},
		"another key":           {limits.TolerationsFlag, "spot", "tolerations[0]"},
		"both labels":           {limits.LabelsFlag, "team,example.com/*", ""},
		"one label":             {limits.LabelsFlag, "example.com/*", `spec.podMetadata.labels "team" is not allowed`},
		"the other label":       {limits.LabelsFlag, "team", `spec.podMetadata.labels "example.com/tier" is not allowed`},
		"this annotation":       {limits.AnnotationsFlag, "example.com/scrape", ""},
		"annotations of others": {limits.AnnotationsFlag, "example.org/*", `spec.podMetadata.annotations "example.com/scrape" is not allowed`},
	} {
		t.Run(name, func(t *testing.T) {
			got := allowing(t, map[string]string{test.flag: test.allowed}).Forbidden(asking())
			if (got == "") != (test.says == "") || !strings.Contains(got, test.says) {
				t.Errorf("it says %q", got)
			}
		})
	}
}

// TestForbiddenSaysAll: each field, and what to do; what is not asked for cannot be too much.
func TestForbiddenSaysAll(t *testing.T) {
	none := allowing(t, map[string]string{
		limits.ImagesFlag: "none", limits.PriorityClassesFlag: "none", limits.TolerationsFlag: "none", limits.LabelsFlag: "none",
		limits.AnnotationsFlag: "none",
	})
	if got := none.Forbidden(&v1beta1.EtcdCluster{}); got != "" {
		t.Errorf("one that asks for nothing: %q", got)
	}
	got := none.Forbidden(asking())
	for _, word := range []string{
		"spec.image", "priorityClassName", "tolerations[0]", `labels "example.com/tier"`, `labels "team"`, "annotations",
		"ask the operator's administrator to allow it",
	} {
		if !strings.Contains(got, word) {
			t.Errorf("it does not say %s: %q", word, got)
		}
	}
	if got := (limits.Limits{}).Forbidden(asking()); got != "" {
		t.Errorf("without limits: %q", got)
	}
}

// TestTolerationsThatReachFurther than one taint are not allowed by it.
func TestTolerationsThatReachFurther(t *testing.T) {
	for name, test := range map[string]struct {
		allowed    string
		toleration corev1.Toleration
		want       bool
	}{
		"every taint":             {"dedicated", corev1.Toleration{Operator: corev1.TolerationOpExists}, false},
		"every value":             {"dedicated=etcd", corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpExists}, false},
		"every value, allowed":    {"dedicated", corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpExists}, true},
		"every effect":            {"dedicated:NoSchedule", corev1.Toleration{Key: "dedicated", Value: "x"}, false},
		"every effect, allowed":   {"dedicated=x", corev1.Toleration{Key: "dedicated", Value: "x", Operator: corev1.TolerationOpEqual}, true},
		"the empty value":         {"dedicated=", corev1.Toleration{Key: "dedicated"}, true},
		"more than a number":      {"dedicated=5", corev1.Toleration{Key: "dedicated", Operator: "Gt", Value: "5"}, false},
		"more than one, by a key": {"dedicated", corev1.Toleration{Key: "dedicated", Operator: "Gt", Value: "5"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := &v1beta1.EtcdCluster{}
			c.Spec.Scheduling.Tolerations = []corev1.Toleration{test.toleration}
			if got := allowing(t, map[string]string{limits.TolerationsFlag: test.allowed}).Forbidden(c); (got == "") != test.want {
				t.Errorf("it says %q", got)
			}
		})
	}
}

// TestImagesThatLookAlike are not allowed by a name that they begin with.
func TestImagesThatLookAlike(t *testing.T) {
	for image, allowed := range map[string]string{
		"registry.example.evil/etcd:v1":   "registry.example/*",
		"etcd:5000/evil":                  "etcd:*",
		"registry.example/etcd-evil:v1":   "registry.example/etcd:*",
		"registry.example/etcd/evil:v1":   "registry.example/etcd:*,registry.example/etcd@*",
		"registry.example/":               "registry.example/*",
		"registry.example/etcd@sha256:12": "registry.example/etcd@sha256:1",
		"REGISTRY.example/etcd:v1":        "registry.example/*",
	} {
		if allowing(t, map[string]string{limits.ImagesFlag: allowed}).AllowsImage(image) {
			t.Errorf("%s is allowed by %s", image, allowed)
		}
	}
}

// TestFlagsThatMeanNothing are reported when the operator starts.
func TestFlagsThatMeanNothing(t *testing.T) {
	var l limits.Limits
	for _, text := range []string{"*", "registry.example*", "*/etcd", "a/*/b", "a,b*"} {
		if err := l.Images.Set(text); err == nil || !strings.Contains(err.Error(), "at the end, after /, : or @") {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{":NoSchedule", "=x", "a:Never", "a:", "a,=", ":"} {
		if err := l.Tolerations.Set(text); err == nil || !strings.Contains(err.Error(), "is no taint") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestFlagsAreWrittenAsTheyAreRead, also when they are given twice.
func TestFlagsAreWrittenAsTheyAreRead(t *testing.T) {
	var names limits.Names
	var taints limits.Taints
	for _, text := range []string{"a, b/*", "", "c"} {
		if err := names.Set(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"a, b=c", "d:NoExecute,e=:NoSchedule"} {
		if err := taints.Set(text); err != nil {
			t.Fatal(err)
		}
	}
	if names.String() != "a,b/*,c" || taints.String() != "a,b=c,d:NoExecute,e=:NoSchedule" {
		t.Errorf("%s and %s", names.String(), taints.String())
	}
}

// TestWhatWasAllowedBefore: another value of any field that can be limited is another one than was allowed; nothing else is.
func TestWhatWasAllowedBefore(t *testing.T) {
	none := limits.Limits{Images: limits.Names{"other.example/*"}}
	c := asking()
	if limits.WasAllowed(c) {
		t.Error("what was never allowed was")
	}
	c.Status.LastAllowed = limits.Sum(c)
	c.Spec.Size, c.Spec.Version = ptr.To(int32(5)), "3.6.17"
	if !limits.WasAllowed(c) || !strings.Contains(none.Forbidden(c), "is started again as it was") {
		t.Errorf("it says %q", none.Forbidden(c))
	}
	for name, change := range map[string]func(*v1beta1.EtcdClusterSpec){
		"image":       func(s *v1beta1.EtcdClusterSpec) { s.Image = "evil.example/etcd" },
		"class":       func(s *v1beta1.EtcdClusterSpec) { s.Scheduling.PriorityClassName = "system-node-critical" },
		"tolerations": func(s *v1beta1.EtcdClusterSpec) { s.Scheduling.Tolerations[0].Key = "control-plane" },
		"labels":      func(s *v1beta1.EtcdClusterSpec) { s.PodMetadata.Labels["team"] = "b" },
		"annotations": func(s *v1beta1.EtcdClusterSpec) { s.PodMetadata.Annotations["inject"] = "true" },
	} {
		other := asking()
		other.Status.LastAllowed = limits.Sum(other)
		if change(&other.Spec); limits.WasAllowed(other) {
			t.Errorf("another %s was allowed", name)
		}
	}
}

// TestTemplatesAreLimited: images of a template are limited as that of etcd, and templates can be forbidden. Another template was not
// allowed by what was allowed before, and none changes no sum.
func TestTemplatesAreLimited(t *testing.T) {
	c := &v1beta1.EtcdCluster{}
	bare := limits.Sum(c)
	c.Spec.PodTemplate = &v1beta1.PodTemplate{
		Containers: []v1beta1.PodContainer{{Name: "a", Image: "elsewhere.example/a:v1"}, {Name: "etcd"}},
	}
	if limits.Sum(c) == bare {
		t.Error("a template is not in the sum")
	}
	images := allowing(t, map[string]string{limits.ImagesFlag: "registry.example/*"})
	if got := images.Forbidden(c); !strings.Contains(got, `image "elsewhere.example/a:v1" of container a of spec.podTemplate is not allowed`) {
		t.Errorf("another registry: %q", got)
	}
	if got := (limits.Limits{NoPodTemplate: true}).Forbidden(c); !strings.Contains(got, "--forbid-pod-template") {
		t.Errorf("where it is forbidden: %q", got)
	}
	if got := (limits.Limits{}).Forbidden(c); got != "" {
		t.Errorf("without limits: %q", got)
	}
}
