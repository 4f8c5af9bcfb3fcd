// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package v1beta1_test

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/stores"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// hostileSeed makes the same inputs each time; another one makes others.
const hostileSeed = 22

// each is how many inputs there are of each field.
const each = 40

// hostileFields are where a text goes. Where later is set, Kubernetes may refuse the Pod or Job for it, which a condition reports.
var hostileFields = []struct {
	kind, field string
	put         func(o map[string]any, text, more string)
	later       bool
}{
	{"EtcdCluster", "name", func(o map[string]any, text, _ string) { o["metadata"].(map[string]any)["name"] = text }, false},
	{"EtcdCluster", "image", func(o map[string]any, text, _ string) { set(o, text, "spec", "image") }, false},
	{"EtcdCluster", "value of an argument", func(o map[string]any, text, _ string) {
		set(o, text, "spec", "etcd", "extraArgs", "max-request-bytes")
	}, false},
	{"EtcdCluster", "argument", func(o map[string]any, text, more string) { set(o, more, "spec", "etcd", "extraArgs", text) }, false},
	{"EtcdCluster", "annotation", func(o map[string]any, text, more string) {
		set(o, more, "spec", "podMetadata", "annotations", text)
	}, false},
	{"EtcdCluster", "value of an annotation", func(o map[string]any, text, _ string) {
		set(o, text, "spec", "podMetadata", "annotations", "a")
	}, false},
	{"EtcdCluster", "label", func(o map[string]any, text, _ string) { set(o, "a", "spec", "podMetadata", "labels", text) }, false},
	{"EtcdCluster", "value of a label", func(o map[string]any, text, _ string) { set(o, text, "spec", "podMetadata", "labels", "a") }, true},
	{"EtcdCluster", "node label", func(o map[string]any, text, more string) {
		set(o, more, "spec", "scheduling", "nodeSelector", text)
	}, true},
	{"EtcdCluster", "priority class", func(o map[string]any, text, _ string) {
		set(o, text, "spec", "scheduling", "priorityClassName")
	}, true},
	{"EtcdCluster", "revoked serial number", func(o map[string]any, text, more string) {
		set(o, []any{map[string]any{"serial": text, "reason": more}}, "spec", "tls", "revocations")
	}, false},
	{"EtcdCluster", "annotation of the Service", func(o map[string]any, text, more string) {
		set(o, more, "spec", "clientService", "annotations", text)
	}, false},
	{"EtcdCluster", "label of the Service", func(o map[string]any, text, more string) {
		set(o, more, "spec", "clientService", "labels", text)
	}, false},
	{"EtcdCluster", "class and ranges of the load balancer", func(o map[string]any, text, more string) {
		set(o, map[string]any{
			"type": "LoadBalancer", "loadBalancerClass": text, "loadBalancerSourceRanges": []any{more},
		}, "spec", "clientService")
	}, true},
	{"EtcdCluster", "name in the certificate", func(o map[string]any, text, _ string) {
		set(o, []any{text}, "spec", "tls", "extraSANs")
	}, false},
	{"EtcdCluster", "annotation of a member's Service", func(o map[string]any, text, more string) {
		set(o, more, "spec", "clientService", "perMember", "annotations", text)
	}, false},
	{"EtcdCluster", "Gateway and name of the route", func(o map[string]any, text, more string) {
		set(o, map[string]any{
			"parentRefs": []any{map[string]any{"name": text, "sectionName": text}}, "hostnames": []any{more},
		}, "spec", "clientService", "tlsRoute")
	}, false},
	{"EtcdCluster", "container and image beside etcd", func(o map[string]any, text, more string) {
		set(o, []any{map[string]any{"name": text, "image": more}}, "spec", "podTemplate", "containers")
	}, true},
	{"EtcdCluster", "variable and mount of etcd", func(o map[string]any, text, more string) {
		set(o, []any{map[string]any{"name": "v", "emptyDir": map[string]any{}}}, "spec", "podTemplate", "volumes")
		set(o, []any{map[string]any{
			"name": "etcd", "env": []any{map[string]any{"name": text, "value": more}},
			"volumeMounts": []any{map[string]any{"name": "v", "mountPath": "/" + more}},
		}}, "spec", "podTemplate", "containers")
	}, true},
	{"EtcdCluster", "host alias", func(o map[string]any, text, more string) {
		set(o, []any{map[string]any{"ip": text, "hostnames": []any{more}}}, "spec", "podTemplate", "hostAliases")
	}, true},
	{"EtcdCluster", "storage class", func(o map[string]any, text, _ string) {
		set(o, text, "spec", "storage", "storageClassName")
	}, false},
	{"EtcdCluster", "schedule", func(o map[string]any, text, _ string) {
		set(o, map[string]any{"store": "s", "schedule": text}, "spec", "backup")
	}, false},
	{"EtcdCluster", "time zone", func(o map[string]any, text, _ string) {
		set(o, map[string]any{"store": "s", "schedule": "@daily", "timeZone": text}, "spec", "backup")
	}, false},
	{"EtcdUser", "name", func(o map[string]any, text, _ string) { o["metadata"].(map[string]any)["name"] = text }, false},
	{"EtcdUser", "user", func(o map[string]any, text, _ string) { set(o, text, "spec", "userName") }, false},
	{"EtcdUser", "name of the Secret", func(o map[string]any, text, _ string) { set(o, text, "spec", "secret", "name") }, false},
	{"EtcdUser", "keys of the Secret", func(o map[string]any, text, more string) {
		set(o, []any{map[string]any{"key": text, "value": "URL"}, map[string]any{"key": more, "value": "CA"}}, "spec", "secret", "keys")
	}, false},
	{"EtcdUser", "cluster and role", func(o map[string]any, text, more string) {
		set(o, text, "spec", "cluster")
		set(o, []any{more}, "spec", "roles")
	}, false},
	{"EtcdRole", "role", func(o map[string]any, text, _ string) { set(o, text, "spec", "roleName") }, false},
	{"EtcdRole", "keys", func(o map[string]any, text, more string) {
		set(o, []any{
			map[string]any{"access": "Read", "key": text}, map[string]any{"access": "Write", "prefix": more},
		}, "spec", "permissions")
	}, false},
	{"EtcdRole", "range", func(o map[string]any, text, more string) {
		set(o, []any{map[string]any{"access": "Read", "range": map[string]any{"from": text, "to": more}}}, "spec", "permissions")
	}, false},
	{"EtcdDrill", "name", func(o map[string]any, text, _ string) { o["metadata"].(map[string]any)["name"] = text }, false},
	{"EtcdDrill", "cluster", func(o map[string]any, text, _ string) { set(o, text, "spec", "cluster") }, false},
	{"EtcdBackupStore", "name", func(o map[string]any, text, _ string) { o["metadata"].(map[string]any)["name"] = text }, false},
	{"EtcdBackupStore", "prefix", func(o map[string]any, text, _ string) { set(o, text, "spec", "s3", "prefix") }, false},
	{"EtcdBackupStore", "endpoint", func(o map[string]any, text, _ string) {
		set(o, "https://a"+text, "spec", "s3", "endpoint")
	}, false},
	{"EtcdBackupStore", "region and bucket", func(o map[string]any, text, more string) {
		set(o, text, "spec", "s3", "region")
		set(o, "bbb"+more, "spec", "s3", "bucket")
	}, false},
	{"EtcdBackupStore", "credentials", func(o map[string]any, text, _ string) {
		set(o, text, "spec", "s3", "credentials", "secret")
	}, false},
	{"EtcdBackupStore", "key of the authority", func(o map[string]any, text, _ string) {
		set(o, map[string]any{"secret": "ca", "key": text}, "spec", "s3", "ca")
	}, false},
	{"EtcdBackupStore", "account of the Jobs", func(o map[string]any, text, _ string) { set(o, text, "spec", "serviceAccountName") }, false},
	{"EtcdBackupStore", "claim and path", func(o map[string]any, text, more string) {
		o["spec"] = map[string]any{"volume": map[string]any{"claim": text, "path": more}}
	}, false},
	{"EtcdBackupStore", "path", func(o map[string]any, text, _ string) {
		o["spec"] = map[string]any{"volume": map[string]any{"claim": "backups", "path": text}}
	}, false},
}

func set(o map[string]any, value any, fields ...string) {
	if err := unstructured.SetNestedField(o, value, fields...); err != nil {
		panic(err)
	}
}

// TestHostileInput: any text in a field is refused by the API server, or it changes nothing but what the field is for in
// the objects that are made of it, and the API server accepts these.
func TestHostileInput(t *testing.T) {
	h := hostile{rand.New(rand.NewPCG(hostileSeed, 0))}
	refused, harmless, later, inputs := 0, 0, 0, 0
	for _, f := range hostileFields {
		t.Run(f.kind+" "+f.field, func(t *testing.T) {
			for range each {
				inputs++
				o := hostileObject(f.kind)
				text, more := h.text(), h.text()
				f.put(o.Object, text, more)
				err := server.Create(t.Context(), o, client.DryRunAll)
				if err != nil {
					mustRefuse(t, err, text)
					refused++
					continue
				}
				switch err := made(t, o); {
				case err == nil:
					harmless++
				case f.later && (apierrors.IsInvalid(err) || apierrors.IsForbidden(err)):
					later++
				default:
					t.Errorf("%q and %q: what is made of it is refused: %v", text, more, err)
				}
			}
		})
	}
	t.Logf("seed %d: of %d inputs %d are refused, %d are harmless, and of %d Kubernetes refuses the Pod",
		hostileSeed, inputs, refused, harmless, later)
	if inputs < 500 || refused < 200 || harmless < 100 {
		t.Errorf("%d inputs, %d refused, %d harmless: they show little", inputs, refused, harmless)
	}
}

// mustRefuse wants an answer of the API server that is about the input, and not one that it could not give.
func mustRefuse(t *testing.T, err error, text string) {
	t.Helper()
	if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
		t.Errorf("%q: %v", text, err)
	}
}

func hostileObject(kind string) *unstructured.Unstructured {
	spec := map[string]map[string]any{
		"EtcdCluster": {"version": "3.6.16"}, "EtcdBackupStore": {"s3": map[string]any{"bucket": "bbb"}},
		"EtcdUser": {"cluster": "a"}, "EtcdRole": {"cluster": "a"},
		"EtcdDrill": {"cluster": "a", "action": "KillMember"},
	}[kind]
	meta := map[string]any{"name": "hostile", "namespace": "default"}
	o := &unstructured.Unstructured{Object: map[string]any{"metadata": meta, "spec": spec}}
	o.SetGroupVersionKind(v1beta1.GroupVersion.WithKind(kind))
	return o
}

// made makes all objects of one that was accepted, looks at them, and returns why the API server refuses one.
func made(t *testing.T, o *unstructured.Unstructured) error {
	t.Helper()
	switch o.GetKind() {
	case "EtcdCluster":
		var c v1beta1.EtcdCluster
		convert(t, o, &c)
		return madeOfCluster(t, &c)
	case "EtcdUser":
		var u v1beta1.EtcdUser
		convert(t, o, &u)
		return madeOfUser(t, &u)
	case "EtcdRole":
		var r v1beta1.EtcdRole
		convert(t, o, &r)
		madeOfRole(t, &r)
		return nil
	case "EtcdDrill":
		var d v1beta1.EtcdDrill
		convert(t, o, &d)
		return madeOfDrill(t, &d)
	case "EtcdBackupStore":
		var s v1beta1.EtcdBackupStore
		convert(t, o, &s)
		return madeOfStore(t, &s)
	}
	t.Fatalf("say here what is made of a %s, and in hostileObject what it needs", o.GetKind())
	return nil
}

func convert(t *testing.T, o *unstructured.Unstructured, into any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into); err != nil {
		t.Fatal(err)
	}
}

func tryAll(t *testing.T, all ...client.Object) error {
	for _, object := range all {
		if err := server.Create(t.Context(), object, client.DryRunAll); err != nil {
			return fmt.Errorf("%T: %w", object, err)
		}
	}
	return nil
}

func madeOfCluster(t *testing.T, c *v1beta1.EtcdCluster) error {
	t.Helper()
	member := c.Name + "-0"
	pod := specs.Pod(c, member, specs.Joining{New: true, Token: "t", Members: []string{member}})
	plain := c.DeepCopy()
	plain.Spec.Image, plain.Spec.PodMetadata, plain.Spec.Scheduling = "", v1beta1.PodMetadata{}, v1beta1.Scheduling{}
	plain.Spec.Etcd.ExtraArgs, plain.Spec.PodTemplate = nil, c.Spec.PodTemplate // what a template may change has a test of its own
	if c.Spec.Backup != nil {
		scheduled(t, c)
	}
	differs(t, c, pod, specs.Pod(plain, member, specs.Joining{New: true, Token: "t", Members: []string{member}}))
	if c.MemberServiceType() != "" {
		if err := tryAll(t, specs.MemberService(c, member, *c.Spec.ClientService.PerMember)); err != nil {
			return err
		}
	}
	return tryAll(t, pod, specs.Volume(c, member, nil), specs.HeadlessService(c), specs.ClientService(c), specs.Budget(c, 2),
		specs.NetworkPolicy(c, "operators"), specs.MemberTLS(c, nil))
}

// differs says in what a Pod is another one than that of the same cluster without what was asked for.
func differs(t *testing.T, c *v1beta1.EtcdCluster, pod, plain *corev1.Pod) {
	t.Helper()
	got, want := pod.DeepCopy(), plain.DeepCopy()
	for key, value := range c.Spec.Etcd.ExtraArgs {
		i := slices.Index(specs.Etcd(got).Args, "--"+key+"="+value)
		if i < 0 {
			t.Errorf("argument %q is not one argument", key)
			continue
		}
		specs.Etcd(got).Args = slices.Delete(specs.Etcd(got).Args, i, i+1)
	}
	specs.Etcd(got).Image = specs.Etcd(want).Image
	got.Spec.NodeSelector, got.Spec.PriorityClassName = want.Spec.NodeSelector, want.Spec.PriorityClassName
	if !equality.Semantic.DeepEqual(got.Spec, want.Spec) {
		t.Errorf("%+v: the Pod is another one:\n%+v\n%+v", c.Spec, got.Spec, want.Spec)
	}
	for key, value := range want.Labels {
		if got.Labels[key] != value {
			t.Errorf("label %s is %q", key, got.Labels[key])
		}
	}
	for key, value := range want.Annotations {
		if key != v1beta1.AnnotationTemplate && got.Annotations[key] != value {
			t.Errorf("annotation %s is %q", key, got.Annotations[key])
		}
	}
}

func madeOfStore(t *testing.T, s *v1beta1.EtcdBackupStore) error {
	t.Helper()
	if s.Spec.Volume != nil {
		folder := path.Join(jobspec.VolumeFolder, s.Spec.Volume.Path)
		if !strings.HasPrefix(folder+"/", jobspec.VolumeFolder+"/") {
			t.Errorf("path %q is %s", s.Spec.Volume.Path, folder)
		}
	}
	order := jobspec.Order{Verb: jobspec.Check, Store: s.Spec, Check: &jobspec.CheckOrder{}}
	job := jobs.Check(s, stores.JobName(s), order, jobs.Image{Operator: "operator:1"})
	container := job.Spec.Template.Spec.Containers[0]
	if len(container.Args) != 2 || len(container.Command) > 0 || len(container.Env) > 0 || container.Image != "operator:1" {
		t.Errorf("the container is another one: %+v", container)
	}
	read, err := jobspec.ParseOrder(expanded(container.Args[1]))
	if err != nil || !equality.Semantic.DeepEqual(read, order) {
		t.Errorf("the order arrives as another one: %+v instead of %+v, %v", read, order, err)
	}
	mounts(t, job)
	if !canExist(s.Spec) {
		return nil // the store says that it does not exist, and no Job is made
	}
	return tryAll(t, job)
}

// mounts are Secrets, ConfigMaps and claims at fixed places, and nothing of the node.
func mounts(t *testing.T, job *batchv1.Job) {
	t.Helper()
	for _, v := range job.Spec.Template.Spec.Volumes {
		if v.Secret == nil && v.ConfigMap == nil && v.PersistentVolumeClaim == nil {
			t.Errorf("volume %s is %+v", v.Name, v.VolumeSource)
		}
	}
	for _, m := range job.Spec.Template.Spec.Containers[0].VolumeMounts {
		if !slices.Contains([]string{jobspec.KeysFolder, jobspec.CAFolder, jobspec.VolumeFolder}, m.MountPath) || m.SubPath != "" {
			t.Errorf("mount %+v", m)
		}
	}
}

// canExist says whether Kubernetes could have all objects and keys that a store names.
func canExist(spec v1beta1.EtcdBackupStoreSpec) bool {
	for _, source := range stores.SourcesOf(spec) {
		if len(validation.IsDNS1123Subdomain(source.Name)) > 0 {
			return false
		}
	}
	ca := (*v1beta1.CASource)(nil)
	if spec.S3 != nil {
		ca = spec.S3.CA
	}
	return ca == nil || ca.Key == "" || len(validation.IsConfigMapKey(ca.Key)) == 0
}

// expanded is an argument as the kubelet hands it to a process whose container has variables
// (https://kubernetes.io/docs/tasks/inject-data-application/define-interactive-environment-variable-application/).
func expanded(text string) string {
	text = strings.ReplaceAll(text, "$$", "$")
	for _, name := range []string{"HOSTNAME", "ETCDCTL_KEY", "A", "reboot"} {
		text = strings.ReplaceAll(text, "$("+name+")", "replaced")
	}
	return text
}
