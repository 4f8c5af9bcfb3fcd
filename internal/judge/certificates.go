package judge

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/build"
)

// certificates names the Certificates of cert-manager that are missing or not as wanted, and says what keeps them from being issued.
func (j *judgement) certificates() {
	wanted := build.Certificates(j.c)
	told := &j.v.Certificates
	if len(wanted) > 0 && j.NoCertManager != "" {
		told.Reason = v1alpha1.ReasonCertManagerMissing
		told.Fault = j.NoCertManager + ", which spec.tls.issuerRef needs: install cert-manager, and allow the operator to get, create " +
			"and patch them; or remove spec.tls.issuerRef"
		return
	}
	for _, want := range wanted {
		have := j.Certificates[want.GetName()]
		j.compare("Certificate", want, have, have != nil, func() bool {
			return equality.Semantic.DeepDerivative(want.Object["spec"], have.Object["spec"])
		})
	}
	if told.Reason == v1alpha1.ReasonSecretMissing && len(wanted) > 0 {
		told.Reason = v1alpha1.ReasonNotIssued
		told.Fault = "cert-manager has not issued all certificates: " + strings.Join(unissued(wanted, j.Certificates), "; ") +
			"; look whether the issuer is ready, and whether cert-manager runs"
	}
}

// unissued says of each Certificate that is not ready what cert-manager says of it.
func unissued(wanted []*unstructured.Unstructured, have map[string]*unstructured.Unstructured) []string {
	var all []string
	for _, want := range wanted {
		if said := build.NotIssued(have[want.GetName()]); said != "" {
			all = append(all, fmt.Sprintf("Certificate %s: %s", want.GetName(), said))
		}
	}
	return all
}
