// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// What an adoption may cost: no failed write, a gap that a client hardly notices, and not much more time than three replacements, which
// copy as much data.
const (
	adoptedGap   = 120 // milliseconds
	adoptedRatio = 1.3
)

// adopt times how a StatefulSet of three members with so many MiB of data becomes an EtcdCluster, while a client writes every 10 ms by the
// Service that was there before; beside three replacements of a member of that cluster. Before, the same client writes while three files of
// that size are synced on the same disk, as etcd does with the database that a member gets.
func adopt(name string, databaseMiB int, volume string) func(context.Context, *bench) ([]row, error) {
	return func(ctx context.Context, b *bench) ([]row, error) {
		size := resource.MustParse(volume)
		source := b.floorOf(strings.ToLower(name), size)
		ours := b.threeMembers(source.Name + "-ours")
		ours.Spec.Storage.Size, ours.Spec.Version = ptr.To(size), "3.6"
		if err := b.applySource(ctx, source); err != nil {
			return nil, err
		}
		if err := b.fill(ctx, source.Name, databaseMiB); err != nil {
			return nil, err
		}
		files, err := b.filesBeside(ctx, source.Name, "data-"+source.Members[0], databaseMiB)
		if err != nil {
			return nil, err
		}
		ours.Spec.Bootstrap = &v1beta1.BootstrapSpec{Adopt: source.adopted()}
		var took time.Duration
		beats, err := b.pulse(ctx, source.Name, func() error {
			begin := time.Now()
			if err := b.client.Create(ctx, ours); err != nil {
				return fmt.Errorf("create EtcdCluster: %w", err)
			}
			if err := b.agree(ctx, ours); err != nil {
				return err
			}
			err := b.condition(ctx, ours.Name, v1beta1.ConditionAdopted, metav1.ConditionTrue)
			took = time.Since(begin)
			return err
		})
		if err != nil {
			return nil, err
		}
		b.progress("%s: %s; %s", name, took.Round(100*time.Millisecond), beats)
		rows, err := b.besideReplacements(ctx, name, ours.Name, took)
		if err != nil {
			return nil, err
		}
		var gaps, floor, failed sample
		gaps.milliseconds(beats.Gap)
		floor.milliseconds(files.Gap)
		failed.add(float64(beats.Failed))
		rows = append(rows, alone(name+"-gap", "ms", gaps.median(), atMost(adoptedGap), gaps),
			alone(name+"-files", "ms", floor.median(), nil, floor),
			alone(name+"-failed", "writes", failed.median(), atMost(0), failed))
		if err := b.remove(ctx, ours.Name); err != nil {
			return nil, err
		}
		return rows, b.removeSource(ctx, source)
	}
}

// besideReplacements replaces three members while the same client writes, when the authorities that were taken over are rotated out.
func (b *bench) besideReplacements(ctx context.Context, name, cluster string, took time.Duration) ([]row, error) {
	if err := b.rested(ctx, cluster, 3); err != nil {
		return nil, err
	}
	var adopted, replaced sample
	var sum time.Duration
	beats, err := b.pulse(ctx, cluster, func() error {
		for range 3 {
			l, err := b.replaceOurs(ctx, cluster)
			if err != nil {
				return err
			}
			sum += l[0]
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	b.progress("three replacements beside it: %s; %s", sum.Round(100*time.Millisecond), beats)
	adopted.seconds(took)
	replaced.seconds(sum)
	return []row{beside(name, "s", took.Seconds(), sum.Seconds(), atMost(adoptedRatio), adopted, replaced)}, nil
}

// adopted is what the EtcdCluster says of the source.
func (f floor) adopted() *v1beta1.Adopt {
	authority := &v1beta1.LocalSecret{Name: f.Name + "-ca"}
	return &v1beta1.Adopt{
		Endpoints:       []string{"https://" + f.Members[0] + "." + f.Name + "." + f.Namespace + ".svc:2379"},
		ClientSecretRef: &v1beta1.LocalSecret{Name: f.Name + "-client"}, PeerAuthorityRef: authority, ClientAuthorityRef: authority,
		Services: []string{f.Name + "-client"}, StatefulSet: f.Name,
	}
}

// agree has everything that an EtcdCluster adopts agree to it.
func (b *bench) agree(ctx context.Context, c *v1beta1.EtcdCluster) error {
	adopt := c.Spec.Bootstrap.Adopt
	kinds := map[string]client.Object{
		adopt.PeerAuthorityRef.Name: &corev1.Secret{}, adopt.Services[0]: &corev1.Service{}, adopt.StatefulSet: &appsv1.StatefulSet{},
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1beta1.AnnotationAdoptedBy, c.Consent())
	for name, o := range kinds {
		o.SetNamespace(c.Namespace)
		o.SetName(name)
		if err := b.client.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch)); err != nil {
			return fmt.Errorf("have %s agree to be adopted: %w", name, err)
		}
	}
	return nil
}

// applySource makes the floor by a StatefulSet.
func (b *bench) applySource(ctx context.Context, f floor) error {
	ca, err := b.certify(ctx, f)
	if err != nil {
		return err
	}
	objects, err := f.render("services.yaml", "")
	if err != nil {
		return err
	}
	set, err := f.statefulSet()
	if err != nil {
		return err
	}
	authority := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Name: f.Name + "-ca", Namespace: f.Namespace, Labels: map[string]string{instanceLabel: f.Name},
	}, Data: map[string][]byte{"ca.crt": ca.CertPEM, "ca.key": ca.KeyPEM}}
	all := []client.Object{authority, set}
	for _, o := range objects {
		all = append(all, o)
	}
	for _, o := range all {
		if err := b.client.Create(ctx, o); err != nil {
			return fmt.Errorf("create what is adopted: %w", err)
		}
	}
	return b.answer(ctx, f.Name, len(f.Members), "")
}

// statefulSet is one of Pods like those of the floor, each with a volume of its own.
func (f floor) statefulSet() (*unstructured.Unstructured, error) {
	const podName = "$(POD_NAME)"
	pods, err := f.render("pod.yaml", podName)
	if err != nil {
		return nil, err
	}
	claims, err := f.render("claim.yaml", "data")
	if err != nil {
		return nil, err
	}
	labels := map[string]any{instanceLabel: f.Name}
	spec := pods[0].Object["spec"].(map[string]any)
	delete(spec, "hostname")
	delete(spec, "subdomain")
	spec["volumes"] = slices.DeleteFunc(spec["volumes"].([]any), func(v any) bool { return v.(map[string]any)["name"] == "data" })
	container := spec["containers"].([]any)[0].(map[string]any)
	container["env"] = []any{map[string]any{
		"name": "POD_NAME", "valueFrom": map[string]any{"fieldRef": map[string]any{"fieldPath": "metadata.name"}},
	}}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "StatefulSet",
		"metadata": map[string]any{"name": f.Name, "namespace": f.Namespace, "labels": labels},
		"spec": map[string]any{
			"replicas": int64(len(f.Members)), "serviceName": f.Name, "podManagementPolicy": "Parallel",
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": spec},
			"volumeClaimTemplates": []any{map[string]any{
				"metadata": map[string]any{"name": "data", "labels": labels}, "spec": claims[0].Object["spec"],
			}},
		},
	}}, nil
}

func (b *bench) removeSource(ctx context.Context, f floor) error {
	set := &unstructured.Unstructured{}
	set.SetAPIVersion("apps/v1")
	set.SetKind("StatefulSet")
	set.SetNamespace(f.Namespace)
	set.SetName(f.Name)
	if err := b.client.Delete(ctx, set); err != nil {
		return fmt.Errorf("delete what was adopted: %w", err)
	}
	return b.removeFloor(ctx, f)
}
