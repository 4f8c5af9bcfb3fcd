// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/plugin/screen"
)

// readable is how long lines of sentences are where no terminal says it.
const readable = 120

func (a *app) status() *cobra.Command {
	var output string
	var watch bool
	cmd := &cobra.Command{
		Use: "status [CLUSTER]", Short: "Show a cluster: conditions, members, volumes, backups, and what is next",
		Long: "Show a cluster on one screen: its conditions with their reasons, members, volumes, backups, and what is next.\n" +
			"Without a name, all clusters of the namespace; a single one is shown in full.\n" +
			"With --watch it is shown again whenever something changes: in place on a terminal, else one after the other. Ctrl-C ends that.\n\n" +
			"Exit code 2: a cluster that is shown is not Available, or is Degraded; with --watch, one that was shown last.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			if output != "" && output != "json" {
				return fmt.Errorf("-o must be json, not %s", output)
			}
			k, err := a.Connect(&a.connection)
			if err != nil {
				return err
			}
			if watch {
				return a.watch(cmd.Context(), k, names, output == "json")
			}
			all, err := look(cmd.Context(), k, names)
			if err != nil {
				return err
			}
			return a.show(k, all, output == "json", len(names) > 0)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "json: the same facts for scripts; with a CLUSTER one object, without a list")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "show it again whenever something changes, until Ctrl-C")
	return cmd
}

// look reads the facts about one cluster, or about all of the namespace.
func look(ctx context.Context, k *Kubernetes, names []string) ([]screen.Status, error) {
	clusters, err := clustersOf(ctx, k, names)
	if err != nil {
		return nil, err
	}
	all := []screen.Status{}
	for _, c := range clusters {
		all = append(all, screen.Of(around(ctx, k, c)))
	}
	return all, nil
}

func clustersOf(ctx context.Context, k *Kubernetes, names []string) ([]v1beta1.EtcdCluster, error) {
	var list v1beta1.EtcdClusterList
	for _, name := range names {
		c, err := clusterOf(ctx, k, name)
		if err != nil {
			return nil, err
		}
		list.Items = append(list.Items, *c)
	}
	if len(names) > 0 {
		return list.Items, nil
	}
	if err := k.List(ctx, &list, client.InNamespace(k.Namespace)); err != nil {
		return nil, fmt.Errorf("list EtcdClusters: %w", err)
	}
	return list.Items, nil
}

func clusterOf(ctx context.Context, k *Kubernetes, name string) (*v1beta1.EtcdCluster, error) {
	var c v1beta1.EtcdCluster
	if err := k.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: name}, &c); err != nil {
		return nil, fmt.Errorf("get EtcdCluster %s in namespace %s: %w", name, k.Namespace, err)
	}
	return &c, nil
}

// around reads what belongs to a cluster. What cannot be read is a fact, too: not everybody may read volumes.
func around(ctx context.Context, k *Kubernetes, c v1beta1.EtcdCluster) screen.Objects {
	o := screen.Objects{Cluster: c}
	within, of := client.InNamespace(c.Namespace), client.MatchingLabels{v1beta1.LabelCluster: c.Name}
	var pods corev1.PodList
	if err := k.List(ctx, &pods, within, of); err != nil {
		o.Unread = append(o.Unread, "Pods could not be read: "+err.Error())
	}
	var volumes corev1.PersistentVolumeClaimList
	if err := k.List(ctx, &volumes, within, of); err != nil {
		o.Unread = append(o.Unread, "volumes could not be read: "+err.Error())
	}
	backups, err := backupsOf(ctx, k, c.Name)
	if err != nil {
		o.Unread = append(o.Unread, "backups could not be read: "+err.Error())
	}
	restores, err := restoresOf(ctx, k)
	if err != nil && !meta.IsNoMatchError(err) {
		o.Unread = append(o.Unread, "restores could not be read: "+err.Error())
	}
	o.Pods, o.Volumes, o.Backups, o.Restores = pods.Items, volumes.Items, backups, restores
	return o
}

// width is how long lines of sentences are.
func (a *app) width() int { return cmp.Or(a.Width, readable) }

// show writes what was looked at. It may be called again: the last time decides how the command ends.
func (a *app) show(k *Kubernetes, all []screen.Status, asJSON, one bool) error {
	a.exit = Done
	for _, s := range all {
		if !s.Healthy {
			a.exit = Unwell
		}
	}
	switch {
	case asJSON:
		var facts any = all
		if one {
			facts = all[0]
		}
		raw, err := json.MarshalIndent(facts, "", "  ")
		if err != nil {
			return fmt.Errorf("write JSON: %w", err)
		}
		a.say("%s", raw)
	default:
		_, _ = fmt.Fprint(a.Out, a.text(all))
	}
	if len(all) == 0 {
		a.note("there is no EtcdCluster in namespace %s", k.Namespace)
	}
	return nil
}

// text is what people read: one cluster in full, several in a line each.
func (a *app) text(all []screen.Status) string {
	switch len(all) {
	case 0:
		return ""
	case 1:
		return screen.Text(all[0], a.Now(), a.width())
	}
	return screen.Overview(all)
}
