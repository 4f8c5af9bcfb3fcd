// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/plugin/progress"
	"github.com/etcd-operator/etcd-operator/internal/plugin/screen"
)

// patience is how long long work is waited for where the user does not say it.
const patience = 30 * time.Minute

// wanted is a backup that is requested.
type wanted struct {
	cluster, store, name string
	wait                 bool
	limit                time.Duration
}

func (a *app) backup() *cobra.Command {
	var want wanted
	cmd := &cobra.Command{
		Use: "backup CLUSTER", Short: "Back a cluster up",
		Long: "Create an EtcdBackup of a cluster, and with --wait follow it until an etcd has verified it.\n" +
			"Ctrl-C stops waiting, not the backup.\n\n" +
			"Exit code with --wait: 0 verified, or complete where no trial is asked for; 2 failed or not verified; 3 not finished in time.",
		Args: ofOne,
		RunE: func(cmd *cobra.Command, names []string) error {
			want.cluster = names[0]
			return a.backUp(cmd.Context(), want)
		},
	}
	cmd.Flags().StringVar(&want.store, "store", "", "name of the EtcdBackupStore; default: spec.backup.store of the cluster")
	cmd.Flags().StringVar(&want.name, "name", "", "name of the EtcdBackup; default: that of the cluster and five random letters")
	a.waiting(cmd, &want.wait, &want.limit)
	return cmd
}

// waiting has the flags of commands that may wait.
func (a *app) waiting(cmd *cobra.Command, wait *bool, limit *time.Duration) {
	cmd.Flags().BoolVar(wait, "wait", *wait, "wait until it is done")
	cmd.Flags().DurationVar(limit, "timeout", patience, "how long to wait at most; 0: for ever")
}

func (a *app) backUp(ctx context.Context, want wanted) error {
	k, err := a.Connect(&a.connection)
	if err != nil {
		return err
	}
	c, err := clusterOf(ctx, k, want.cluster)
	if err != nil {
		return err
	}
	if want.store == "" && c.Spec.Backup == nil {
		return fmt.Errorf("in which store? EtcdCluster %s names none in spec.backup.store: give --store; "+
			"'kubectl get etcdbackupstores.etcd-operator.dev -n %s' lists them",
			c.Name, k.Namespace)
	}
	if err := knowsStore(ctx, k, want.store); err != nil {
		return err
	}
	b := &v1beta1.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: want.name},
		Spec:       v1beta1.EtcdBackupSpec{Cluster: c.Name, Store: want.store},
	}
	if want.name == "" {
		b.GenerateName = c.Name + "-"
	}
	if err := k.Create(ctx, b); err != nil {
		return fmt.Errorf("create an EtcdBackup: %w", err)
	}
	if !want.wait {
		a.say("backup %s is created; 'kubectl etcd backups %s -n %s' shows it", b.Name, c.Name, k.Namespace)
		return nil
	}
	a.note("backup %s is created", b.Name)
	goesOn := fmt.Sprintf("backup %s goes on: 'kubectl etcd backups %s -n %s' shows it", b.Name, c.Name, k.Namespace)
	return a.finish(a.follow(ctx, want.limit, goesOn, func(ctx context.Context) (progressState, error) {
		if err := k.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return progressState{}, fmt.Errorf("get EtcdBackup %s: %w", b.Name, err)
		}
		seen := progressState{Progress: progress.OfBackup(b)}
		seen.ended, seen.problem, seen.result = screen.Outcome(b)
		return seen, nil
	}))
}

// knowsStore refuses the name of a store that is not there. The EtcdBackup would wait for it.
func knowsStore(ctx context.Context, k *Kubernetes, name string) error {
	var store v1beta1.EtcdBackupStore
	if name == "" {
		return nil
	}
	if apierrors.IsNotFound(k.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: name}, &store)) {
		return fmt.Errorf("there is no EtcdBackupStore %s in namespace %s; 'kubectl get etcdbackupstores.etcd-operator.dev -n %s' lists them",
			name, k.Namespace, k.Namespace)
	}
	return nil // a user who may not read stores may still create backups
}

func (a *app) backups() *cobra.Command {
	return &cobra.Command{
		Use: "backups [CLUSTER]", Short: "List backups, those that were found in stores too, the newest first",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			k, err := a.Connect(&a.connection)
			if err != nil {
				return err
			}
			cluster := ""
			if len(names) > 0 {
				cluster = names[0]
			}
			all, err := backupsOf(cmd.Context(), k, cluster)
			if err != nil {
				return fmt.Errorf("list EtcdBackups: %w", err)
			}
			if len(all) == 0 {
				a.note("there is no EtcdBackup in namespace %s", k.Namespace+ofCluster(cluster))
				return nil
			}
			var lines []screen.Backup
			for _, b := range screen.Newest(all) {
				lines = append(lines, screen.BackupOf(&b))
			}
			_, _ = fmt.Fprint(a.Out, screen.Backups(lines, a.Now()))
			return nil
		},
	}
}

func ofCluster(cluster string) string {
	if cluster == "" {
		return ""
	}
	return " that is of " + cluster
}

// backupsOf are those of one cluster, or with no name all.
func backupsOf(ctx context.Context, k *Kubernetes, cluster string) ([]v1beta1.EtcdBackup, error) {
	var list v1beta1.EtcdBackupList
	if err := k.List(ctx, &list, client.InNamespace(k.Namespace)); err != nil {
		return nil, err
	}
	var of []v1beta1.EtcdBackup
	for _, b := range list.Items {
		if cluster == "" || screen.ClusterOf(&b) == cluster {
			of = append(of, b)
		}
	}
	return of, nil
}
