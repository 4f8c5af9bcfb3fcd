// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// chart is what a chart has made: a StatefulSet of three members, its Services and its Pods.
func chart() []client.Object {
	labels := map[string]string{"app.kubernetes.io/instance": "legacy", "helm.sh/chart": "etcd-12.0.20"}
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels}
	}
	pod := corev1.PodSpec{Containers: []corev1.Container{{Name: "etcd", Image: "example.com/etcd:3.6.4-debian-12-r4", Env: []corev1.EnvVar{
		{Name: "ETCD_ADVERTISE_CLIENT_URLS", Value: "http://$(MY_POD_NAME).legacy-headless.default.svc.cluster.local:2379"},
		{Name: "ETCD_ROOT_PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "legacy"}, Key: "etcd-root-password",
		}}},
	}}}}
	objects := []client.Object{
		&appsv1.StatefulSet{ObjectMeta: meta("legacy"), Spec: appsv1.StatefulSetSpec{
			ServiceName: "legacy-headless", Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
		}},
		&corev1.Service{ObjectMeta: meta("legacy"), Spec: corev1.ServiceSpec{Selector: labels, ClusterIP: "10.0.0.9"}},
		&corev1.Service{ObjectMeta: meta("legacy-headless"), Spec: corev1.ServiceSpec{Selector: labels, ClusterIP: corev1.ClusterIPNone}},
		&corev1.Service{ObjectMeta: meta("another"), Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "another"}}},
	}
	for i := range 3 {
		made := &corev1.Pod{ObjectMeta: meta(fmt.Sprintf("legacy-%d", i)), Spec: pod}
		made.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "legacy", UID: "u9", Controller: ptr.To(true)},
		}
		made.Status.Phase, made.Status.PodIP = corev1.PodRunning, fmt.Sprintf("10.0.1.%d", i)
		objects = append(objects, made)
	}
	return objects
}

// gateway answers as members of that chart do; bad replaces texts in the answers.
func gateway(bad ...string) Post {
	return func(_ context.Context, pod corev1.Pod, port, path, _ string) ([]byte, error) {
		if port != "2379" {
			return nil, errors.New("connection refused")
		}
		var members []string
		for i := range 3 {
			host := fmt.Sprintf("legacy-%d.legacy-headless.default.svc.cluster.local", i)
			members = append(members, fmt.Sprintf(`{"ID":"%d","name":"legacy-%d","peerURLs":["http://%s:2380"],"clientURLs":["http://%s:2379"]}`,
				i+1, i, host, host))
		}
		id := pod.Name[len(pod.Name)-1] - '0' + 1
		answers := map[string]string{
			"v3/maintenance/status": fmt.Sprintf(`{"header":{"cluster_id":"77","member_id":"%d","revision":"5"},"version":"3.6.4",`+
				`"dbSize":"20971520","leader":"1","raftIndex":"9","raftTerm":"2","raftAppliedIndex":"9","dbSizeInUse":"4096"}`, id),
			"v3/cluster/member/list": `{"header":{},"members":[` + strings.Join(members, ",") + `]}`,
		}
		if path == "v3/kv/range" {
			return nil, errors.New(`the server rejected our request: {"error":"etcdserver: user name is empty","code":3}`)
		}
		return []byte(strings.NewReplacer(bad...).Replace(answers[path])), nil
	}
}

// TestAdoptDryRun: what is in the way is said by the rules of the operator, nothing is changed, and what is printed can be applied.
func TestAdoptDryRun(t *testing.T) {
	w := newWorld(t, chart()...)
	w.post = gateway()
	wantExit(t, w.run(t.Context(), "adopt", "legacy", "--dry-run"), Done)
	wantText(t, &w.out, "# ", "a StatefulSet of Bitnami's chart", "legacy-0: etcd 3.6.4, 20Mi of data, leads", "none is seen",
		"kubectl annotate --overwrite -n default service/legacy statefulset/legacy secret/legacy "+
			"'etcd-operator.dev/adopted-by=legacy-cluster,UID,http://legacy-0.legacy-headless.default.svc:2379,",
		",http://legacy-2.legacy-headless.default.svc.cluster.local:2379'",
		"headless Service legacy-headless", "StatefulSet legacy is scaled down", "about 1m0s")
	var c v1beta1.EtcdCluster
	if err := yaml.UnmarshalStrict(w.out.Bytes(), &c); err != nil {
		t.Fatal(err)
	}
	adopt := c.Spec.Bootstrap.Adopt
	if c.Name != "legacy-cluster" || c.Size() != 3 || c.Spec.Version != "3.6" || c.IsSecure() || adopt.StatefulSet != "legacy" ||
		strings.Join(adopt.Services, " ") != "legacy" || len(adopt.Endpoints) != 3 || adopt.CredentialsRef.PasswordKey != "etcd-root-password" {
		t.Errorf("%+v\n%+v", c.Spec, adopt)
	}
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(&c), &c); err == nil {
		t.Error("it was created")
	}
	for what, by := range map[string][]string{
		"is a learner":      {`{"ID":"3",`, `{"ID":"3","isLearner":true,`},
		"has never started": {`"name":"legacy-2"`, `"name":""`}, "runs etcd 3.5.9: upgrade it": {`"version":"3.6.4"`, `"version":"3.5.9"`},
		"it has raised the alarm NOSPACE": {`"dbSizeInUse"`, `"errors":["memberID:2 alarm:NOSPACE "],"dbSizeInUse"`},
		"larger volume or quota":          {`"20971520"`, `"8589934592"`}, "peer URL https": {`"http://legacy-1.`, `"https://legacy-1.`},
	} {
		w.post = gateway(by...)
		wantExit(t, w.run(t.Context(), "adopt", "sts/legacy", "--dry-run"), Unwell)
		wantText(t, &w.out, what)
	}
	w.post = gateway()
	wantExit(t, w.run(t.Context(), "adopt", "legacy", "--dry-run", "--name", "legacy"), Unwell)
	wantText(t, &w.out, "choose another name for the EtcdCluster")
	wantExit(t, w.run(t.Context(), "adopt", "http://10.0.1.1:2379", "--dry-run"), Done)
	wantText(t, &w.out, "- http://10.0.1.1:2379", "statefulSet: legacy")
	for _, line := range [][]string{{}, {"nothing"}, {"pod/legacy-0"}, {"a", "b"}, {"http://no-port"}, {"legacy", "--storage-size", "much"}} {
		wantExit(t, w.run(t.Context(), append([]string{"adopt", "--dry-run"}, line...)...), Failed)
	}
}

// TestAdoptKeepsVolumes: names and sizes follow from the claims that there are; what is in the way of that is said, too.
func TestAdoptKeepsVolumes(t *testing.T) {
	objects := chart()
	for _, object := range objects {
		switch o := object.(type) {
		case *appsv1.StatefulSet:
			o.Spec.Replicas = ptr.To[int32](3)
		case *corev1.Pod:
			etcd := &o.Spec.Containers[0]
			etcd.Env = append(etcd.Env[:len(etcd.Env):len(etcd.Env)], corev1.EnvVar{Name: "ETCD_DATA_DIR", Value: "/bitnami/etcd/data"})
			etcd.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/bitnami/etcd"}}
			o.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-" + o.Name},
			}}}
			objects = append(objects, &corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data-" + o.Name},
				Status: corev1.PersistentVolumeClaimStatus{
					Phase: corev1.ClaimBound, Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("20Gi")},
				},
			})
		}
	}
	w := newWorld(t, objects...)
	w.post = gateway()
	wantExit(t, w.run(t.Context(), "adopt", "legacy", "--dry-run", "--keep-volumes"), Done)
	wantText(t, &w.out, "none is seen", "name: data-legacy", "size: 20Gi", "volumes: Keep", "data is not copied")
	wantExit(t, w.run(t.Context(), "adopt", "legacy", "--dry-run", "--keep-volumes", "--name", "etcd"), Unwell)
	wantText(t, &w.out, "name the EtcdCluster data-legacy")
	w = newWorld(t, chart()...)
	w.post = gateway()
	wantExit(t, w.run(t.Context(), "adopt", "legacy", "--dry-run", "--keep-volumes"), Failed)
}

// TestAdoptUnread: where members cannot be asked Kubernetes alone says what there is, and nothing is claimed of the rest.
func TestAdoptUnread(t *testing.T) {
	w := newWorld(t, chart()...)
	w.post = func(context.Context, corev1.Pod, string, string, string) ([]byte, error) {
		return nil, errors.New("connection refused")
	}
	wantExit(t, w.run(t.Context(), "adopt", "legacy", "--dry-run"), Unwell)
	wantText(t, &w.out, "no member answers")
	wantExit(t, w.run(t.Context(), "adopt", "https://10.9.9.9:2379", "--dry-run"), Failed)
	wantText(t, &w.err, "give --client-secret")
	wantExit(t, w.run(t.Context(), "adopt", "https://10.9.9.9:2379", "--dry-run", "--client-secret", "root", "--peer-authority", "ca"), Done)
	wantText(t, &w.out, "endpoints outside of this namespace", "not known: its Pods are not in this namespace", "secret/ca",
		"NAMES IN CERTIFICATES")
}

// TestAdoptKnows: whose cluster it is follows from labels.
func TestAdoptKnows(t *testing.T) {
	pod := func(name string, labels map[string]string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{
				{Name: "etcd", Image: "etcd:v3.5.21", Command: []string{"etcd", "--listen-client-urls=http://0.0.0.0:2379"}},
			},
		}, Status: corev1.PodStatus{PodIP: "10.0.1.7", Phase: corev1.PodRunning}}
	}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "io", Labels: map[string]string{"app": "io", "controller": "io"},
	}}
	ioPod := pod("io-0", map[string]string{"app": "io"})
	ioPod.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "io", UID: "u", Controller: ptr.To(true)},
	}
	service := func(name string, selector map[string]string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.ServiceSpec{Selector: selector}}
	}
	w := newWorld(t, set, ioPod, pod("core-x7", map[string]string{"app": "etcd", "etcd_cluster": "core"}),
		service("core-client", map[string]string{"app": "etcd", "etcd_cluster": "core"}),
		pod("etcd-n1", map[string]string{"component": "etcd", "tier": "control-plane"}),
		service("kube", map[string]string{"component": "etcd"}), pod("bare", map[string]string{"app": "b"}),
		service("b", map[string]string{"app": "b"}))
	w.post = func(context.Context, corev1.Pod, string, string, string) ([]byte, error) {
		return nil, errors.New("connection refused")
	}
	for named, layout := range map[string]string{
		"io": "etcd-io/etcd-operator", "core-client": "coreos/etcd-operator", "kube": "static Pods of kubeadm",
		"svc/b": "Pods without a StatefulSet",
	} {
		w.run(t.Context(), "adopt", named, "--dry-run")
		wantText(t, &w.out, layout, "3.5")
	}
}

// TestAdopt: everything that is used agrees, and the command ends when the operator says that the cluster is adopted, or cannot be.
func TestAdopt(t *testing.T) {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "legacy"}, Data: map[string][]byte{"x": []byte("secret")},
	}
	for reason, exit := range map[string]int{v1beta1.ReasonSourceAdopted: Done, v1beta1.ReasonSourceUnfit: Unwell} {
		w := newWorld(t, append(chart(), secret.DeepCopy())...)
		w.post = gateway()
		w.operator = func(o client.Object) error {
			if c, is := o.(*v1beta1.EtcdCluster); is {
				status := metav1.ConditionFalse
				if exit == Done {
					status = metav1.ConditionTrue
				}
				c.Status.Conditions = []metav1.Condition{condition(v1beta1.ConditionAdopted, status, reason)}
			}
			return nil
		}
		wantExit(t, w.run(t.Context(), "adopt", "legacy", "--name", "etcd"), exit)
		wantText(t, &w.err, "EtcdCluster etcd is created", "PLAN")
		for kind, name := range map[string]string{"StatefulSet": "legacy", "Service": "legacy", "Secret": "legacy"} {
			o := &metav1.PartialObjectMetadata{}
			o.SetGroupVersionKind(kindsThatAgree[strings.ToLower(kind)])
			if err := w.unguarded.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: name}, o); err != nil {
				t.Fatal(err)
			}
			var c v1beta1.EtcdCluster
			if err := w.unguarded.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: "etcd"}, &c); err != nil {
				t.Fatal(err)
			}
			const advertised = "http://legacy-1.legacy-headless.default.svc.cluster.local:2379"
			if refused := c.MayUse("it", o.Annotations, advertised); refused != "" || c.UID == "" {
				t.Errorf("%s does not agree to %q: %s", kind, c.UID, refused)
			}
		}
	}
	w := newWorld(t, chart()...)
	w.post = gateway()
	wantExit(t, w.run(t.Context(), "adopt", "legacy"), Failed)
	wantText(t, &w.err, "secret/legacy is not there")
	made := types.NamespacedName{Namespace: "default", Name: "legacy-cluster"}
	if err := w.client.Get(t.Context(), made, &v1beta1.EtcdCluster{}); err == nil {
		t.Error("the EtcdCluster was created")
	}
}
