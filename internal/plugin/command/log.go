// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/plugin/restoring"
	"github.com/etcd-operator/etcd-operator/internal/plugin/searching"
	"github.com/etcd-operator/etcd-operator/internal/restore"
)

// changesByDefault is how many changes are shown where nothing else is asked for.
const changesByDefault = 1000

// logged is what is asked of the log of a cluster.
type logged struct {
	cluster, store, lineage, image, decryption, backup, output string
	keys                                                       searching.Keys
	target                                                     v1beta1.RestoreTarget
	limit                                                      time.Duration
}

func (a *app) log() *cobra.Command {
	var want logged
	cmd := &cobra.Command{
		Use:   "log CLUSTER (--key KEY | --prefix PREFIX)",
		Short: "Search the continuous log: what changed when, and a prefix as it was",
		Long: "Search the continuous log of a cluster in its backup store: when keys were put and deleted, the oldest change first.\n" +
			"With --state print the keys below a prefix as they were at a moment, as JSON such as etcdctl get -w json writes it.\n\n" +
			"The store can be reached from within the Kubernetes cluster alone: a Job looks there, whose log has what was found, and is\n" +
			"deleted at the end. Users who may read the logs of Pods in the namespace can read it until then.\n\n" +
			"Exit code: 0 it was searched, also where nothing was found; 1 it could not be; 3 not finished in time.",
		Example: "  kubectl etcd log example --key /registry/namespaces/shop --deletes --newest --limit 1\n" +
			"  kubectl etcd log example --prefix /registry/secrets/shop/ --since 2h\n" +
			"  kubectl etcd log example --prefix /registry/configmaps/ --since 2026-11-24T10:00:00Z --until 2026-11-24T10:05:00Z -o json\n" +
			"  kubectl etcd log example --prefix /app/ --state --before-delete /app/settings > app.json",
		Args: ofOne,
		RunE: func(cmd *cobra.Command, names []string) error {
			want.cluster = names[0]
			want.keys.HasKey, want.keys.HasPrefix = cmd.Flags().Changed("key"), cmd.Flags().Changed("prefix")
			if err := want.check(); err != nil {
				return err
			}
			k, err := a.Connect(&a.connection)
			if err != nil {
				return err
			}
			return a.readLog(cmd.Context(), k, want)
		},
	}
	want.flags(cmd)
	return cmd
}

func (l *logged) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&l.keys.Key, "key", "", "the key")
	f.StringVar(&l.keys.Prefix, "prefix", "", "what keys begin with; empty: all keys")
	f.StringVar(&l.keys.Since, "since", "", "the first change: a time such as 2026-11-24T10:00:00Z, how long ago such as 2h30m, or a revision")
	f.StringVar(&l.keys.Until, "until", "", "the last change: as --since")
	f.BoolVar(&l.keys.Deletes, "deletes", false, "deletions alone")
	f.BoolVar(&l.keys.Newest, "newest", false, "the newest change first")
	f.IntVar(&l.keys.Limit, "limit", changesByDefault, "how many changes at most; 0: as many as the log of a Pod has room for")
	f.BoolVar(&l.keys.IsState, "state", false, "print the keys below --prefix as they were")
	f.StringVar(&l.target.Time, "to-time", "", "with --state: with what came until then, such as 2026-11-24T10:00:00Z")
	f.Int64Var(&l.target.Revision, "to-revision", 0, "with --state: up to this revision of etcd")
	f.BoolVar(&l.target.Exclusive, "exclusive", false, "with --to-time or --to-revision: leave out what came at just that time or revision")
	f.StringVar(&l.target.BeforeDelete, "before-delete", "", "with --state: just before the newest deletion of this key")
	f.StringVar(&l.backup, "backup", "", "with --state: name of the EtcdBackup that it begins with; default: the newest that is older")
	f.StringVarP(&l.output, "output", "o", "", "table or json: one change a line, with whole values; default: table, with --state json")
	f.StringVar(&l.decryption, "decryption", "", "name of the Secret with the age identities, for an encrypted log")
	f.StringVar(&l.store, "store", "", "name of the EtcdBackupStore; default: spec.backup.store of the cluster")
	f.StringVar(&l.lineage, "lineage", "", "name of an earlier history, from before a restore or a recovery; default: the present one")
	f.StringVar(&l.image, "image", "", "image of the operator, for the Job; default: that of the Job that keeps the log")
	f.DurationVar(&l.limit, "timeout", patience, "how long to wait at most; 0: for ever")
}

// check says what is wrong with a command line.
func (l *logged) check() error {
	hasTarget := l.target != v1beta1.RestoreTarget{}
	l.keys.HasChoices = hasTarget || l.backup != ""
	target := cmp.Or(l.keys.Problem(), restoring.TargetProblem(l.target))
	switch {
	case target != "":
		return errors.New(target)
	case l.keys.IsState && !hasTarget:
		return errors.New("as they were when? --state goes with --to-time, --to-revision or --before-delete")
	case l.keys.IsState && l.lineage != "":
		return errors.New("--lineage is for changes: --state finds the history by the full backup, which --backup names")
	case l.output != "" && l.output != "table" && l.output != "json":
		return fmt.Errorf("--output is %q, and may be table or json", l.output)
	case l.output == "table" && l.keys.IsState:
		return errors.New("--state is JSON: leave out -o table")
	}
	return nil
}

func (l *logged) asTable() bool { return l.output != "json" && !l.keys.IsState }

func (a *app) readLog(ctx context.Context, k *Kubernetes, want logged) error {
	c, err := clusterOf(ctx, k, want.cluster)
	if err != nil {
		return err
	}
	store, err := storeOfLog(ctx, k, c, want.store)
	if err != nil {
		return err
	}
	image, err := imageOfLog(ctx, k, c, want.image)
	if err != nil {
		return err
	}
	if want.keys.IsState {
		return a.stateOf(ctx, k, want, c, store, image)
	}
	return a.searchLog(ctx, k, want, c, store, image)
}

func (a *app) searchLog(
	ctx context.Context, k *Kubernetes, want logged, c *v1beta1.EtcdCluster, store *v1beta1.EtcdBackupStore, image jobs.Image,
) error {
	lineage, err := lineageOf(c, want.lineage)
	if err != nil {
		return err
	}
	order, problem := want.keys.Search(c, lineage, a.Now(), want.asTable())
	if problem != "" {
		return errors.New(problem)
	}
	order.Identities = want.decryption != ""
	job := jobs.Search(c, store, jobspec.Order{
		Verb: jobspec.Search, Operator: a.Version, Store: store.Spec, Search: &order,
	}, secret(want.decryption), want.limit, image)
	last := int64(0)
	done, err := a.carryOut(ctx, k, job, want.limit, func(r jobspec.Record) error {
		last = r.Revision
		return a.showChange(r, want.asTable())
	})
	if err != nil || done == nil {
		return err
	}
	for _, note := range searching.Notes(want.keys, c, lineage, *done.Recorded, last) {
		a.note("%s", note)
	}
	return nil
}

func (a *app) showChange(r jobspec.Record, asTable bool) error {
	if !asTable {
		text, err := searching.JSON(r)
		if err == nil {
			_, err = a.file.Write(text)
		}
		return err
	}
	text := searching.Row(r) + "\n"
	if r.Number == 1 {
		text = searching.Head() + "\n" + text
	}
	_, err := fmt.Fprint(a.Out, text)
	return err
}

func (a *app) stateOf(
	ctx context.Context, k *Kubernetes, want logged, c *v1beta1.EtcdCluster, store *v1beta1.EtcdBackupStore, image jobs.Image,
) error {
	all, err := backupsOf(ctx, k, "")
	if err != nil {
		return fmt.Errorf("list EtcdBackups: %w", err)
	}
	target, problem := restore.Locating(c, store, all, v1beta1.Restore{
		Backup: want.backup, Target: &want.target, Decryption: secret(want.decryption),
	})
	if problem != "" {
		return errors.New(problem)
	}
	order := want.keys.State(target)
	job := jobs.StateOf(c, store, jobspec.Order{
		Verb: jobspec.State, Operator: a.Version, Store: store.Spec, State: &order,
	}, secret(want.decryption), want.limit, scratchFor(all, target), image)
	done, err := a.carryOut(ctx, k, job, want.limit, func(r jobspec.Record) error {
		text, err := searching.StateKey(r)
		if err == nil {
			_, err = a.file.Write(text)
		}
		return err
	})
	if err != nil || done == nil {
		return err
	}
	if _, err := a.file.Write(searching.StateEnd(*done)); err != nil {
		return err
	}
	for _, note := range searching.StateNotes(*done) {
		a.note("%s", note)
	}
	return nil
}

// scratchFor has room for the database of any of the full backups that may be taken.
func scratchFor(all []v1beta1.EtcdBackup, target jobspec.LocateOrder) resource.Quantity {
	largest := *resource.NewQuantity(64<<20, resource.BinarySI)
	for _, b := range all {
		for _, may := range target.Backups {
			if size := b.Status.DatabaseSize; b.Status.Path == may.Path && size != nil && size.Cmp(largest) > 0 {
				largest = size.DeepCopy()
			}
		}
	}
	return largest
}
