// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// CertificateKind is the kind of cert-manager by which certificates are asked for. The operator does not depend on its module: an
// installation without cert-manager knows no such kind.
var CertificateKind = schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}

// Certificates are what cert-manager is asked for, one for each Secret that spec.tls.issuerRef stands for; nil if it does not. The domain
// is that of ServerNames.
func Certificates(c *v1beta1.EtcdCluster, domain string) []*unstructured.Unstructured {
	secrets := c.CertificateSecrets()
	if secrets == nil || c.Spec.TLS.IssuerRef == nil {
		return nil
	}
	names, addresses := ServerNames(c, domain)
	both, client := []any{"digital signature", "server auth", "client auth"}, []any{"digital signature", "client auth"}
	of := func(name, secret string, spec map[string]any) *unstructured.Unstructured {
		spec["secretName"] = secret
		return certificate(c, owned(c, c.Name+"-"+name), spec)
	}
	return []*unstructured.Unstructured{
		of("server", secrets.Server.Name, map[string]any{
			"commonName": "etcd-server", "dnsNames": list(names), "ipAddresses": list(addresses), "usages": both,
		}),
		of("peer", secrets.Peer.Name, map[string]any{"commonName": "etcd-peer", "dnsNames": []any{Host(c, "*")}, "usages": both}),
		of("operator", secrets.Operator.Name, map[string]any{
			"commonName": v1beta1.RootUser, "dnsNames": []any{ClientHost(c)}, "usages": client,
		}),
		of("client", secrets.Client.Name, map[string]any{"commonName": "client", "dnsNames": []any{ClientHost(c)}, "usages": client}),
	}
}

// list is as JSON has it.
func list(texts []string) (all []any) {
	for _, text := range texts {
		all = append(all, text)
	}
	return all
}

// UserCertificate is what cert-manager is asked for on behalf of an EtcdUser, in a cluster with spec.tls.issuerRef. It goes with the
// EtcdUser.
func UserCertificate(c *v1beta1.EtcdCluster, u *v1beta1.EtcdUser) *unstructured.Unstructured {
	spec := map[string]any{"secretName": u.IssuedSecret(), "usages": []any{"digital signature", "client auth"}}
	if u.HasPassword() {
		spec["dnsNames"], spec["subject"] = []any{UserHost(c, u), ClientHost(c)}, map[string]any{"organizations": []any{Organization}}
	} else {
		spec["commonName"], spec["dnsNames"] = u.User(), []any{ClientHost(c)}
	}
	return certificate(c, userOwned(u, u.IssuedSecret()), spec)
}

// Organization is in the subject of certificates that have no common name.
const Organization = "etcd-operator"

// UserHost is the DNS name that identifies the certificate of a user which has a password, and no common name therefore. Nothing is found
// by it. It is one that an issuer of members' certificates allows, and none of a member, which has a number after the last hyphen.
func UserHost(c *v1beta1.EtcdCluster, u *v1beta1.EtcdUser) string {
	sum := sha256.Sum256([]byte(u.Name))
	return Host(c, "user-"+hex.EncodeToString(sum[:8])+"-password")
}

func certificate(c *v1beta1.EtcdCluster, meta metav1.ObjectMeta, spec map[string]any) *unstructured.Unstructured {
	issuer := c.Spec.TLS.IssuerRef
	spec["duration"] = c.Spec.TLS.CertificateLifetime().String()
	spec["privateKey"] = map[string]any{"algorithm": "ECDSA", "size": int64(256), "rotationPolicy": "Always"}
	spec["issuerRef"] = map[string]any{
		"name": issuer.Name, "kind": cmp.Or(issuer.Kind, "Issuer"), "group": cmp.Or(issuer.Group, CertificateKind.Group),
	}
	// By these labels people find it, and see its owner.
	spec["secretTemplate"] = map[string]any{"labels": map[string]any{
		ManagedByLabel: v1beta1.FieldOwner, v1beta1.LabelCluster: c.Name,
	}}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(CertificateKind)
	object.SetName(meta.Name)
	object.SetNamespace(meta.Namespace)
	object.SetLabels(meta.Labels)
	object.SetOwnerReferences(meta.OwnerReferences)
	return object
}

// writerAnnotation is what cert-manager notes on a Secret that it writes: the name of the Certificate.
const writerAnnotation = "cert-manager.io/certificate-name"

// WouldOverwrite says why cert-manager is not to be asked for a Certificate, of which there is none yet or one for another Secret: there is
// a Secret of the name that it was not written for. It is empty if no Secret of another owner would be overwritten.
func WouldOverwrite(wanted, certificate *unstructured.Unstructured, secret *corev1.Secret) string {
	if secret == nil || certificate != nil && SecretOf(certificate) == secret.Name {
		return ""
	}
	isOurs := secret.Labels[ManagedByLabel] == v1beta1.FieldOwner && secret.Annotations[writerAnnotation] == wanted.GetName()
	if isOurs && secret.Labels[v1beta1.LabelCluster] == clusterOf(wanted) {
		return ""
	}
	return "cert-manager has not written it for Certificate " + wanted.GetName() + ", and would write over it"
}

// SecretOf is the Secret that a Certificate is for.
func SecretOf(certificate *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(certificate.Object, "spec", "secretName")
	return name
}

// clusterOf is the cluster that a Certificate is for, as its Secret says.
func clusterOf(certificate *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(certificate.Object, "spec", "secretTemplate", "labels", v1beta1.LabelCluster)
	return name
}

// NotIssued is what cert-manager says of a Certificate, which may be nil, that it has not issued; empty if it has.
func NotIssued(certificate *unstructured.Unstructured) string {
	const nothing = "it says nothing yet"
	if certificate == nil {
		return nothing
	}
	conditions, _, _ := unstructured.NestedSlice(certificate.Object, "status", "conditions")
	for _, one := range conditions {
		condition, is := one.(map[string]any)
		switch {
		case !is || condition["type"] != "Ready":
		case condition["status"] == "True":
			return ""
		default:
			text, _ := condition["message"].(string)
			return cmp.Or(text, nothing)
		}
	}
	return nothing
}
