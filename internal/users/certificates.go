// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package users

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// lacksRequest says whether cert-manager is still to be asked for the certificate of a user, where the cluster names an issuer. That begins
// before its authority is the one that is trusted, so that the certificate is there by then.
func (o object) lacksRequest() bool {
	if o.Cluster.Spec.TLS.IssuerRef == nil || o.NoCertManager != "" {
		return false
	}
	want, have := specs.UserCertificate(o.Cluster, o.user), o.Certificates[o.user.Name]
	return have == nil || !equality.Semantic.DeepDerivative(want.Object["spec"], have.Object["spec"])
}

// needCertificate says why a user has no certificate, where the operator does not issue it.
func needCertificate(o object) *Decision {
	if o.Held.IssuesUsers() {
		return nil
	}
	defect, because := o.Held.LacksCertificate(o.Cluster, o.user, o.Secrets[o.user.Name], o.Now)
	if defect == "" {
		return nil
	}
	return o.uncertified(do(o.userOperations()...), defect, because)
}

func (o object) uncertified(d *Decision, defect, because string) *Decision {
	u, certificate := o.user, o.Certificates[o.user.Name]
	refuse := func(reason, format string, arguments ...any) *Decision {
		return d.retry().saying(metav1.ConditionFalse, reason,
			"user %s of etcd has the roles that the spec says, and Secret %s has no certificate that serves: %s", o.name, u.Secret(),
			fmt.Sprintf(format, arguments...))
	}
	byCertManager, missing := o.Cluster.Spec.TLS.IssuerRef != nil, defect == v1beta1.ReasonSecretMissing
	switch {
	case byCertManager && o.NoCertManager != "":
		return refuse(v1beta1.ReasonCertManagerMissing, "%s, which spec.tls.issuerRef of EtcdCluster %s needs", o.NoCertManager, o.Cluster.Name)
	case byCertManager && missing && certificate == nil:
		return d.retry() // it is requested just now
	case byCertManager && missing:
		return refuse(v1beta1.ReasonNotIssued, "cert-manager has not issued Certificate %s: %s", u.IssuedSecret(), specs.NotIssued(certificate))
	case !missing:
		return refuse(defect, "that of Secret %s: %s", u.IssuedSecret(), because)
	case u.HasPassword():
		return d.saying(metav1.ConditionTrue, v1beta1.ReasonSynced,
			"user %s of etcd has the roles that the spec says; applications connect with the password and ca.crt in Secret %s, and a "+
				"certificate that you bring, without a common name or with one that belongs to no etcd user: the authority of EtcdCluster %s is "+
				"external, and the operator cannot issue by it", o.name, u.Secret(), o.Cluster.Name)
	default:
		return refuse(v1beta1.ReasonNoAuthority, "the authority of EtcdCluster %s is external, and the operator cannot issue by it; "+
			"have one issued with common name %s for client auth, and put its tls.crt and tls.key into Secret %s",
			o.Cluster.Name, o.name, u.IssuedSecret())
	}
}
