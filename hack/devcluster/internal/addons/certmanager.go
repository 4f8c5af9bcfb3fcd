// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package addons

import (
	"context"
	_ "embed"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CertManagerImage is the name of the image of all programs of cert-manager. There is none of that name elsewhere.
const CertManagerImage = "jetstack/cert-manager:v1.21.2"

//go:embed manifests/cert-manager.yaml
var certManager string

const (
	certManagerNamespace = "cert-manager"
	certManagerWebhook   = "cert-manager-webhook"
)

// CertManager installs cert-manager. Its types must be there.
func (i *Installer) CertManager(ctx context.Context) error { return i.apply(ctx, certManager) }

// CertManagerReady returns nil once its programs run, and the API server trusts its webhook: until then it takes no
// Certificate.
func (i *Installer) CertManagerReady(ctx context.Context) error {
	for _, name := range []string{certManagerNamespace, certManagerNamespace + "-cainjector", certManagerWebhook} {
		if err := i.Available(ctx, certManagerNamespace, name); err != nil {
			return err
		}
	}
	hooks, err := i.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, certManagerWebhook, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, hook := range hooks.Webhooks {
		if len(hook.ClientConfig.CABundle) == 0 {
			return fmt.Errorf("nobody has injected the authority of %s", hook.Name)
		}
	}
	return nil
}
