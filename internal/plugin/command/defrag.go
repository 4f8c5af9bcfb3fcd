// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/plugin/progress"
)

// defragmentation is one that is requested.
type defragmentation struct {
	cluster, request string
	wait             bool
	limit            time.Duration
}

func (a *app) defrag() *cobra.Command {
	var want defragmentation
	cmd := &cobra.Command{
		Use: "defrag CLUSTER", Short: "Have every member defragmented",
		Long: "Ask for every member of a cluster to be defragmented, also where the rules of spec.maintenance would not do it now.\n" +
			"Members restart for it, one at a time, the leader last, and clients notice nothing. It waits for a backup that is being\n" +
			"written. A member whose volume has no room for a copy of its data does not restart, and the reason is said.\n" +
			"With --wait follow it until it is done. Ctrl-C stops waiting, not the defragmentation.\n\n" +
			"Exit code with --wait: 0 defragmented; 2 a member could not be; 3 not finished in time.",
		Args: ofOne,
		RunE: func(cmd *cobra.Command, names []string) error {
			want.cluster = names[0]
			return a.defragment(cmd.Context(), want)
		},
	}
	a.waiting(cmd, &want.wait, &want.limit)
	return cmd
}

func (a *app) defragment(ctx context.Context, want defragmentation) error {
	k, err := a.Connect(&a.connection)
	if err != nil {
		return err
	}
	c, err := clusterOf(ctx, k, want.cluster)
	if err != nil {
		return err
	}
	if c.Spec.Storage.Ephemeral != nil {
		return fmt.Errorf("EtcdCluster %s has storage.ephemeral: the data of a member goes with its Pod, so that none restarts for it", c.Name)
	}
	want.request = a.Now().UTC().Format(time.RFC3339)
	before := c.DeepCopy()
	metav1.SetMetaDataAnnotation(&c.ObjectMeta, v1beta1.AnnotationDefragment, want.request)
	if err := k.Patch(ctx, c, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("annotate EtcdCluster %s: %w", c.Name, err)
	}
	goesOn := fmt.Sprintf("the defragmentation goes on: 'kubectl etcd status %s -n %s' shows it", c.Name, k.Namespace)
	if !want.wait {
		a.say("the defragmentation is asked for; 'kubectl etcd status %s -n %s' shows it", c.Name, k.Namespace)
		return nil
	}
	return a.finish(a.follow(ctx, want.limit, goesOn, func(ctx context.Context) (progressState, error) {
		if err := k.Get(ctx, client.ObjectKeyFromObject(c), c); err != nil {
			return progressState{}, fmt.Errorf("get EtcdCluster %s: %w", c.Name, err)
		}
		return defragmentationOf(c, want), nil
	}))
}

// defragmentationOf is how far the defragmentation is. It is done when every member had one for this request.
func defragmentationOf(c *v1beta1.EtcdCluster, want defragmentation) progressState {
	seen := progressState{Progress: progress.Progress{What: "defragmentation of " + c.Name, Message: "no operator has looked at it yet"}}
	if progressing := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionProgressing); progressing != nil {
		seen.Message = progressing.Message
	}
	var lines, failed []string
	for _, m := range c.Status.Members {
		last := m.LastDefragmentation
		switch {
		case last == nil || last.Request != want.request:
			return seen
		case last.Failure != "":
			failed = append(failed, m.Name+" is not defragmented: "+last.Failure)
		default:
			lines = append(lines, fmt.Sprintf("%s from %s to %s", m.Name, last.Before.String(), last.After.String()))
		}
	}
	if seen.ended = len(lines)+len(failed) > 0; seen.ended {
		seen.result = fmt.Sprintf("%s is defragmented: %s", c.Name, strings.Join(lines, ", "))
	}
	seen.problem = strings.Join(failed, "; ")
	return seen
}
