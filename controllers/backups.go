package controllers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
)

// addBackups adds the reconcilers of stores, backups, restores and schedules, which share how Jobs are made and read.
func addBackups(
	manager ctrl.Manager, config *rest.Config, installation string, leads func(context.Context) error, off func() time.Duration,
	asked memberFinder, chosen Options,
) error {
	read, err := podLogs(config)
	if err != nil {
		return err
	}
	shared := &jobClient{client: manager.GetClient(), live: nameValidatingReader{manager.GetAPIReader()}, logs: read, leads: leads}
	image := &ownImage{
		live: manager.GetAPIReader(), given: chosen.TaskImage, pod: client.ObjectKey{Namespace: chosen.PodNamespace, Name: chosen.PodName},
		asked: jobs.Image{Endpoints: chosen.StoreEndpoints, Proxy: chosen.Proxy, PullSecrets: pullSecrets(chosen.TaskPullSecrets)},
	}
	recorder := manager.GetEventRecorder("etcd-operator.dev/operator")
	for _, reconciler := range []interface{ SetupWithManager(ctrl.Manager) error }{
		&EtcdBackupStoreReconciler{
			client: manager.GetClient(), tasks: shared, image: image, events: recorder, version: chosen.Version, now: chosen.Now,
		},
		&EtcdBackupReconciler{
			client: manager.GetClient(), tasks: shared, image: image, images: chosen.Images, limits: chosen.Limits, events: recorder,
			version: chosen.Version, now: chosen.Now,
		},
		&VolumeRestoreReconciler{
			client: manager.GetClient(), tasks: shared, image: image, events: recorder, version: chosen.Version, now: chosen.Now,
			installation: installation, limits: chosen.Limits,
		},
		&EtcdRestoreReconciler{
			client: manager.GetClient(), tasks: shared, asked: asked, events: recorder, now: chosen.Now, installation: installation,
			limits: chosen.Limits,
		},
		&ScheduleReconciler{
			client: manager.GetClient(), live: manager.GetAPIReader(), events: recorder, leads: leads,
			installation: installation, now: chosen.Now, off: off,
		},
	} {
		if err := reconciler.SetupWithManager(manager); err != nil {
			return fmt.Errorf("set up a controller of backups: %w", err)
		}
	}
	return nil
}
