// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/plugin/screen"
)

func (a *app) keys() *cobra.Command {
	var secret string
	cmd := &cobra.Command{
		Use: "keys CLUSTER", Short: "Show what the keys with the most data begin with",
		Long: "Ask a follower what the keys with the most data begin with, by a sample that costs some hundred small reads. Sizes are about,\n" +
			"of current values alone; history takes more.\n" +
			"A port is forwarded to its Pod, and etcd is asked as who a Secret says: " +
			"CLUSTER-client, or CLUSTER-root with\nauthentication. You need the rights to read that Secret and to forward ports (pods/portforward).",
		Args: ofOne,
		RunE: func(cmd *cobra.Command, names []string) error { return a.showKeys(cmd.Context(), names[0], secret) },
	}
	cmd.Flags().StringVar(&secret, "secret", "", "Secret of an EtcdUser that may read all keys, instead of that of the cluster")
	return cmd
}

func (a *app) showKeys(ctx context.Context, name, secret string) error {
	k, err := a.Connect(&a.connection)
	if err != nil {
		return err
	}
	c, err := clusterOf(ctx, k, name)
	if err != nil {
		return err
	}
	pod := follower(c)
	if pod == "" {
		return fmt.Errorf("no member of EtcdCluster %s is healthy: 'kubectl etcd diagnose %s -n %s' says why", name, name, k.Namespace)
	}
	as, err := identityOf(ctx, k, c, secret)
	if err != nil {
		return err
	}
	member, stop, err := k.Dial(ctx, client.ObjectKey{Namespace: c.Namespace, Name: pod}, as)
	if err != nil {
		return err
	}
	defer stop()
	all, whole, err := member.Prefixes(ctx)
	if err != nil {
		return fmt.Errorf("ask %s: %w", pod, err)
	}
	rows := [][]string{{"KEYS", "SIZE", "PREFIX"}}
	for _, p := range all[:min(len(all), mostShown)] {
		rows = append(rows, []string{fmt.Sprint(p.Keys), v1beta1.SizeOf(p.Bytes).String(), fmt.Sprintf("%q", p.Prefix)})
	}
	a.say("%s", screen.Table(rows))
	if !whole {
		a.note("there are more prefixes than the %d that were looked at: larger ones may be among these", len(all))
	}
	return nil
}

// mostShown are on one screen.
const mostShown = 20

// follower is a healthy member, the leader only if no other is.
func follower(c *v1beta1.EtcdCluster) string {
	healthy := slices.DeleteFunc(slices.Clone(c.Status.Members), func(m v1beta1.MemberStatus) bool {
		return !m.Healthy || m.Role != v1beta1.RoleVoter && m.Role != v1beta1.RoleLeader
	})
	for _, m := range healthy {
		if m.Role == v1beta1.RoleVoter {
			return m.Name
		}
	}
	if len(healthy) > 0 {
		return healthy[0].Name
	}
	return ""
}

// identityOf is the Secret by which etcd is asked; nil without TLS. It is the only one that the plugin reads.
func identityOf(ctx context.Context, k *Kubernetes, c *v1beta1.EtcdCluster, name string) (*corev1.Secret, error) {
	switch {
	case !c.IsSecure():
		return nil, nil
	case name != "":
	case c.HasAuth():
		name = c.RootSecret()
	default:
		name = c.ClientSecret()
	}
	var secret corev1.Secret
	if err := k.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, &secret); err != nil {
		return nil, fmt.Errorf("read Secret %s, by which etcd is asked: %w", name, err)
	}
	return &secret, nil
}
