// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

// TestFault81ExternalCertificatesAreReported: which Secret, why, what to do, and what happens until then, in a condition of its own and in
// Degraded; and nothing of that if certificates are ours.
func TestFault81ExternalCertificatesAreReported(t *testing.T) {
	const fault = "Secret web: its certificate has expired: renew it"
	theirs := formed()
	theirs.Spec.TLS.SecretRefs = &v1beta1.SecretRefs{}
	begins := unformed()
	begins.Spec.TLS.SecretRefs = &v1beta1.SecretRefs{}
	for _, test := range []struct {
		name     string
		c        *v1beta1.EtcdCluster
		v        cluster.View
		certs    cluster.Certificates
		step     plan.Step
		accepted string // status and reason of the condition; empty if there is to be none
		says     string
		degraded string
	}{
		{name: "ours", c: formed(), v: healthy(), step: plan.Done{}, degraded: v1beta1.ReasonAsExpected},
		{
			name: "all serve", c: theirs, v: healthy(), certs: cluster.Certificates{External: true, Until: "2027"}, step: plan.Done{},
			accepted: "True Accepted", degraded: v1beta1.ReasonAsExpected,
		},
		{
			name: "by an issuer of this namespace", c: byIssuer("Issuer"), v: healthy(), certs: cluster.Certificates{External: true, Until: "2027"},
			step: plan.Done{}, accepted: "True Accepted", degraded: v1beta1.ReasonAsExpected,
			says: "all Secrets that certificates come from have some that serve",
		},
		{
			name: "by an issuer of all namespaces", c: byIssuer("ClusterIssuer"), v: healthy(),
			certs: cluster.Certificates{External: true, Until: "2027"}, step: plan.Done{}, accepted: "True Accepted",
			degraded: v1beta1.ReasonAsExpected,
			says: "all Secrets that certificates come from have some that serve; ClusterIssuer corp may also sign for others: a " +
				"client " +
				"certificate by it with common name root, such as the operator's of another EtcdCluster, is root of this one; name an Issuer " +
				"whose authority signs for this cluster alone, or set spec.tls.issuerRef.boundClients",
		},
		{
			name: "by one whose clients are bound", c: boundByIssuer(), v: healthy(),
			certs: cluster.Certificates{External: true, Until: "2027"}, step: plan.Done{}, accepted: "True Accepted",
			degraded: v1beta1.ReasonAsExpected,
			says:     "all Secrets that certificates come from have some that serve",
		},
		{
			name: "asked to rotate", c: theirs, v: healthy(), certs: cluster.Certificates{External: true, Until: "2027", Request: "now"},
			step: plan.Done{}, accepted: "True Accepted", degraded: v1beta1.ReasonAsExpected,
			says: "all Secrets that certificates come from have some that serve; etcd-operator.dev/rotate=\"now\" is not acted on: " +
				"rotate the authority where it is, and remove the annotation",
		},
		{
			name: "bad", c: theirs, v: healthy(), step: plan.Done{},
			certs:    cluster.Certificates{External: true, Reason: "Expired", Fault: fault, Until: "2027-01-01T00:00:00Z"},
			accepted: "False Expired",
			says:     fault + "; members go on with the certificates that they have, the first of which ends on 2027-01-01T00:00:00Z",
			degraded: v1beta1.ReasonCertificatesNotAccepted,
		},
		{
			name: "bad, and nothing to start with", c: theirs, v: healthy(), step: plan.Refuse{Because: "x"},
			certs:    cluster.Certificates{External: true, Reason: "Expired", Fault: fault, Lacking: true},
			accepted: "False Expired", says: fault + "; members go on to serve, and cannot restart before", degraded: v1beta1.ReasonActionRequired,
		},
		{
			name: "bad, and what there is has expired", c: theirs, v: healthy(), step: plan.Refuse{Because: "x"},
			certs:    cluster.Certificates{External: true, Reason: "Expired", Fault: fault, Lacking: true, Until: "2025-01-01T00:00:00Z"},
			accepted: "False Expired", degraded: v1beta1.ReasonActionRequired,
			says: fault + "; the certificates of members have expired, the first on 2025-01-01T00:00:00Z: only connections that are open " +
				"go on, and no member restarts before",
		},
		{
			name: "good, and what there is has expired", c: theirs, v: expired(), step: plan.Wait{For: "etcd to answer"},
			certs:    cluster.Certificates{External: true, Reason: "Expired", Fault: fault, Lacking: true, Until: "2025-01-01T00:00:00Z"},
			accepted: "False Expired", says: fault, degraded: v1beta1.ReasonAuthorityEnds,
		},
		{
			name: "a new cluster", c: begins, v: bootstrapping(), step: plan.Wait{For: "certificates: " + fault},
			certs:    cluster.Certificates{External: true, Reason: v1beta1.ReasonSecretMissing, Fault: fault, Lacking: true},
			accepted: "False SecretMissing", says: fault + "; no member starts before", degraded: v1beta1.ReasonCertificatesNotAccepted,
		},
	} {
		v := test.v
		v.Certificates = test.certs
		conditions := report.Status(test.c, v, test.step, nil).Conditions
		accepted := meta.FindStatusCondition(conditions, v1beta1.ConditionCertificatesAccepted)
		switch {
		case (accepted == nil) != (test.accepted == ""):
			t.Errorf("%s: %+v", test.name, accepted)
		case accepted == nil:
		case string(accepted.Status)+" "+accepted.Reason != test.accepted || test.says != "" && accepted.Message != test.says:
			t.Errorf("%s: %+v", test.name, accepted)
		}
		if degraded := meta.FindStatusCondition(conditions, v1beta1.ConditionDegraded); degraded.Reason != test.degraded {
			t.Errorf("%s: %+v", test.name, degraded)
		}
		progressing := meta.FindStatusCondition(conditions, v1beta1.ConditionProgressing)
		if test.name == "a new cluster" && (progressing.Reason != v1beta1.ReasonWaiting || !strings.Contains(progressing.Message, fault)) {
			t.Errorf("%+v", progressing)
		}
	}
	old := metav1.Condition{Type: v1beta1.ConditionCertificatesAccepted, Status: metav1.ConditionFalse}
	theirs.Status.Conditions = append(theirs.Status.Conditions, old)
	theirs.Spec.TLS.SecretRefs = nil
	after := report.Status(theirs, healthy(), plan.Done{}, nil).Conditions
	if meta.FindStatusCondition(after, v1beta1.ConditionCertificatesAccepted) != nil {
		t.Error("it reports a source that is gone")
	}
}

// expired has certificates that have expired, and others by another authority.
func expired() cluster.View {
	v := healthy()
	v.Ending = []cluster.Ending{{Secret: "a-client-ca", On: "2025-01-01T00:00:00Z", Near: true, Over: true, Expired: true}}
	return v
}

// byIssuer has certificates by an issuer of that kind.
func byIssuer(kind string) *v1beta1.EtcdCluster {
	c := formed()
	c.Spec.TLS.IssuerRef = &v1beta1.IssuerRef{Name: "corp", Kind: kind}
	return c
}

func boundByIssuer() *v1beta1.EtcdCluster {
	c := byIssuer("ClusterIssuer")
	c.Spec.TLS.IssuerRef.BoundClients = true
	return c
}
