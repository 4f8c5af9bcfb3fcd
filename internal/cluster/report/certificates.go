// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// withCertificates adds whether external certificates serve, if there are any. What is not read, because the cluster hibernates or is
// deleted, stays as it was.
func withCertificates(all []metav1.Condition, c *v1beta1.EtcdCluster, v cluster.View) []metav1.Condition {
	if c.CertificateSecrets() == nil {
		meta.RemoveStatusCondition(&all, v1beta1.ConditionCertificatesAccepted)
		return all
	}
	if !v.Certificates.External {
		return all
	}
	condition := metav1.Condition{
		Type: v1beta1.ConditionCertificatesAccepted, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonCertificatesAccepted,
		Message: "all Secrets that certificates come from have some that serve", ObservedGeneration: c.Generation,
	}
	if fault := unaccepted(v); fault != "" {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, v.Certificates.Reason, shortened(fault)
	} else {
		condition.Message = shortened(condition.Message + sharing(c))
	}
	if request := v.Certificates.Request; request != "" {
		condition.Message = shortened(fmt.Sprintf("%s; %s=%q is not acted on: rotate the authority where it is, and remove the annotation",
			condition.Message, v1beta1.AnnotationRotate, request))
	}
	meta.SetStatusCondition(&all, condition)
	return all
}

// sharing warns of an issuer that may sign for other clusters, too; empty if the issuer is of the namespace.
func sharing(c *v1beta1.EtcdCluster) string {
	issuer := c.Spec.TLS.IssuerRef
	if issuer == nil || !strings.HasSuffix(issuer.Kind, "ClusterIssuer") || issuer.BoundClients {
		return ""
	}
	return fmt.Sprintf("; %s %s may also sign for others: a client certificate by it with common name root, such as the "+
		"operator's of another EtcdCluster, is root of this one; name an Issuer whose authority signs for this cluster alone, or set "+
		"spec.tls.issuerRef.boundClients",
		issuer.Kind, issuer.Name)
}

// uncertified is unaccepted, if something is wrong: it is no fault if a new cluster waits for what is being issued.
func uncertified(v cluster.View) string {
	if v.Certificates.Reason == v1beta1.ReasonNotIssued && !v.Formed() {
		return ""
	}
	return unaccepted(v)
}

// unaccepted says which Secrets have no certificates that serve, what to do, and what happens until then.
func unaccepted(v cluster.View) string {
	switch s := v.Certificates; {
	case s.Fault == "":
		return ""
	case s.Lacking && !v.Formed():
		return s.Fault + "; no member starts before"
	case slices.ContainsFunc(v.Ending, func(e cluster.Ending) bool { return e.Expired }):
		return s.Fault
	case s.Lacking && s.Until != "":
		return s.Fault + "; the certificates of members have expired, the first on " + s.Until + ": only connections that are " +
			"open go on, and no member restarts before"
	case s.Lacking:
		return s.Fault + "; members go on to serve, and cannot restart before"
	default:
		return s.Fault + "; members go on with the certificates that they have, the first of which ends on " + s.Until
	}
}
