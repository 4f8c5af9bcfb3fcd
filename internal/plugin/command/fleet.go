// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/plugin/screen"
)

// answersWithin is how long an API server of many may take: the others are not to wait for one that is gone.
const answersWithin = 10 * time.Second

func (a *app) fleet() *cobra.Command {
	var output string
	var contexts []string
	cmd := &cobra.Command{
		Use: "fleet", Short: "Show the clusters of many Kubernetes clusters, a line each",
		Long: "Show all clusters that the API servers of your kubeconfig have, in all namespaces or in that of -n: those that are not well\n" +
			"come first. All API servers are asked at once; one that does not answer within ten seconds is named, and the others are shown.\n\n" +
			"Exit code: 0 all are Available and none is Degraded; 2 one is not; 1 an API server could not be asked.",
		Example: "  kubectl etcd fleet\n  kubectl etcd fleet --contexts east,west -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "" && output != "json" {
				return fmt.Errorf("-o must be json, not %s", output)
			}
			known, err := a.connection.contexts()
			if err != nil {
				return err
			}
			if len(contexts) == 0 {
				contexts = known
			}
			for _, name := range contexts {
				if !slices.Contains(known, name) {
					return fmt.Errorf("the kubeconfig has no context %s: it has %s", name, strings.Join(known, ", "))
				}
			}
			return a.showFleet(cmd.Context(), contexts, output == "json")
		},
	}
	cmd.Flags().StringSliceVar(&contexts, "contexts", nil, "contexts of the kubeconfig, such as east,west; default: all")
	cmd.Flags().StringVarP(&output, "output", "o", "", "json: the same facts for scripts")
	return cmd
}

// answer is what one API server has said.
type answer struct {
	context  string
	clusters []screen.Summary
	err      error
}

// showFleet asks all API servers at once, and shows what they say.
func (a *app) showFleet(ctx context.Context, contexts []string, asJSON bool) error {
	asked := make([]answer, len(contexts))
	var wait sync.WaitGroup
	for i, name := range contexts {
		wait.Go(func() {
			limited, cancel := context.WithTimeout(ctx, answersWithin)
			defer cancel()
			clusters, err := a.summaries(limited, name)
			asked[i] = answer{name, clusters, err}
		})
	}
	wait.Wait()
	all := []screen.Summary{}
	for _, each := range asked {
		all = append(all, each.clusters...)
	}
	slices.SortFunc(all, func(a, b screen.Summary) int {
		return cmp.Or(wellLast(a.Healthy, b.Healthy), cmp.Compare(a.Context, b.Context), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Name, b.Name))
	})
	if asJSON {
		raw, err := json.MarshalIndent(all, "", "  ")
		if err != nil {
			return fmt.Errorf("write JSON: %w", err)
		}
		a.say("%s", raw)
	} else if len(all) > 0 {
		_, _ = fmt.Fprint(a.Out, screen.Fleet(all, a.Now()))
	}
	a.exit = Done
	for _, each := range asked {
		switch {
		case each.err != nil:
			a.exit = Failed
			a.note("context %s could not be asked: %v", each.context, each.err)
		case len(each.clusters) == 0:
			a.note("context %s has no EtcdCluster", each.context)
		}
	}
	if slices.ContainsFunc(all, func(s screen.Summary) bool { return !s.Healthy }) {
		a.exit = Unwell
	}
	return nil
}

func wellLast(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// summaries are the clusters of one context, in all namespaces unless one is named by -n.
func (a *app) summaries(ctx context.Context, name string) ([]screen.Summary, error) {
	connection := a.connection
	connection.overrides.CurrentContext = name
	k, err := a.Connect(&connection)
	if err != nil {
		return nil, err
	}
	var list v1beta1.EtcdClusterList
	if err := k.List(ctx, &list, client.InNamespace(connection.overrides.Context.Namespace)); err != nil {
		return nil, fmt.Errorf("list EtcdClusters: %w", err)
	}
	var all []screen.Summary
	for i := range list.Items {
		all = append(all, screen.SummaryOf(name, &list.Items[i]))
	}
	return all, nil
}
