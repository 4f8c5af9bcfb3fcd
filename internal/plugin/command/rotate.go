// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/plugin/progress"
)

// authorities are those that can be named.
var authorities = []string{"client", "peer"}

// rotated is a rotation that is requested.
type rotated struct {
	cluster, authority, request string
	wait                        bool
	limit                       time.Duration
}

func (a *app) rotate() *cobra.Command {
	var want rotated
	cmd := &cobra.Command{
		Use: "rotate CLUSTER", Short: "Have other certificate authorities made",
		Long: "Ask for other certificate authorities of a cluster: both, or one of them with --authority. The next one is trusted first,\n" +
			"then it signs, then the one before is dropped; every member restarts twice, one at a time, and clients that read their\n" +
			"certificates again notice nothing.\n" +
			"Where an authority has ended already all members restart at once.\n" +
			"With --wait follow it until it is done. Ctrl-C stops waiting, not the rotation.\n\n" +
			"Exit code with --wait: 0 rotated; 3 not finished in time.",
		Args: ofOne,
		RunE: func(cmd *cobra.Command, names []string) error {
			want.cluster = names[0]
			return a.rotateAuthorities(cmd.Context(), want)
		},
	}
	cmd.Flags().StringVar(&want.authority, "authority", "", "which one: client or peer; default: both")
	a.waiting(cmd, &want.wait, &want.limit)
	return cmd
}

func (a *app) rotateAuthorities(ctx context.Context, want rotated) error {
	if want.authority != "" && !slices.Contains(authorities, want.authority) {
		return fmt.Errorf("--authority is %q, and may be %s", want.authority, strings.Join(authorities, " or "))
	}
	k, err := a.Connect(&a.connection)
	if err != nil {
		return err
	}
	c, err := clusterOf(ctx, k, want.cluster)
	if err != nil {
		return err
	}
	if !c.IsSecure() {
		return fmt.Errorf("EtcdCluster %s has no authority: spec.tls.mode is Disabled", c.Name)
	}
	degraded := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionDegraded)
	if hasEnded := degraded != nil && degraded.Reason == v1beta1.ReasonAuthorityEnds; c.CertificateSecrets() != nil && !hasEnded {
		return fmt.Errorf("certificates of EtcdCluster %s come from others, as spec.tls says: have them issued by another authority there, "+
			"and put that into ca.crt", c.Name)
	}
	want.request = a.Now().UTC().Format(time.RFC3339)
	if want.authority != "" {
		want.request = want.authority + ":" + want.request
	}
	before := c.DeepCopy()
	metav1.SetMetaDataAnnotation(&c.ObjectMeta, v1beta1.AnnotationRotate, want.request)
	if err := k.Patch(ctx, c, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("annotate EtcdCluster %s: %w", c.Name, err)
	}
	goesOn := fmt.Sprintf("the rotation goes on: 'kubectl etcd status %s -n %s' shows it", c.Name, k.Namespace)
	if !want.wait {
		a.say("the rotation is asked for; 'kubectl etcd status %s -n %s' shows it", c.Name, k.Namespace)
		return nil
	}
	return a.finish(a.follow(ctx, want.limit, goesOn, func(ctx context.Context) (progressState, error) {
		if err := k.Get(ctx, client.ObjectKeyFromObject(c), c); err != nil {
			return progressState{}, fmt.Errorf("get EtcdCluster %s: %w", c.Name, err)
		}
		return rotationOf(c, want), nil
	}))
}

// rotationOf is how far the rotation is. It is done when what was asked for was acted on, nothing is trusted any more but
// the new authority, and all members run with that.
func rotationOf(c *v1beta1.EtcdCluster, want rotated) progressState {
	seen := progressState{Progress: progress.Progress{What: "rotation of " + c.Name, Message: "no operator has looked at it yet"}}
	progressing := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionProgressing)
	if progressing != nil {
		seen.Message = progressing.Message
	}
	done := 0
	for _, authority := range c.Status.Authorities {
		if want.authority != "" && authority.Name != want.authority {
			continue
		}
		if authority.Request != want.request || authority.Phase != v1beta1.RotationStable {
			return seen
		}
		done++
	}
	resting := progressing != nil && v1beta1.CurrentReason(progressing.Reason) == v1beta1.ReasonUpToDate
	if seen.ended = done > 0 && resting; seen.ended {
		seen.result = fmt.Sprintf("the authorities of %s are rotated", c.Name)
		if want.authority != "" {
			seen.result = fmt.Sprintf("the authority of %s for %ss is rotated", c.Name, want.authority)
		}
	}
	return seen
}
