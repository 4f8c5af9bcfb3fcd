// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// A constraint is one of the two security context constraints of OpenShift that Pods of ours may come under, as
// openshift/cluster-kube-apiserver-operator has them (bindata/bootkube/scc-manifests). They differ in one thing.
type constraint struct {
	name string
	// chooses is whether the namespace has a range, of which OpenShift takes the user and the group of volumes: a Pod that names another one
	// is refused.
	chooses bool
}

var (
	restrictedV2 = constraint{"restricted-v2", true}
	nonrootV2    = constraint{"nonroot-v2", false}
)

// volumeTypes are the sources of volumes that both admit, as fields of corev1.VolumeSource.
var volumeTypes = []string{
	"ConfigMap", "CSI", "DownwardAPI", "EmptyDir", "Ephemeral", "PersistentVolumeClaim", "Projected", "Secret",
}

// refuses is why a Pod is not admitted.
func (c constraint) refuses(pod corev1.PodSpec) []string {
	all := c.ofPod(pod)
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		security := container.SecurityContext
		if security == nil {
			security = &corev1.SecurityContext{} // what is not said is filled in
		}
		all = append(all, c.ofUser(security.RunAsUser)...)
		if is(security.Privileged) || is(security.AllowPrivilegeEscalation) || security.ProcMount != nil || security.SELinuxOptions != nil {
			all = append(all, "privileges")
		}
		if security.Capabilities != nil && len(slices.DeleteFunc(slices.Clone(security.Capabilities.Add), isBindService)) > 0 {
			all = append(all, "capabilities")
		}
		all = append(all, ofProfile(security.SeccompProfile)...)
		for _, port := range container.Ports {
			if port.HostPort != 0 {
				all = append(all, "host port")
			}
		}
		if c == nonrootV2 && !isNotRoot(pod.SecurityContext, security) {
			all = append(all, "root")
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (c constraint) ofPod(pod corev1.PodSpec) []string {
	var all []string
	if pod.HostNetwork || pod.HostPID || pod.HostIPC {
		all = append(all, "host namespaces")
	}
	for _, volume := range pod.Volumes {
		for field, source := range reflect.ValueOf(volume.VolumeSource).Fields() {
			if !source.IsNil() && !slices.Contains(volumeTypes, field.Name) {
				all = append(all, "volume "+field.Name)
			}
		}
	}
	security := pod.SecurityContext
	if security == nil {
		return all
	}
	if c.chooses && security.FSGroup != nil {
		all = append(all, fmt.Sprintf("fsGroup %d", *security.FSGroup))
	}
	if len(security.Sysctls) > 0 || security.SELinuxOptions != nil {
		all = append(all, "privileges")
	}
	return slices.Concat(all, c.ofUser(security.RunAsUser), ofProfile(security.SeccompProfile))
}

func (c constraint) ofUser(user *int64) []string {
	if user == nil || !c.chooses && *user != 0 {
		return nil
	}
	return []string{fmt.Sprintf("runAsUser %d", *user)}
}

func ofProfile(profile *corev1.SeccompProfile) []string {
	if profile == nil || profile.Type == corev1.SeccompProfileTypeRuntimeDefault {
		return nil
	}
	return []string{"seccomp profile " + string(profile.Type)}
}

func is(flag *bool) bool { return flag != nil && *flag }

func isBindService(c corev1.Capability) bool { return c == "NET_BIND_SERVICE" }

// isNotRoot is what MustRunAsNonRoot asks: a user, or the word of the Pod that the image's is none but root.
func isNotRoot(pod *corev1.PodSecurityContext, container *corev1.SecurityContext) bool {
	return container.RunAsUser != nil || is(container.RunAsNonRoot) || pod != nil && (pod.RunAsUser != nil || is(pod.RunAsNonRoot))
}

// podsOf reads every Pod that files of tests say the operator makes.
func podsOf(t *testing.T, pattern string, spec func(text []byte) (corev1.PodSpec, error)) map[string]corev1.PodSpec {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil || len(files) == 0 {
		t.Fatal(pattern, err)
	}
	all := map[string]corev1.PodSpec{}
	for _, file := range files {
		name, _ := filepath.Rel(root, file)
		pod, err := spec([]byte(read(t, name)))
		if err != nil || len(pod.Containers) == 0 {
			t.Fatal(name, err)
		}
		all[name] = pod
	}
	return all
}

func ofMember(text []byte) (corev1.PodSpec, error) {
	var pod corev1.Pod
	err := yaml.Unmarshal(text, &pod)
	return pod.Spec, err
}

func ofJob(text []byte) (corev1.PodSpec, error) {
	var job batchv1.Job
	err := yaml.Unmarshal(text, &job)
	return job.Spec.Template.Spec, err
}

func ofDeployment(text []byte) (corev1.PodSpec, error) {
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var deployment appsv1.Deployment
		if err := yaml.Unmarshal([]byte(document), &deployment); err != nil || deployment.Kind == "Deployment" {
			return deployment.Spec.Template.Spec, err
		}
	}
	return corev1.PodSpec{}, nil
}

// TestWhatOpenShiftAdmits: docs/install.md says which constraint each Pod needs, and who may use it.
func TestWhatOpenShiftAdmits(t *testing.T) {
	named := []string{"fsGroup 65532", "runAsUser 65532"}
	for _, row := range []struct {
		of, pattern string
		spec        func([]byte) (corev1.PodSpec, error)
		refused     []string // by restricted-v2
	}{
		{"the operator's", "config/manager/manager.yaml", ofDeployment, nil},
		{"of members", "internal/cluster/specs/testdata/pod_*.yaml", ofMember, named},
		{"of Jobs", "internal/backup/jobs/testdata/*.yaml", ofJob, named},
	} {
		admits := restrictedV2
		if len(row.refused) > 0 {
			admits = nonrootV2
		}
		for name, pod := range podsOf(t, row.pattern, row.spec) {
			got := slices.DeleteFunc(restrictedV2.refuses(pod), func(why string) bool { return why == "runAsUser 1000" }) // of a user's container
			if !slices.Equal(got, row.refused) {
				t.Errorf("%s: restricted-v2 refuses %q, want %q", name, got, row.refused)
			}
			if got := admits.refuses(pod); len(got) > 0 {
				t.Errorf("%s: %s refuses %q", name, admits.name, got)
			}
			if row.of == "of Jobs" && !slices.Contains([]string{"etcd-operator-backup", "writer"}, pod.ServiceAccountName) {
				t.Errorf("%s: it runs as %q, which no page says", name, pod.ServiceAccountName)
			}
		}
		if !strings.Contains(read(t, "docs/install.md"), "| "+row.of+" | `"+admits.name+"` |") {
			t.Errorf("docs/install.md does not say that Pods %s need %s", row.of, admits.name)
		}
	}
	may := false
	for _, rule := range rolesOf(t, "config/rbac/role.yaml")["manager-role"] {
		may = may || slices.Contains(rule.Resources, "securitycontextconstraints") && slices.Equal(rule.Verbs, []string{"use"}) &&
			slices.Equal(rule.ResourceNames, []string{nonrootV2.name})
	}
	if !may {
		t.Error("the operator may not use nonroot-v2, by which it makes Pods of members")
	}
}

// TestAConstraintRefuses: each of what the table above does not have.
func TestAConstraintRefuses(t *testing.T) {
	yes, root := true, int64(0)
	for want, pod := range map[string]corev1.PodSpec{
		"host namespaces":            {HostNetwork: true},
		"volume HostPath":            {Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{}}}}},
		"seccomp profile Unconfined": {SecurityContext: &corev1.PodSecurityContext{SeccompProfile: &corev1.SeccompProfile{Type: "Unconfined"}}},
		"runAsUser 0":                {SecurityContext: &corev1.PodSecurityContext{RunAsUser: &root}},
		"privileges": {Containers: []corev1.Container{{
			SecurityContext: &corev1.SecurityContext{Privileged: &yes, RunAsNonRoot: &yes},
		}}},
		"root": {Containers: []corev1.Container{{}}},
	} {
		if got := nonrootV2.refuses(pod); !slices.Equal(got, []string{want}) {
			t.Errorf("nonroot-v2 refuses %q, want %q", got, want)
		}
	}
}
