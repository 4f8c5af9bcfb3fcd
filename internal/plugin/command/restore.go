// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/plugin/progress"
	"github.com/etcd-operator/etcd-operator/internal/plugin/restoring"
	"github.com/etcd-operator/etcd-operator/internal/plugin/screen"
)

// restored is what is to be restored, and where.
type restored struct {
	backup, store, from, at, decryption string
	target                              v1beta1.RestoreTarget // after the backup, by the log
	prefix                              string                // of the keys, in place; empty: all

	to     string // a new cluster
	chosen restoring.Choices
	dry    bool

	cluster  string // in place
	preview  bool
	confirm  string
	unsaved  bool
	keepFor  time.Duration
	deadline time.Duration
	wait     bool
}

func (a *app) restore() *cobra.Command {
	want := restored{wait: true}
	cmd := &cobra.Command{
		Use: "restore (CLUSTER | --to CLUSTER) (--backup BACKUP | --store STORE)", Short: "Restore a backup: into a new cluster, or in place",
		Long: "Restore a backup: with --to into a new cluster, else in place.\n\n" +
			"In place, a preview says first what would be lost. Nothing happens before it is confirmed: with --confirm and what the preview\n" +
			"says, or typed in a terminal. Until then an EtcdRestore is there, which does nothing.\n" +
			"With --prefix only the keys below it are restored, while members serve: no volume is made, and revisions go on.\n\n" +
			"Exit code: 0 the data is served, or --preview was shown; 2 it failed; 3 not finished in time.",
		Example: "  kubectl etcd restore --to example-2 --backup before-migration\n" +
			"  kubectl etcd restore --to example-2 --store offsite --from production/example --at 2026-11-24T10:00:00Z\n" +
			"  kubectl etcd restore example --backup before-migration --preview\n" +
			"  kubectl etcd restore example --store offsite --before-delete /registry/namespaces/shop --preview\n" +
			"  kubectl etcd restore example --store offsite --prefix /registry/configmaps/shop/ --to-time 2026-11-24T10:00:00Z --preview\n" +
			"  kubectl etcd restore example --backup before-migration --confirm 'example@48213->46000'",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			if len(names) > 0 {
				want.cluster = names[0]
			}
			if err := want.check(); err != nil {
				return err
			}
			k, err := a.Connect(&a.connection)
			if err != nil {
				return err
			}
			if want.to != "" {
				return a.restoreTo(cmd.Context(), k, want)
			}
			return a.restoreInPlace(cmd.Context(), k, want)
		},
	}
	want.flags(cmd)
	a.waiting(cmd, &want.wait, &want.deadline)
	return cmd
}

func (r *restored) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.backup, "backup", "", "name of the EtcdBackup")
	f.StringVar(&r.store, "store", "", "name of an EtcdBackupStore, in which a backup is looked for")
	f.StringVar(&r.from, "from", "",
		"with --store: cluster whose backup is looked for, as NAMESPACE/NAME or NAME; default: the one that is restored")
	f.StringVar(&r.at, "at", "",
		"with --store: latest, a revision, or a time such as 2026-11-24T10:00:00Z: the newest backup that is not newer")
	f.StringVar(&r.target.Time, "to-time", "",
		"replay the continuous log after the newest backup that is older: what came until then, such as 2026-11-24T10:00:00Z")
	f.Int64Var(&r.target.Revision, "to-revision", 0, "replay the log up to this revision of etcd")
	f.BoolVar(&r.target.Exclusive, "exclusive", false, "with --to-time or --to-revision: leave out what came at just that time or revision")
	f.StringVar(&r.target.BeforeDelete, "before-delete", "", "replay the log up to just before the newest deletion of this key")
	f.StringVar(&r.prefix, "prefix", "", "in place: only keys that begin with it, which members that serve change by transactions")
	f.StringVar(&r.decryption, "decryption", "", "name of the Secret with the age identities, for an encrypted backup")
	f.StringVar(&r.to, "to", "", "name of the new cluster")
	f.Int32Var(&r.chosen.Size, "size", 0, "with --to: members; default: as the cluster of the backup, else 3")
	f.StringVar(&r.chosen.Version, "version", "",
		"with --to: version of etcd; default: as the cluster of the backup, else the backup's minor version")
	f.StringVar(&r.chosen.StorageSize, "storage-size", "", "with --to: size of each volume; default: as the cluster of the backup, else 8Gi")
	f.StringVar(&r.chosen.StorageClass, "storage-class", "", "with --to: class of the volumes; default: as the cluster of the backup")
	f.DurationVar(&r.chosen.ExpiresAfter, "expires-after", 0,
		"with --to: after how long the operator deletes the new cluster with its volumes, such as 4h; default: never")
	f.BoolVar(&r.dry, "dry-run", false, "with --to: print the EtcdCluster, and create nothing")
	f.BoolVar(&r.preview, "preview", false, "in place: say what would be lost, and how to go on; restore nothing")
	f.StringVar(&r.confirm, "confirm", "", "in place: what the preview says, such as 'example@48213->46000'")
	f.BoolVar(&r.unsaved, "skip-safety-backup", false, "in place: take no backup of the data as it is now")
	f.DurationVar(&r.keepFor, "keep-for", 0, "in place: how long the volumes of today are kept for an undo; default: the operator's")
}

// check says what is wrong with a command line.
func (r *restored) check() error {
	isInPlace := r.preview || r.confirm != "" || r.unsaved || r.keepFor != 0 || r.prefix != ""
	switch {
	case (r.cluster == "") == (r.to == ""):
		return errors.New("restore into which cluster? Name one to restore in place, or give --to for a new one")
	case (r.backup == "") == (r.store == ""):
		return errors.New("restore what? Give --backup ('kubectl etcd backups' lists them), or --store")
	case r.store == "" && (r.from != "" || r.at != ""):
		return errors.New("--from and --at go with --store: --backup names one backup already")
	case restoring.TargetProblem(r.target) != "":
		return errors.New(restoring.TargetProblem(r.target))
	case r.at != "" && r.hasTarget():
		return errors.New("--at means a full backup alone, and --to-time, --to-revision and --before-delete what follows one: give one of them")
	case r.to != "" && isInPlace:
		return errors.New("--prefix, --preview, --confirm, --skip-safety-backup and --keep-for are for a restore in place, not for a new cluster")
	case r.prefix != "" && r.keepFor != 0:
		return errors.New("--keep-for is about volumes, and with --prefix none is made")
	case r.to == "" && (r.chosen != restoring.Choices{} || r.dry):
		return errors.New("--size, --version, --storage-size, --storage-class, --expires-after and --dry-run are for a new cluster: give --to")
	case r.preview && r.confirm != "":
		return errors.New("--preview restores nothing, and --confirm does: give one of them")
	}
	return nil
}

func (r *restored) hasTarget() bool { return r.target != v1beta1.RestoreTarget{} }

// targetOrNil is nil if the backup alone is to be restored.
func (r *restored) targetOrNil() *v1beta1.RestoreTarget {
	if !r.hasTarget() {
		return nil
	}
	return &r.target
}

func (a *app) restoreTo(ctx context.Context, k *Kubernetes, want restored) error {
	c, notes, err := planned(ctx, k, want)
	if err != nil {
		return err
	}
	for _, note := range notes {
		a.note("%s", note)
	}
	if want.dry {
		raw, err := yaml.Marshal(c)
		if err != nil {
			return fmt.Errorf("write YAML: %w", err)
		}
		_, _ = a.Out.Write(raw)
		return nil
	}
	if err := k.Create(ctx, c); err != nil {
		return fmt.Errorf("create EtcdCluster %s: %w", c.Name, err)
	}
	goesOn := fmt.Sprintf("the restore goes on: 'kubectl etcd status %s -n %s' shows it", c.Name, c.Namespace)
	if !want.wait {
		a.say("EtcdCluster %s is created; %s", c.Name, goesOn)
		return nil
	}
	a.note("EtcdCluster %s is created", c.Name)
	return a.finish(a.follow(ctx, want.deadline, goesOn, func(ctx context.Context) (progressState, error) {
		now, err := clusterOf(ctx, k, c.Name)
		if err != nil {
			return progressState{}, err
		}
		served, what := restoring.ClusterProgress(now)
		seen := progressState{Progress: progress.Progress{What: "restore to " + c.Name, Message: what}, ended: served}
		if served {
			seen.result = fmt.Sprintf("EtcdCluster %s serves the data of revision %d: %s", c.Name, now.Status.Restore.Revision, what)
		}
		return seen, nil
	}))
}

// planned is the new cluster, with what belongs to the data from the cluster of the backup where that is still there, and what there is to
// know of it.
func planned(ctx context.Context, k *Kubernetes, want restored) (*v1beta1.EtcdCluster, []string, error) {
	from := v1beta1.Restore{Backup: want.backup, Store: want.store, Cluster: want.from, At: want.at, Decryption: secret(want.decryption)}
	from.Target = want.targetOrNil()
	var backup *v1beta1.EtcdBackup
	of := want.from
	if want.backup != "" {
		backup = &v1beta1.EtcdBackup{}
		if err := k.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: want.backup}, backup); err != nil {
			return nil, nil, fmt.Errorf("get EtcdBackup %s in namespace %s: %w", want.backup, k.Namespace, err)
		}
		of = screen.SourceOf(backup)
	}
	source, err := sourceOf(ctx, k, of)
	if err != nil {
		return nil, nil, err
	}
	c, err := restoring.Cluster(k.Namespace, want.to, from, backup, source, want.chosen)
	if err != nil {
		return nil, nil, err
	}
	return c, restoring.Notes(c, backup, of, source), nil
}

// sourceOf is the cluster of a backup, which may be in another namespace; nil if it is not there, or may not be read there.
func sourceOf(ctx context.Context, k *Kubernetes, of string) (*v1beta1.EtcdCluster, error) {
	within := *k
	name := of
	if namespace, inside, isOther := strings.Cut(of, "/"); isOther {
		within.Namespace, name = namespace, inside
	}
	if name == "" {
		return nil, nil
	}
	source, err := clusterOf(ctx, &within, name)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) && within.Namespace != k.Namespace {
		return nil, nil
	}
	return source, err
}

func secret(name string) *v1beta1.SecretReference {
	if name == "" {
		return nil
	}
	return &v1beta1.SecretReference{Secret: name}
}

// spec is the spec of an EtcdRestore.
func (r *restored) spec() v1beta1.EtcdRestoreSpec {
	s := v1beta1.EtcdRestoreSpec{
		Cluster: r.cluster, Backup: r.backup, Store: r.store, SkipSafetyBackup: r.unsaved, Decryption: secret(r.decryption),
		Target: r.targetOrNil(), Prefix: r.prefix,
	}
	if r.from != "" || r.at != "" {
		s.From = &v1beta1.RestoreFrom{Cluster: r.from, At: r.at}
	}
	if r.keepFor != 0 {
		s.KeepFor = &metav1.Duration{Duration: r.keepFor}
	}
	return s
}
