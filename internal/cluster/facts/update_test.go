// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/memory"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// released is each version that clusters may have been formed by, and the release whose Pods it makes.
var released = []struct{ version, pods string }{
	{"0.1.0", "0.1.0"},
	{"0.2.0", "0.2.0"},
	{"0.3.0", "0.2.0"},
	{"0.4.0", "0.4.0"},
	{"0.5.0", "0.4.0"},
	{"0.6.0", "0.4.0"},
	{"0.7.0", "0.4.0"},
	{"0.8.0", "0.8.0"},
}

// TestUpdateLeavesMembersAlone: an EtcdCluster as an earlier release has stored it, with the Pods that it has made, is looked at for an
// hour by this one. Whatever has become a default since, nothing is done to its members. A release that knew the default has it.
func TestUpdateLeavesMembersAlone(t *testing.T) {
	for what, test := range map[string]struct {
		set   func(*scene)
		known map[string]string // what is done in a cluster of a release that has the default, which it has stored
	}{
		"healthy":    {set: func(*scene) {}},
		"fragmented": {set: sized(800, 400), known: map[string]string{"0.8.0": "defragment a-1"}},
		"nearly full": {
			set: sized(1300, 1150), known: map[string]string{"0.8.0": "defragment a-1"},
		},
		"full": {set: func(s *scene) {
			sized(1500, 1000)(s)
			s.etcd.Raise(2, cluster.NoSpace)
		}, known: map[string]string{"0.8.0": "compact up to"}},
		"authenticated": {set: func(s *scene) {
			s.authenticate()
			sized(800, 400)(s)
		}, known: map[string]string{"0.8.0": "defragment a-1"}},
		"adopted": {set: func(s *scene) {
			s.c.Status.Bootstrap.Adopted = true // its volumes were there
			sized(800, 400)(s)
		}, known: map[string]string{"0.8.0": "defragment a-1"}},
		"tuned": {set: func(s *scene) {
			s.c.Spec.Tuning, s.c.Spec.Etcd.HeartbeatInterval.Duration = v1beta1.TuningApply, 100*time.Millisecond
			s.c.Spec.Etcd.ElectionTimeout.Duration = time.Second
			s.c.Status.Tuned = []v1beta1.Recommendation{{Setting: v1beta1.SettingElection, Now: "1s", Wanted: "2.5s"}}
		}},
		"hibernating": {set: func(s *scene) {
			s.drop("Pod a-0", "Pod a-1", "Pod a-2")
			s.c.Spec.Size = ptr.To[int32](0)
		}},
	} {
		for _, by := range released {
			t.Run(what+"/"+by.version, func(t *testing.T) {
				s := newScene(t)
				s.c.Spec.Resources = v1beta1.Resources{}
				test.set(s)
				s.storeAs(by.version)
				s.runPodsOf(by.pods)
				s.readToday()
				if got := s.hour(); !strings.HasPrefix(got, test.known[by.version]) || (got == "") != (test.known[by.version] == "") {
					t.Errorf("got %q, want %q", got, test.known[by.version])
				}
			})
		}
	}
}

// sized has every member's database that large, in MiB, of a quota of 1536.
func sized(size, inUse int64) func(*scene) {
	return func(s *scene) {
		s.twist = func(_ string, status *etcd.Status) { status.DBSize, status.DBSizeInUse = size*mib, inUse*mib }
	}
}

// authenticate has etcd admit its users only, and the operator as root.
func (s *scene) authenticate() {
	s.c.Spec.Auth.Enabled = true
	s.c.Status.Conditions = append(s.c.Status.Conditions, metav1.Condition{
		Type: v1beta1.ConditionAuthEnabled, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonAuthAsSpecified,
	})
	held := certs.Read(s.c, func(name string) *corev1.Secret {
		for _, object := range s.objects {
			if secret, is := object.(*corev1.Secret); is && secret.Name == name {
				return secret
			}
		}
		return nil
	})
	root, err := held.Make(rand.Reader, now, s.c, s.c.RootSecret())
	if err != nil {
		s.t.Fatal(err)
	}
	s.objects = append(s.objects, root)
}

// hour looks at the scene every ten minutes, writes the status, and returns the first step that does something; empty: none.
func (s *scene) hour() string {
	remembered := &memory.Cluster{}
	for later := time.Duration(0); later <= time.Hour; later += 10 * time.Minute {
		v := s.lookLater(remembered, later)
		step, because := plan.Next(v)
		if !plan.Rests(step) {
			return fmt.Sprintf("%s (%s)", step, because)
		}
		s.c.Status = report.Status(s.c, v, step, nil)
	}
	return ""
}

// runPodsOf gives members the Pods that a release has made of the stored EtcdCluster. Their fingerprints are those of the code of today,
// which TestPodsOfReleases compares with theirs.
func (s *scene) runPodsOf(version string) {
	s.t.Helper()
	text, err := os.ReadFile("../specs/testdata/released/pod_v" + version + ".yaml")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, object := range s.objects {
		was, is := object.(*corev1.Pod)
		if !is {
			continue
		}
		made := &corev1.Pod{}
		of := strings.NewReplacer("example-0", was.Name, "example", "a", "databases", "default", "11111111-2222-3333-4444-555555555555", "u1",
			"6442450944", fmt.Sprint(1536*mib))
		if err := yaml.Unmarshal([]byte(of.Replace(string(text))), made); err != nil {
			s.t.Fatal(err)
		}
		if specs.Entry(made) != cluster.Unalterable { // what is changed as soon as the cluster has formed
			specs.SetJoining(s.c, made, specs.Joining{Members: []string{was.Name}})
		}
		made.UID, made.CreationTimestamp, made.Spec.NodeName, made.Status = was.UID, was.CreationTimestamp, was.Spec.NodeName, was.Status
		made.Annotations[v1beta1.AnnotationTemplate] = specs.Fingerprint(s.c, was.Name)
		*was = *made
	}
}

// storeAs leaves of the EtcdCluster what a release has stored of it, with the defaults of its CRD.
func (s *scene) storeAs(version string) {
	s.t.Helper()
	s.store("../../../releases/unpublished/v" + version + "/manifests/etcd-operator.dev_etcdclusters.yaml")
}

// readToday adds the defaults that the API server adds to a stored object with the CRD of today.
func (s *scene) readToday() {
	s.t.Helper()
	s.store("../../../config/crd/bases/etcd-operator.dev_etcdclusters.yaml")
}

// store has the EtcdCluster as an API server with that CRD gives it.
func (s *scene) store(crd string) {
	s.t.Helper()
	object := map[string]any{}
	text, err := json.Marshal(s.c)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := json.Unmarshal(text, &object); err != nil {
		s.t.Fatal(err)
	}
	schema, known := schemas[crd]
	if !known {
		schema = s.schema(crd)
		schemas[crd] = schema
	}
	stored(object, schema)
	if text, err = json.Marshal(object); err != nil {
		s.t.Fatal(err)
	}
	s.c = &v1beta1.EtcdCluster{}
	if err := json.Unmarshal(text, s.c); err != nil {
		s.t.Fatal(err)
	}
}

// schemas are those of files that were read: to read one takes longer than an hour of the test.
var schemas = map[string]apiextensions.JSONSchemaProps{}

// schema is that of the version in which a CRD stores objects.
func (s *scene) schema(file string) apiextensions.JSONSchemaProps {
	s.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	var crd apiextensions.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		s.t.Fatal(err)
	}
	for _, v := range crd.Spec.Versions {
		if v.Storage {
			return *v.Schema.OpenAPIV3Schema
		}
	}
	s.t.Fatalf("%s stores no version", file)
	return apiextensions.JSONSchemaProps{}
}

// stored drops what the schema does not know and adds its defaults, as the API server does.
func stored(value any, schema apiextensions.JSONSchemaProps) {
	switch value := value.(type) {
	case map[string]any:
		if len(schema.Properties) == 0 { // a map, or metadata
			return
		}
		for name := range value {
			if _, known := schema.Properties[name]; !known {
				delete(value, name)
			}
		}
		for name, of := range schema.Properties {
			if _, there := value[name]; !there && of.Default != nil {
				var filled any
				_ = json.Unmarshal(of.Default.Raw, &filled)
				value[name] = filled
			}
			stored(value[name], of)
		}
	case []any:
		for _, item := range value {
			stored(item, *schema.Items.Schema)
		}
	}
}
