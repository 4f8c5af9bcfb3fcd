package users

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// askSteps ask cert-manager for the certificate of a user, if the cluster names an issuer. That begins before its authority is the one
// that is trusted, so that the certificate is there by then.
func (p planner) askSteps(u *v1alpha1.EtcdUser) []Step {
	if p.Cluster.Spec.TLS.IssuerRef == nil || p.NoCertManager != "" {
		return nil
	}
	want, have := specs.UserCertificate(p.Cluster, u), p.Certificates[u.Name]
	if have != nil && equality.Semantic.DeepDerivative(want.Object["spec"], have.Object["spec"]) {
		return nil
	}
	return []Step{AskForCertificate{}}
}

// uncertified is the verdict on a user who is in place, and who has no certificate because the authority is somebody else's.
func (p planner) uncertified(u *v1alpha1.EtcdUser, defect, because string) Verdict {
	refuse := func(reason, format string, args ...any) Verdict {
		return Verdict{Status: metav1.ConditionFalse, Reason: reason, Again: true, Message: fmt.Sprintf(
			"user %s of etcd has the roles that the spec says, and Secret %s has no certificate that serves: %s", u.User(), u.Secret(),
			fmt.Sprintf(format, args...))}
	}
	byCertManager, missing := p.Cluster.Spec.TLS.IssuerRef != nil, defect == v1alpha1.ReasonSecretMissing
	switch {
	case byCertManager && p.NoCertManager != "":
		return refuse(v1alpha1.ReasonCertManagerMissing, "%s, which spec.tls.issuerRef of EtcdCluster %s needs", p.NoCertManager, p.Cluster.Name)
	case byCertManager && missing && p.Certificates[u.Name] == nil:
		return Verdict{Again: true} // it is asked for just now
	case byCertManager && missing:
		said := specs.NotIssued(p.Certificates[u.Name])
		return refuse(v1alpha1.ReasonNotIssued, "cert-manager has not issued Certificate %s: %s", u.IssuedSecret(), said)
	case !missing:
		return refuse(defect, "that of Secret %s: %s", u.IssuedSecret(), because)
	case u.HasPassword():
		return Verdict{Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSynced, Message: fmt.Sprintf(
			"user %s of etcd has the roles that the spec says; applications connect with the password and ca.crt in Secret %s, and a "+
				"certificate that you bring, without a common name or with one that is no user of etcd: the authority of EtcdCluster %s is "+
				"somebody else's, and the "+
				"operator cannot issue by it", u.User(), u.Secret(), p.Cluster.Name)}
	default:
		return refuse(v1alpha1.ReasonNoAuthority, "the authority of EtcdCluster %s is somebody else's, and the operator cannot issue by it; "+
			"have one issued with common name %s for client auth, and put its tls.crt and tls.key into Secret %s",
			p.Cluster.Name, u.User(), u.IssuedSecret())
	}
}
