// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provisioner gives every PersistentVolumeClaim of the default
// StorageClass a local volume of its size, and grows it on request.
package provisioner

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/layout"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/volumes"
)

// Name is what a StorageClass says to get volumes from here.
const Name = "devcluster.etcd-operator.github.com/loop"

// workers is how many volumes are made at the same time.
const workers = 16

// Config is what the provisioner's command line says.
type Config struct {
	Kubeconfig string
	Node       string
	Dir        string
	Address    string
}

// provisioner is one node's. Each node has its own, which leaves alone what
// belongs to the others: a node that is gone makes and deletes no volumes.
type provisioner struct {
	node  string
	store volumes.Store
}

// The library asks these before it begins, and so says nothing about volumes
// that it will not touch.
var (
	_ controller.Qualifier     = provisioner{}
	_ controller.DeletionGuard = provisioner{}
)

// selected is the annotation by which the scheduler says where a claim's pod
// will run.
const selected = "volume.kubernetes.io/selected-node"

// ShouldProvision takes the claims of pods that come to this node. One that
// waits for no pod gets its volume at the first node.
func (p provisioner) ShouldProvision(_ context.Context, claim *corev1.PersistentVolumeClaim) bool {
	node := claim.Annotations[selected]
	if node == "" {
		node = layout.First
	}
	return node == p.node
}

// ShouldDelete takes the volumes that are kept here.
func (p provisioner) ShouldDelete(_ context.Context, volume *corev1.PersistentVolume) bool {
	return keeps(p.store, volume)
}

func keeps(store volumes.Store, volume *corev1.PersistentVolume) bool {
	return volume.Spec.Local != nil && volume.Spec.Local.Path == store.Path(volume.Name)
}

// Run works until the context ends.
func Run(ctx context.Context, config Config) error {
	client, err := connect(config.Kubeconfig)
	if err != nil {
		return err
	}
	store := volumes.Store{Dir: config.Dir}
	if err := store.MountAll(ctx); err != nil {
		return err
	}
	go healthy(config.Address)
	go newGrower(client, store).run(ctx)
	controller.NewProvisionController(ctx, client, Name, provisioner{node: config.Node, store: store},
		controller.LeaderElection(false),
		controller.Threadiness(workers),
		controller.CreateProvisionedPVInterval(200*time.Millisecond),
		controller.RetryIntervalMax(5*time.Second),
		controller.MetricsPort(0),
	).Run(ctx)
	return nil
}

func connect(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 500, 1000
	return kubernetes.NewForConfig(config)
}

func healthy(address string) {
	handler := http.NewServeMux()
	handler.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	server := &http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	log.Printf("health: %v", server.ListenAndServe())
}

// Provision makes the volume before its object, so that a bound claim can be
// mounted at once.
func (p provisioner) Provision(
	ctx context.Context, options controller.ProvisionOptions,
) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	began := time.Now()
	size := options.PVC.Spec.Resources.Requests[corev1.ResourceStorage]
	if err := p.store.Create(ctx, options.PVName, size.Value()); err != nil {
		return nil, controller.ProvisioningFinished, fmt.Errorf("create volume: %w", err)
	}
	log.Printf("created %s of %s in %s", options.PVName, size.String(), time.Since(began).Round(time.Millisecond))
	return p.volume(options), controller.ProvisioningFinished, nil
}

func (p provisioner) volume(options controller.ProvisionOptions) *corev1.PersistentVolume {
	filesystem := corev1.PersistentVolumeFilesystem
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes:                   options.PVC.Spec.AccessModes,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: options.PVC.Spec.Resources.Requests[corev1.ResourceStorage]},
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			VolumeMode:                    &filesystem,
			// A local volume, unlike a host path, honours fsGroup.
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				Local: &corev1.LocalVolumeSource{Path: p.store.Path(options.PVName)},
			},
			NodeAffinity: onlyAt(p.node),
		},
	}
}

func onlyAt(node string) *corev1.VolumeNodeAffinity {
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node},
			}},
		}},
	}}
}

// Delete removes the volume's file; the library removes the object.
func (p provisioner) Delete(_ context.Context, volume *corev1.PersistentVolume) error {
	return p.store.Delete(volume.Name)
}
