// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"fmt"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// awaitUsers says which application may have something older than what is to be in the Secret of its EtcdUser, and until
// when; empty if none may. They only ever concern the authority of clients.
func (h KeyMaterial) awaitUsers(what string, pause time.Duration, f Facts) string {
	for _, secret := range f.Users {
		whose := fmt.Sprintf("Secret %s of EtcdUser %s", secret.Name, secret.Labels[v1beta1.LabelUser])
		switch {
		case !bytes.Equal(secret.Data[specs.CAKey], h.ClientCA.Bundle()):
			return whose + " to have the authorities that are trusted now"
		case h.ClientCA.Signs(f.Now) && !pki.IsSignedBy(pairOf(secret.Data), h.ClientCA.Pair):
			return whose + " to have a certificate by the authority that signs"
		}
		if at := writtenAt(secret); f.Now.Sub(at).Abs() < pause {
			return mounted("clients", what, secret.Name, at, pause)
		}
	}
	return ""
}

// mounted says until when Pods may have an older Secret.
func mounted(pods, what, secret string, at time.Time, pause time.Duration) string {
	return fmt.Sprintf("%s to %s: Secret %s, which they mount, was written at %s, and comes into all pods until %s",
		pods, what, secret, at.UTC().Format(time.RFC3339), at.Add(pause).UTC().Format(time.RFC3339))
}
