// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/plugin/progress"
)

// switched is a switch that is asked for.
type switched struct {
	cluster, request string
	cancel, wait     bool
	limit            time.Duration
}

func (a *app) switchOver() *cobra.Command {
	var want switched
	cmd := &cobra.Command{
		Use: "switch CLUSTER", Short: "Send the clients of a running cluster that is copied to its copy",
		Long: "Ask for the switch of an EtcdCluster with spec.bootstrap.copy. Writes to the source are stopped, what is left is copied, all\n" +
			"keys and values are compared, and only where they are the same the Services of the source are routed to this cluster. Otherwise\n" +
			"writes to the source go on. With --cancel the switch is not made, if it is not decided yet.\n" +
			"With --wait follow it until it is made or given up. Ctrl-C stops waiting, not the switch.\n\n" +
			"Exit code with --wait: 0 switched; 2 given up, and writes to the source go on; 3 not finished in time.",
		Args: ofOne,
		RunE: func(cmd *cobra.Command, names []string) error {
			want.cluster = names[0]
			return a.switchClients(cmd.Context(), want)
		},
	}
	cmd.Flags().BoolVar(&want.cancel, "cancel", false, "give up a switch that was asked for")
	a.waiting(cmd, &want.wait, &want.limit)
	return cmd
}

func (a *app) switchClients(ctx context.Context, want switched) error {
	k, err := a.Connect(&a.connection)
	if err != nil {
		return err
	}
	c, err := clusterOf(ctx, k, want.cluster)
	if err != nil {
		return err
	}
	switch {
	case !c.WantsCopy():
		return fmt.Errorf("EtcdCluster %s copies no running cluster: it has no spec.bootstrap.copy", c.Name)
	case c.HasSwitched():
		a.say("clients of the source are sent to %s already", c.Name)
		return nil
	}
	before := c.DeepCopy()
	want.request = a.Now().UTC().Format(time.RFC3339Nano)
	if metav1.SetMetaDataAnnotation(&c.ObjectMeta, v1beta1.AnnotationSwitch, want.request); want.cancel {
		delete(c.Annotations, v1beta1.AnnotationSwitch)
	}
	if err := k.Patch(ctx, c, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("ask for the switch of %s: %w", c.Name, err)
	}
	shows := fmt.Sprintf("'kubectl describe etcdclusters.etcd-operator.dev %s -n %s' shows it by the condition %s", c.Name, k.Namespace,
		v1beta1.ConditionCopied)
	if want.cancel {
		a.say("the switch is not asked for any more; %s", shows)
		return nil
	}
	if !want.wait {
		a.say("the switch is asked for; %s", shows)
		return nil
	}
	return a.finish(a.follow(ctx, want.limit, "the switch goes on: "+shows, func(ctx context.Context) (progressState, error) {
		if err := k.Get(ctx, client.ObjectKeyFromObject(c), c); err != nil {
			return progressState{}, fmt.Errorf("get EtcdCluster %s: %w", c.Name, err)
		}
		return switchOf(c, want.request), nil
	}))
}

// switchOf is how far the switch is.
func switchOf(c *v1beta1.EtcdCluster, request string) progressState {
	seen := progressState{Progress: progress.Progress{What: "switch to " + c.Name, Message: "no operator has looked at it yet"}}
	if copied := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionCopied); copied != nil {
		seen.Message = copied.Message
	}
	status := c.Status.Copy
	if status == nil {
		return seen
	}
	switch {
	case status.CompletedAt != nil:
		seen.ended, seen.result = true, seen.Message
	case status.Request == request && status.ReleasedAt != nil:
		seen.ended, seen.problem = true, "the switch was given up, and writes to the source go on: "+status.Failure
	}
	return seen
}
