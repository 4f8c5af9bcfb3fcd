// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// dryRun creates the Pod that is to replace a running one in a dry run: the API server
// may refuse a toleration, a priority class, or what a LimitRange does not allow. Nothing
// is written (https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run).
// The Pod of the dry run always has the same name: the refusal quotes it, and must have the
// same words each time, or the status would be written again at each look.
// A quota that is used up says nothing, because the Pod that runs counts as well; nor does
// an error of another kind, such as that of a webhook which supports no dry run.
func (a *Actor) dryRun(ctx context.Context, c *v1beta1.EtcdCluster, v cluster.View, name string) error {
	pod := a.pod(c, v, name)
	pod.Name = name + "-dry-run"
	err := a.Client.Create(ctx, pod, client.DryRunAll, client.FieldOwner(v1beta1.FieldOwner))
	forbidden := apierrors.IsForbidden(err) && !strings.Contains(err.Error(), "exceeded quota")
	if !forbidden && !apierrors.IsInvalid(err) {
		return nil
	}
	return fmt.Errorf("%s goes on as it is, because Kubernetes refuses the pod that would replace it; correct the spec: %w", name, err)
}
