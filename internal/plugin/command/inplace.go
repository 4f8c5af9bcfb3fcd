// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/plugin/progress"
	"github.com/etcd-operator/etcd-operator/internal/plugin/restoring"
)

func (a *app) restoreInPlace(ctx context.Context, k *Kubernetes, want restored) error {
	if _, err := clusterOf(ctx, k, want.cluster); err != nil {
		return err
	}
	r, err := a.previewed(ctx, k, want)
	if err != nil || r == nil {
		return err
	}
	if r.Status.Phase == v1beta1.RestoreComplete { // all keys are as they are to be
		a.say("%s", restoring.Result(r))
		return nil
	}
	expected := r.Status.Preview.Confirm
	if want.preview {
		_, _ = fmt.Fprint(a.Out, restoring.Words(r, a.Now()))
		a.say("To go on:\n  %s", restoring.Command(r))
		return nil
	}
	confirmed := want.confirm
	if confirmed == "" {
		if confirmed, err = a.ask(ctx, r); err != nil {
			return err
		}
	}
	if confirmed != expected {
		return fmt.Errorf("nothing was restored: the preview is to be confirmed by '%s' now, not by '%s'; --preview says what would be lost",
			expected, confirmed)
	}
	if err := a.change(ctx, k, r, func(s *v1beta1.EtcdRestoreSpec) { s.Confirm = confirmed }); err != nil {
		return err
	}
	return a.await(ctx, k, r.Name, want)
}

// previewed is an EtcdRestore with its preview: an existing one with the same request, or a new one. nil if it was not waited for.
func (a *app) previewed(ctx context.Context, k *Kubernetes, want restored) (*v1beta1.EtcdRestore, error) {
	all, err := restoresOf(ctx, k)
	if err != nil {
		return nil, err
	}
	r := restoring.Waiting(all, want.spec())
	name := ""
	if r != nil {
		name = r.Name
	} else {
		object := restoring.New(k.Namespace, want.spec())
		if err := k.Create(ctx, object); err != nil {
			return nil, fmt.Errorf("create an EtcdRestore: %w", err)
		}
		name = object.Name
	}
	goesOn := fmt.Sprintf("EtcdRestore %s does nothing before it is confirmed", name)
	seen, err := a.follow(ctx, want.deadline, goesOn, func(ctx context.Context) (progressState, error) {
		if r, err = restoreOf(ctx, k, name); err != nil {
			return progressState{}, err
		}
		is, problem := restoring.IsPreviewed(r)
		return progressState{Progress: restoring.Progress(r), ended: is || problem != "", problem: problem}, nil
	})
	switch {
	case err != nil || !seen.ended:
		return nil, err
	case seen.problem != "":
		return nil, a.finish(seen, nil)
	}
	return r, nil
}

// ask has a person confirm a preview. Ctrl-C ends it.
func (a *app) ask(ctx context.Context, r *v1beta1.EtcdRestore) (string, error) {
	if !a.CanAsk {
		return "", errors.New("nothing was restored: look at the preview with --preview, then give --confirm")
	}
	_, _ = fmt.Fprint(a.Out, restoring.Words(r, a.Now()))
	_, _ = fmt.Fprintf(a.Out, "Type %s to go on, or anything else to leave everything as it is: ", r.Status.Preview.Confirm)
	typed := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(a.In).ReadString('\n') // what was typed before an error confirms nothing
		typed <- strings.TrimSpace(line)
	}()
	select {
	case line := <-typed:
		return line, nil
	case <-ctx.Done():
		return "", errors.New("nothing was restored")
	}
}

// change patches an EtcdRestore.
func (a *app) change(ctx context.Context, k *Kubernetes, r *v1beta1.EtcdRestore, to func(*v1beta1.EtcdRestoreSpec)) error {
	before := r.DeepCopy()
	to(&r.Spec)
	if err := k.Patch(ctx, r, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("patch EtcdRestore %s: %w", r.Name, err)
	}
	return nil
}

// await follows a restore that was confirmed, or its undo.
func (a *app) await(ctx context.Context, k *Kubernetes, name string, want restored) error {
	goesOn := fmt.Sprintf("the restore goes on: 'kubectl etcd status %s -n %s' shows it", want.cluster, k.Namespace)
	if !want.wait {
		a.say("%s", goesOn)
		return nil
	}
	return a.finish(a.follow(ctx, want.deadline, goesOn, func(ctx context.Context) (progressState, error) {
		r, err := restoreOf(ctx, k, name)
		if err != nil {
			return progressState{}, err
		}
		seen := progressState{Progress: restoring.Progress(r)}
		seen.ended, seen.problem = restoring.Ended(r)
		seen.result = restoring.Result(r)
		return seen, nil
	}))
}

func (a *app) undo() *cobra.Command {
	want := restored{wait: true}
	keep := false
	cmd := &cobra.Command{
		Use: "undo CLUSTER", Short: "Bring back the data that a restore in place has set aside",
		Long: "Undo the last restore in place: what is on the volumes that it has set aside is backed up, and restored to new ones above\n" +
			"all revisions, while the cluster serves on, so that clients that watch list again. It takes about as long as a backup and a\n" +
			"restore. With --keep-revisions the old members come back at once, and revisions go back: restart every client that\n" +
			"watches or caches.\n" +
			"It is possible until those volumes expire: status.undoUntil of the EtcdRestore.\n" +
			"After a restore with --prefix, keys that are still as it has made them become as the safety backup has them.\n\n" +
			"Exit code: 0 the earlier data is served; 1 there is nothing to undo; 2 it failed; 3 not finished in time.",
		Args: ofOne,
		RunE: func(cmd *cobra.Command, names []string) error {
			k, err := a.Connect(&a.connection)
			if err != nil {
				return err
			}
			want.cluster = names[0]
			all, err := restoresOf(cmd.Context(), k)
			if err != nil {
				return err
			}
			r, problem := restoring.Undoable(all, want.cluster, a.Now())
			if problem != "" {
				return errors.New(problem)
			}
			if err := a.change(cmd.Context(), k, r, func(s *v1beta1.EtcdRestoreSpec) {
				s.Undo, s.UndoKeepRevisions = true, s.UndoKeepRevisions || keep
			}); err != nil {
				return err
			}
			a.note("%s", progress.Line(progress.Progress{What: "undo of restore " + r.Name, Message: "it is asked for"}))
			return a.await(cmd.Context(), k, r.Name, want)
		},
	}
	a.waiting(cmd, &want.wait, &want.deadline)
	cmd.Flags().BoolVar(&keep, "keep-revisions", false, "bring the old members back at once; only where no client watches or caches")
	return cmd
}

func restoreOf(ctx context.Context, k *Kubernetes, name string) (*v1beta1.EtcdRestore, error) {
	var r v1beta1.EtcdRestore
	if err := k.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: name}, &r); err != nil {
		return nil, fmt.Errorf("get EtcdRestore %s: %w", name, err)
	}
	return &r, nil
}

func restoresOf(ctx context.Context, k *Kubernetes) ([]v1beta1.EtcdRestore, error) {
	var list v1beta1.EtcdRestoreList
	err := k.List(ctx, &list, client.InNamespace(k.Namespace))
	if meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("the API server knows no EtcdRestore: the operator that is installed does not restore in place; "+
			"update it, or restore into a new cluster with --to (%w)", err)
	}
	if err != nil {
		return nil, fmt.Errorf("list EtcdRestores: %w", err)
	}
	return list.Items, nil
}
