// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/quorum"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

var update = flag.Bool("update", false, "write testdata instead of comparing with it; review it as you would review objects in a cluster")

// Every object as the API server gets it. `go test ./internal/cluster/specs -update`
// writes the files again.
func TestGolden(t *testing.T) {
	owned := func(s *v1beta1.EtcdClusterSpec) { s.DeletionPolicy = v1beta1.Delete }
	old := func(s *v1beta1.EtcdClusterSpec) { s.Version = "3.5.30" }
	whole := full(t)

	files := map[string][]runtime.Object{
		"pod_bootstrap":        {specs.Pod(example(), "example-0", forming())},
		"pod_joining":          {specs.Pod(example(), "example-3", joining())},
		"pod_forced":           {specs.ForcedPod(example(), "example-0")},
		"pod_3.5":              {specs.Pod(with(old), "example-0", forming())},
		"pod_ephemeral":        {specs.Pod(with(ephemeral), "example-0", forming())},
		"pod_configured_image": {made(configured(digest), "")},
		"pod_revoking":         {specs.Revoking(specs.Pod(example(), "example-0", forming()), "2026-01-01T01:00:00.5Z")},
		"pod_pulling":          {specs.Pod(with(pulling), "example-0", forming())},
		"pod_tls_both":         {specs.Pod(serving(v1beta1.TLSDisabled, v1beta1.TLSBoth), "example-0", joining())},
		"pod_tls_disabled":     {specs.Pod(with(insecure), "example-0", forming())},
		"pod_full": {specs.Pod(whole, "example-full-0", specs.Joining{
			New: true, Token: plan().Token, Members: []string{"example-full-0", "example-full-1", "example-full-2"},
		})},

		"pod_restarted": {specs.Pod(example(), "example-0", besideOthers())},
		"pod_adopted_volume": {specs.OnAdopted(specs.Pod(example(), "example-0", specs.Joining{
			Token: plan().Token, Members: []string{"example-0"},
		}), "default.etcd")},
		"volume_adopted": {specs.AdoptedVolume(example(), theirs(), "default.etcd")},

		"volume_first":  {specs.Volume(example(), "example-0", plan())},
		"volume_joined": {specs.Volume(example(), "example-3", nil)},
		"volume_owned":  {specs.Volume(with(owned), "example-0", plan())},
		"volume_full":   {specs.Volume(whole, "example-full-0", nil)},

		"services":        {specs.HeadlessService(example()), specs.ClientService(example())},
		"service_outside": {specs.ClientService(with(outside))},
		"service_full":    {specs.ClientService(whole)},
		"service_member":  {specs.MemberService(with(dual), "example-1", *routed().PerMember)},
		"tlsroute":        {specs.Route(with(func(s *v1beta1.EtcdClusterSpec) { s.ClientService = routed() }))},
		"pod_template":    {specs.Pod(with(besides), "example-0", forming())},

		"secrets": {
			specs.Authority(example(), example().ClientCA(), []byte("certificate"), []byte("key")),
			specs.Authority(example(), example().PeerCA(), []byte("certificate"), []byte("key")),
			specs.MemberTLS(example(), map[string][]byte{
				specs.ClientCAKey: []byte("client authority"), specs.PeerCAKey: []byte("peer authority"),
				specs.ServerCertKey: []byte("server certificate"), specs.ServerKeyKey: []byte("server key"),
				specs.PeerCertKey: []byte("peer certificate"), specs.PeerKeyKey: []byte("peer key"),
			}),
			specs.Client(example(), []byte("authority"), []byte("certificate"), []byte("key")),
		},
		"networkpolicy_default": {specs.NetworkPolicy(example(), "etcd-operator-system")},
		"networkpolicy_outside": {specs.NetworkPolicy(example(), "")},
		"networkpolicy_full":    {specs.NetworkPolicy(whole, "etcd-operator-system")},
		"secret_root":           {specs.Root(example(), []byte("authority"), []byte("certificate"), []byte("key"))},
		"secret_user":           {specs.User(user(), specs.UserData(example(), user()))},
		"certificates":          certificates(t),
		"monitors":              monitors(whole),
		"secret_tls_disabled":   {specs.Client(with(insecure), nil, nil, nil)},
	}
	for _, voters := range []int{1, 3, 4, 5, 7} {
		files[fmt.Sprintf("budget_%d_voters", voters)] = []runtime.Object{specs.Budget(example(), quorum.Size(voters))}
	}

	for name, objects := range files {
		t.Run(name, func(t *testing.T) { compare(t, name, objects) })
	}
	for _, name := range written(t) {
		if _, known := files[name]; !known {
			t.Errorf("testdata/%s.yaml: nothing builds it; remove it", name)
		}
	}
}

func compare(t *testing.T, name string, objects []runtime.Object) {
	t.Helper()
	texts := make([][]byte, 0, len(objects))
	for _, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	got := bytes.Join(texts, []byte("---\n"))

	path := filepath.Join("testdata", name+".yaml")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs, from:\n%s\nIf it should, run go test ./internal/cluster/specs -update", path, firstDifference(string(got),
			string(want)))
	}
}

func firstDifference(got, want string) string {
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(gotLines), len(wantLines)) {
		if gotLines[i] != wantLines[i] {
			return fmt.Sprintf("line %d\n got  %s\n want %s", i+1, gotLines[i], wantLines[i])
		}
	}
	return fmt.Sprintf("line %d: one ends there", min(len(gotLines), len(wantLines)))
}

func written(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(paths))
	for _, path := range paths {
		names = append(names, strings.TrimSuffix(filepath.Base(path), ".yaml"))
	}
	return names
}

func certificates(t *testing.T) (all []runtime.Object) {
	t.Helper()
	if made := specs.Certificates(example(), ""); made != nil {
		t.Errorf("without an issuer: %v", made)
	}
	for _, one := range specs.Certificates(with(issuedBy(v1beta1.IssuerRef{Name: "corp", Kind: "ClusterIssuer"})), "") {
		all = append(all, one)
	}
	named := with(issuedBy(v1beta1.IssuerRef{Name: "corp"}))
	named.Spec.TLS.ExtraSANs = []v1beta1.SAN{"etcd.example.com", "203.0.113.7"}
	all = append(all, specs.Certificates(named, "corp.example")[0])
	withPassword := user()
	withPassword.Spec.Authentication = v1beta1.PasswordAuthentication
	c := with(issuedBy(v1beta1.IssuerRef{Name: "corp"}))
	return append(all, specs.UserCertificate(c, user()), specs.UserCertificate(c, withPassword))
}

func monitors(c *v1beta1.EtcdCluster) (all []runtime.Object) {
	c.Spec.Monitoring = v1beta1.Monitoring{
		PodMonitor: &v1beta1.PodMonitor{
			Labels:            map[string]v1beta1.LabelValue{"release": "prometheus", specs.ManagedByLabel: "stays the operator's"},
			Interval:          &metav1.Duration{Duration: 15 * time.Second},
			Relabelings:       []v1beta1.Relabeling{{SourceLabels: []string{"__meta_kubernetes_pod_node_name"}, TargetLabel: "node"}},
			MetricRelabelings: []v1beta1.Relabeling{{SourceLabels: []string{"__name__"}, Regex: "go_.*", Action: "drop"}},
		},
		PrometheusRule: &v1beta1.PrometheusRule{},
	}
	for _, one := range specs.Monitors(c) {
		all = append(all, one.Unstructured)
	}
	return all
}

func user() *v1beta1.EtcdUser {
	return &v1beta1.EtcdUser{
		ObjectMeta: metav1.ObjectMeta{Name: "orders", Namespace: "databases", UID: "user-uid"},
		Spec:       v1beta1.EtcdUserSpec{Cluster: "example", UserName: "team/orders"},
	}
}
