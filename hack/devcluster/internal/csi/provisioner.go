// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package csi

import (
	"context"
	"fmt"
	"log"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// provisioner gives claims of the driver's StorageClass volumes. The usual external-provisioner does not compile with this Kubernetes yet.
type provisioner struct {
	driver *driver
	client dynamic.Interface
}

// provision works until the context ends.
func provision(ctx context.Context, kubeconfig string, d *driver) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 500, 1000
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	controller.NewProvisionController(ctx, client, Name, provisioner{d, objects},
		controller.LeaderElection(false),
		controller.CreateProvisionedPVInterval(200*time.Millisecond),
		controller.RetryIntervalMax(5*time.Second),
		controller.MetricsPort(0),
	).Run(ctx)
	return nil
}

// Provision makes the volume, of a VolumeSnapshot if the claim says so.
func (p provisioner) Provision(
	ctx context.Context, options controller.ProvisionOptions,
) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	size := options.PVC.Spec.Resources.Requests[corev1.ResourceStorage]
	request := &spec.CreateVolumeRequest{Name: options.PVName, CapacityRange: &spec.CapacityRange{RequiredBytes: size.Value()}}
	if source := options.PVC.Spec.DataSource; source != nil {
		handle, err := p.handle(ctx, options.PVC.Namespace, source)
		if err != nil {
			return nil, controller.ProvisioningFinished, err
		}
		request.VolumeContentSource = &spec.VolumeContentSource{Type: &spec.VolumeContentSource_Snapshot{
			Snapshot: &spec.VolumeContentSource_SnapshotSource{SnapshotId: handle},
		}}
	}
	made, err := p.driver.CreateVolume(ctx, request)
	if err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	log.Printf("created %s of %s", options.PVName, size.String())
	filesystem := corev1.PersistentVolumeFilesystem
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes:                   options.PVC.Spec.AccessModes,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: size},
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			VolumeMode:                    &filesystem,
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: Name, VolumeHandle: made.Volume.VolumeId,
			}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{p.driver.node},
				}}}},
			}},
		},
	}, controller.ProvisioningFinished, nil
}

// Delete removes what Provision has made.
func (p provisioner) Delete(ctx context.Context, volume *corev1.PersistentVolume) error {
	_, err := p.driver.DeleteVolume(ctx, &spec.DeleteVolumeRequest{VolumeId: volume.Spec.CSI.VolumeHandle})
	return err
}

// handle is what the driver calls the snapshot that a VolumeSnapshot stands for.
func (p provisioner) handle(ctx context.Context, namespace string, source *corev1.TypedLocalObjectReference) (string, error) {
	resource := func(name string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: "snapshot.storage.k8s.io", Version: "v1", Resource: name}
	}
	if source.Kind != "VolumeSnapshot" || source.APIGroup == nil || *source.APIGroup != resource("").Group {
		return "", fmt.Errorf("a volume cannot be made of a %s", source.Kind)
	}
	taken, err := p.client.Resource(resource("volumesnapshots")).Namespace(namespace).Get(ctx, source.Name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if isReady, _, _ := unstructured.NestedBool(taken.Object, "status", "readyToUse"); !isReady {
		return "", fmt.Errorf("VolumeSnapshot %s is not ready", source.Name)
	}
	bound, _, _ := unstructured.NestedString(taken.Object, "status", "boundVolumeSnapshotContentName")
	content, err := p.client.Resource(resource("volumesnapshotcontents")).Get(ctx, bound, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	handle, _, _ := unstructured.NestedString(content.Object, "status", "snapshotHandle")
	return handle, nil
}
