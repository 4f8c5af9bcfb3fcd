// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/plugin/progress"
)

// revoked is a certificate that is to be refused.
type revoked struct {
	cluster, serial, user, reason string
	wait                          bool
	limit                         time.Duration
}

func (a *app) revoke() *cobra.Command {
	var want revoked
	cmd := &cobra.Command{
		Use: "revoke CLUSTER (--serial HEX | --user ETCDUSER)", Short: "Have members refuse a certificate that has leaked",
		Long: "Have members refuse one certificate of a client, by its serial number as `openssl x509 -noout -serial` prints it, or the one\n" +
			"that an EtcdUser has now. Members refuse new connections within a minute and a half; then they restart, one at a time, to end\n" +
			"those that are open. Clients with other certificates notice nothing. A certificate that the operator keeps in a Secret is issued\n" +
			"again at once.\n" +
			"With --wait follow it until no connection is left. Ctrl-C stops waiting, not the revocation.\n\n" +
			"Exit code with --wait: 0 revoked; 3 not finished in time.",
		Args: ofOne,
		RunE: func(cmd *cobra.Command, names []string) error {
			want.cluster = names[0]
			return a.revokeCertificate(cmd.Context(), want)
		},
	}
	cmd.Flags().StringVar(&want.serial, "serial", "", "serial number of the certificate, in hexadecimal")
	cmd.Flags().StringVar(&want.user, "user", "", "name of the EtcdUser whose certificate it is")
	cmd.Flags().StringVar(&want.reason, "reason", "", "why, for people who read the spec")
	a.waiting(cmd, &want.wait, &want.limit)
	return cmd
}

func (a *app) revokeCertificate(ctx context.Context, want revoked) error {
	if (want.serial == "") == (want.user == "") {
		return fmt.Errorf("one of --serial and --user is to be given")
	}
	k, err := a.Connect(&a.connection)
	if err != nil {
		return err
	}
	if want, err = named(ctx, k, want); err != nil {
		return err
	}
	c, err := addRevocation(ctx, k, want)
	if err != nil {
		return err
	}
	shows := fmt.Sprintf("'kubectl etcd status %s -n %s' shows it", c.Name, k.Namespace)
	if !want.wait {
		a.say("certificate %s is being revoked; %s", want.serial, shows)
		return nil
	}
	return a.finish(a.follow(ctx, want.limit, "the revocation goes on: "+shows, func(ctx context.Context) (progressState, error) {
		if err := k.Get(ctx, client.ObjectKeyFromObject(c), c); err != nil {
			return progressState{}, fmt.Errorf("get EtcdCluster %s: %w", c.Name, err)
		}
		return revocationOf(c, want.serial), nil
	}))
}

// named has the serial number of what is to be revoked as a spec has it.
func named(ctx context.Context, k *Kubernetes, want revoked) (revoked, error) {
	if want.user == "" {
		text := want.serial
		want.serial = canonical(text)
		if !isSerial.MatchString(want.serial) {
			return want, fmt.Errorf("--serial is %q, and must be the number of a certificate in hexadecimal, of at most 40 digits", text)
		}
		return want, nil
	}
	var u v1beta1.EtcdUser
	if err := k.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: want.user}, &u); err != nil {
		return want, fmt.Errorf("get EtcdUser %s in namespace %s: %w", want.user, k.Namespace, err)
	}
	switch {
	case u.Spec.Cluster != want.cluster:
		return want, fmt.Errorf("EtcdUser %s is of EtcdCluster %s, not of %s", u.Name, u.Spec.Cluster, want.cluster)
	case u.Status.Serial == "":
		return want, fmt.Errorf("the status of EtcdUser %s does not have the serial number of its certificate: give it with --serial", u.Name)
	}
	want.serial = u.Status.Serial
	if want.reason == "" {
		want.reason = "of EtcdUser " + u.Name
	}
	return want, nil
}

var isSerial = regexp.MustCompile(`^[1-9a-f][0-9a-f]{0,39}$`)

// canonical is a serial number as a spec has it, of what openssl and others print.
func canonical(text string) string {
	text = strings.ToLower(strings.TrimSpace(text))
	text = strings.TrimPrefix(strings.TrimPrefix(text, "serial="), "0x")
	return strings.TrimLeft(strings.NewReplacer(":", "", " ", "").Replace(text), "0")
}

// addRevocation writes the number into the spec, unless it is there. It removes none that was written meanwhile.
func addRevocation(ctx context.Context, k *Kubernetes, want revoked) (c *v1beta1.EtcdCluster, err error) {
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if c, err = clusterOf(ctx, k, want.cluster); err != nil {
			return err
		}
		if !c.IsSecure() {
			return fmt.Errorf("EtcdCluster %s has no certificates: spec.tls.mode is Disabled", c.Name)
		}
		if slices.Contains(c.Spec.TLS.Serials(), want.serial) {
			return nil
		}
		before := c.DeepCopy()
		c.Spec.TLS.Revocations = append(c.Spec.TLS.Revocations, v1beta1.Revocation{Serial: want.serial, Reason: want.reason})
		return k.Patch(ctx, c, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
	if err != nil {
		return nil, fmt.Errorf("revoke certificate %s: %w", want.serial, err)
	}
	return c, nil
}

// revocationOf is how far the revocation is. It is done when the number is on the list that every member was seen to refuse, and all
// have restarted since.
func revocationOf(c *v1beta1.EtcdCluster, serial string) progressState {
	seen := progressState{Progress: progress.Progress{What: "revocation of " + serial, Message: "no operator has looked at it yet"}}
	if progressing := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionProgressing); progressing != nil {
		seen.Message = progressing.Message
	}
	status := c.Status.Revocations
	if status != nil && status.Phase == v1beta1.RevocationDone && slices.Contains(status.Serials, serial) {
		seen.ended = true
		seen.result = fmt.Sprintf("certificate %s is revoked: no member of %s accepts it, and no connection is left", serial, c.Name)
	}
	return seen
}
