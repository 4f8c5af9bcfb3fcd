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

type provisioner struct {
	node  string
	store volumes.Store
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
	if options.SelectedNodeName != "" && options.SelectedNodeName != p.node {
		return nil, controller.ProvisioningFinished, &controller.IgnoredError{Reason: "volume of another node"}
	}
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
	if volume.Spec.Local == nil || volume.Spec.Local.Path != p.store.Path(volume.Name) {
		return &controller.IgnoredError{Reason: "volume of another node"}
	}
	return p.store.Delete(volume.Name)
}
