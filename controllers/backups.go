package controllers

import (
	"fmt"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// addBackups adds the reconcilers of stores and backups, which share their Jobs.
func addBackups(manager ctrl.Manager, config *rest.Config, chosen Options) (*tasks, *ownImage, error) {
	read, err := podLogs(config)
	if err != nil {
		return nil, nil, err
	}
	shared := &tasks{client: manager.GetClient(), live: manager.GetAPIReader(), logs: read}
	image := &ownImage{
		live: manager.GetAPIReader(), given: chosen.TaskImage, pod: client.ObjectKey{Namespace: chosen.PodNamespace, Name: chosen.PodName},
	}
	recorder := manager.GetEventRecorder("etcd-operator.dev/operator")
	store := &EtcdBackupStore{
		client: manager.GetClient(), tasks: shared, image: image, events: recorder, version: chosen.Version, now: chosen.Now,
	}
	if err := store.SetupWithManager(manager); err != nil {
		return nil, nil, fmt.Errorf("set up the controller of stores: %w", err)
	}
	backups := &EtcdBackup{
		client: manager.GetClient(), tasks: shared, image: image, images: chosen.Images, events: recorder,
		version: chosen.Version, now: chosen.Now,
	}
	if err := backups.SetupWithManager(manager); err != nil {
		return nil, nil, fmt.Errorf("set up the controller of backups: %w", err)
	}
	return shared, image, nil
}
