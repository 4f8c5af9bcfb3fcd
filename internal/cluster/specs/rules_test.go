// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	psaapi "k8s.io/pod-security-admission/api"
	psapolicy "k8s.io/pod-security-admission/policy"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

func TestPodsPassPodSecurityRestricted(t *testing.T) {
	evaluator, err := psapolicy.NewEvaluator(psapolicy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := psaapi.LevelVersion{Level: psaapi.LevelRestricted, Version: psaapi.LatestVersion()}
	verdict := func(pod *corev1.Pod) psapolicy.AggregateCheckResult {
		return psapolicy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec))
	}
	for name, c := range map[string]*v1beta1.EtcdCluster{
		"default": example(), "ephemeral": with(ephemeral), "without TLS": with(insecure), "full": full(t),
	} {
		if result := verdict(specs.Pod(c, c.Name+"-0", forming())); !result.Allowed {
			t.Errorf("%s: %s", name, result.ForbiddenDetail())
		}
	}
	loose := specs.Pod(example(), "example-0", forming())
	loose.Spec.Containers[0].SecurityContext = nil
	if verdict(loose).Allowed {
		t.Error("the evaluator lets everything pass: this test shows nothing")
	}
}

// The longest names that the API lets through.
func TestNamesFitIntoDNS(t *testing.T) {
	c := example()
	c.Name, c.Namespace = "a"+strings.Repeat("-", 50)+"z", strings.Repeat("n", 63)
	for _, serial := range []int{0, 7, 9999999999} {
		member := fmt.Sprintf("%s-%d", c.Name, serial)
		pod := specs.Pod(c, member, specs.Joining{New: true, Members: []string{member}})
		wantNo(t, "host name of a member", validation.IsDNS1123Label(pod.Spec.Hostname))
		wantNo(t, "address of a member", validation.IsDNS1123Subdomain(specs.Host(c, member)))
		wantLabels(t, pod.Name, pod.Labels)
		wantLabels(t, pod.Name, specs.Volume(c, member, plan()).Labels)
		if want := pod.Spec.Hostname + "." + pod.Spec.Subdomain + "." + c.Namespace + ".svc"; specs.Host(c, member) != want {
			t.Errorf("the member is configured as %s, and DNS knows it as %s", specs.Host(c, member), want)
		}
	}
	for _, service := range []*corev1.Service{specs.HeadlessService(c), specs.ClientService(c)} {
		wantNo(t, "Service", validation.IsDNS1035Label(service.Name))
		wantLabels(t, service.Name, service.Labels)
		for _, port := range service.Spec.Ports {
			wantNo(t, "port", validation.IsValidPortName(port.Name))
		}
	}
	for _, name := range []string{specs.MemberSecret(c), c.ClientSecret(), c.ClientCA(), c.PeerCA(), specs.Budget(c, 3).Name} {
		wantNo(t, name, validation.IsDNS1123Subdomain(name))
	}
}

func wantNo(t *testing.T, what string, complaints []string) {
	t.Helper()
	if len(complaints) > 0 {
		t.Errorf("%s: %v", what, complaints)
	}
}

func wantLabels(t *testing.T, of string, all map[string]string) {
	t.Helper()
	for key, value := range all {
		wantNo(t, of+": label "+key, validation.IsQualifiedName(key))
		wantNo(t, of+": value of "+key, validation.IsValidLabelValue(value))
	}
}

// The podMetadata of a user cannot make the operator lose a Pod or count a
// foreign one, even if admission let the keys through.
func TestUsersCannotOverrideLabelsOfTheOperator(t *testing.T) {
	theirs := map[string]string{"team": "a", v1beta1.AnnotationTemplate: "theirs"}
	for key := range specs.MemberLabels(example(), "example-0") {
		theirs[key] = "theirs"
	}
	c := with(func(s *v1beta1.EtcdClusterSpec) { s.PodMetadata.Labels, s.PodMetadata.Annotations = theirs, theirs })
	pod := specs.Pod(c, "example-0", forming())
	for key, value := range specs.MemberLabels(c, "example-0") {
		if pod.Labels[key] != value {
			t.Errorf("label %s is %q, want %q", key, pod.Labels[key], value)
		}
	}
	if pod.Annotations[v1beta1.AnnotationTemplate] != specs.Fingerprint(c, "example-0") {
		t.Error("the user decides whether a Pod is as wanted")
	}
	if pod.Labels["team"] != "a" || pod.Annotations["team"] != "a" {
		t.Error("the user's own label or annotation is lost")
	}
}

// What selects Pods must select those of this cluster, and of no other.
func TestSelectorsSelectMembersOnly(t *testing.T) {
	c := example()
	member := labels.Set(specs.Pod(c, "example-0", forming()).Labels)
	other := example()
	other.Name = "other"
	stranger := labels.Set(specs.Pod(other, "other-0", forming()).Labels)

	constraint := specs.Pod(c, "example-0", forming()).Spec.TopologySpreadConstraints[0]
	text, err := metav1.ParseToLabelSelector(specs.SelectorText(c))
	if err != nil {
		t.Fatal(err)
	}
	for what, selector := range map[string]*metav1.LabelSelector{
		"budget": specs.Budget(c, 3).Spec.Selector, "spread": constraint.LabelSelector, "scale": text,
		"headless Service": {MatchLabels: specs.HeadlessService(c).Spec.Selector},
		"client Service":   {MatchLabels: specs.ClientService(c).Spec.Selector},
	} {
		parsed, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil {
			t.Fatal(err)
		}
		if !parsed.Matches(member) || parsed.Matches(stranger) {
			t.Errorf("%s selects %s: its own member %t, another cluster's %t", what, parsed, parsed.Matches(member), parsed.Matches(stranger))
		}
	}
}

// It counts the Pods that must stay: of those that may go there may be fewer a moment later.
func TestBudgetKeepsAQuorum(t *testing.T) {
	spec := specs.Budget(example(), 3).Spec
	if spec.MinAvailable.IntValue() != 3 || spec.MaxUnavailable != nil {
		t.Errorf("at least %v stay, at most %v go", spec.MinAvailable, spec.MaxUnavailable)
	}
}

func TestVolumes(t *testing.T) {
	if volume := specs.Volume(with(ephemeral), "example-0", plan()); volume != nil {
		t.Errorf("an ephemeral cluster gets a volume: %v", volume)
	}
	if len(specs.Volume(example(), "example-0", plan()).OwnerReferences) > 0 {
		t.Error("a volume to be retained goes with its cluster")
	}
	if _, has := specs.Volume(example(), "example-0", plan()).Labels[specs.InstanceLabel]; has {
		t.Error("a tool that goes by that label would delete a volume that has no owner")
	}
}

// Keys are mounted as files; nothing of them is in arguments or variables.
func TestPodHoldsNoSecretsInPlainSight(t *testing.T) {
	pod := specs.Pod(example(), "example-0", forming())
	for _, variable := range pod.Spec.Containers[0].Env {
		if from := variable.ValueFrom; from != nil && from.FieldRef != nil && from.SecretKeyRef == nil {
			continue // annotations may be read by any user that may read the Pod
		}
		if variable.Name == "ETCD_FEATURE_GATES" {
			continue
		}
		if variable.ValueFrom != nil || !strings.HasPrefix(variable.Value, "/") && !strings.HasPrefix(variable.Value, "https://") {
			t.Errorf("variable %s holds %q", variable.Name, variable.Value)
		}
	}
	if token := pod.Spec.AutomountServiceAccountToken; token == nil || *token {
		t.Error("members get a service account token")
	}
}
