// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// certificates names the Certificates of cert-manager that are missing or not as wanted, and says what keeps them from being issued.
func (j *builder) certificates() {
	wanted := specs.Certificates(j.c, j.Domain)
	status := &j.v.Certificates
	if len(wanted) > 0 && j.NoCertManager != "" {
		status.Reason = v1beta1.ReasonCertManagerMissing
		status.Fault = j.NoCertManager + ", which spec.tls.issuerRef needs: install cert-manager, and allow the operator to get, create " +
			"and patch them; or remove spec.tls.issuerRef"
		return
	}
	taken := j.overwritten()
	for _, want := range wanted {
		have, secret := j.Certificates[want.GetName()], specs.SecretOf(want)
		if why := taken[secret]; why != "" {
			j.v.Foreign = append(j.v.Foreign, cluster.Object{Kind: "Secret", Name: secret, Why: why, CanWait: true})
			continue
		}
		j.compare("Certificate", want, have, have != nil, func() bool {
			return equality.Semantic.DeepDerivative(want.Object["spec"], have.Object["spec"]) && hasSameNames(want, have)
		})
	}
	if len(taken) > 0 {
		status.Reason, status.Fault = v1beta1.ReasonSecretTaken, "no Certificate is created for Secrets that have another owner: "+listed(taken)+
			"; rename or delete them, or choose another name for the EtcdCluster"
		return
	}
	if status.Reason == v1beta1.ReasonSecretMissing && len(wanted) > 0 {
		status.Reason = v1beta1.ReasonNotIssued
		status.Fault = "cert-manager has not issued all certificates: " + strings.Join(unissued(wanted, j.Certificates), "; ") +
			"; look whether the issuer is ready, and whether cert-manager runs"
	}
}

// hasSameNames says whether a Certificate asks for no more names than are wanted: one that was taken away must not stay valid.
func hasSameNames(want, have *unstructured.Unstructured) bool {
	for _, field := range []string{"dnsNames", "ipAddresses"} {
		wanted, _, _ := unstructured.NestedStringSlice(want.Object, "spec", field)
		found, _, _ := unstructured.NestedStringSlice(have.Object, "spec", field)
		if !slices.Equal(wanted, found) {
			return false
		}
	}
	return true
}

// overwritten says why Secrets, by their names, are not to be written by cert-manager: they have another owner.
func (s *Snapshot) overwritten() map[string]string {
	all := map[string]string{}
	if s.NoCertManager != "" {
		return all
	}
	for _, want := range specs.Certificates(s.Cluster, s.Domain) {
		name := specs.SecretOf(want)
		if why := specs.WouldOverwrite(want, s.Certificates[want.GetName()], s.ExternalSecrets[name]); why != "" {
			all[name] = why
		}
	}
	return all
}

// listed are those Secrets, each with why.
func listed(taken map[string]string) string {
	texts := make([]string, 0, len(taken))
	for _, name := range slices.Sorted(maps.Keys(taken)) {
		texts = append(texts, "Secret "+name+": "+taken[name])
	}
	return strings.Join(texts, "; ")
}

// unissued says of each Certificate that is not ready what cert-manager says of it.
func unissued(wanted []*unstructured.Unstructured, have map[string]*unstructured.Unstructured) []string {
	var all []string
	for _, want := range wanted {
		if said := specs.NotIssued(have[want.GetName()]); said != "" {
			all = append(all, fmt.Sprintf("Certificate %s: %s", want.GetName(), said))
		}
	}
	return all
}
