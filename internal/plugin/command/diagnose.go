// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/plugin/diagnosis"
)

func (a *app) diagnose() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "diagnose [CLUSTER]", Short: "Say what is wrong with a cluster and what to do, the worst first",
		Long: "Rank what the conditions of a cluster, of its backups and of its store say, and the warnings of the last hour: first what\n" +
			"takes the service down, then what puts data at risk, what has lost its redundancy, what will be a problem, and hints; each with\n" +
			"what to do and a command that shows more. What could not be read is named. Without a name, all clusters of the namespace.\n\n" +
			"Exit code 2: something is worse than a hint.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			if output != "" && output != "json" {
				return fmt.Errorf("-o must be json, not %s", output)
			}
			all, err := a.examine(cmd.Context(), names)
			if err != nil {
				return err
			}
			return a.pronounce(all, output == "json", len(names) > 0)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "json: the same findings for scripts; with a CLUSTER one object, without a list")
	return cmd
}

// examine reads one cluster, or all of the namespace.
func (a *app) examine(ctx context.Context, names []string) ([]diagnosis.Diagnosis, error) {
	k, err := a.Connect(&a.connection)
	if err != nil {
		return nil, err
	}
	clusters, err := clustersOf(ctx, k, names)
	if err != nil {
		return nil, err
	}
	all := []diagnosis.Diagnosis{}
	for _, c := range clusters {
		r := reader{Kubernetes: k, facts: diagnosis.Facts{Cluster: c}}
		r.read(ctx)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("nothing is said, because not everything was read: %w", ctx.Err())
		}
		r.facts.Now = a.Now()
		all = append(all, diagnosis.Of(r.facts))
	}
	if len(all) == 0 {
		a.note("there is no EtcdCluster in namespace %s", k.Namespace)
	}
	return all, nil
}

func (a *app) pronounce(all []diagnosis.Diagnosis, asJSON, one bool) error {
	for _, d := range all {
		if !d.Healthy {
			a.exit = Unwell
		}
	}
	if !asJSON {
		for i, d := range all {
			if i > 0 {
				a.say("")
			}
			_, _ = fmt.Fprint(a.Out, diagnosis.Text(d, a.width()))
		}
		return nil
	}
	var said any = all
	if one {
		said = all[0]
	}
	raw, err := json.MarshalIndent(said, "", "  ")
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	a.say("%s", raw)
	return nil
}

// reader reads the facts about a cluster. What cannot be read is a fact, too: not everybody may read events.
type reader struct {
	*Kubernetes
	facts diagnosis.Facts
}

// took notes whether a part was read.
func (r *reader) took(part diagnosis.Part, err error) bool {
	switch {
	case err == nil:
		r.facts.Read = append(r.facts.Read, part)
	case !meta.IsNoMatchError(err): // a kind that Kubernetes does not have has no objects
		r.facts.Unread = append(r.facts.Unread, string(part)+" could not be read: "+err.Error())
	}
	return err == nil
}

func (r *reader) read(ctx context.Context) {
	var backups v1beta1.EtcdBackupList
	var stores v1beta1.EtcdBackupStoreList
	var restores v1beta1.EtcdRestoreList
	var events corev1.EventList
	within := client.InNamespace(r.facts.Cluster.Namespace)
	r.took(diagnosis.Backups, r.List(ctx, &backups, within))
	r.took(diagnosis.Stores, r.List(ctx, &stores, within))
	r.took(diagnosis.Restores, r.List(ctx, &restores, within))
	r.took(diagnosis.Events, r.List(ctx, &events, within))
	f := &r.facts
	f.Backups, f.Stores, f.Restores, f.Events = backups.Items, stores.Items, restores.Items, events.Items
	r.readOperator(ctx)
}

// readOperator reads the Lease of the installation that manages the cluster.
func (r *reader) readOperator(ctx context.Context) {
	f := &r.facts
	namespace, name := f.Operator()
	if namespace == "" {
		f.Unread = append(f.Unread, "the operator: status.operator of the EtcdCluster does not say where it runs")
		return
	}
	var lease coordinationv1.Lease
	err := r.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &lease)
	if r.took(diagnosis.Lease, client.IgnoreNotFound(err)) && err == nil {
		f.Lease = &lease
	}
}
