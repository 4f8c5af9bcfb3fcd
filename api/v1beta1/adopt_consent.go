// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"slices"
	"strings"
)

// AnnotationAdoptedBy is on a Secret, a Service or a StatefulSet that an adoption or a copy may use. A password goes to the endpoints that
// the EtcdCluster names, an authority signs what it asks for, and clients come to its members, so that those who may write the object have
// to agree to that EtcdCluster, and to no other one that has or will have its name. Name, UID, and endpoints, separated by commas:
// etcd,5d0c6a4e-…,http://etcd-0.etcd-headless.default.svc:2379.
const AnnotationAdoptedBy = "etcd-operator.dev/adopted-by"

// Consent is the value of AnnotationAdoptedBy by which an object agrees to all endpoints of the spec, and to these.
func (c *EtcdCluster) Consent(urls ...string) string {
	value := []string{c.Name, string(c.UID)}
	for _, url := range slices.Concat(c.sourceEndpoints(), urls) {
		if !slices.Contains(value, url) {
			value = append(value, url)
		}
	}
	return strings.Join(value, ",")
}

// MayUse says why the adoption or copy may not use an object with those annotations, at the endpoints of the spec and at those URLs, and
// what to do; empty if it may. The object is named as kubectl does it: secret/etcd-root.
func (c *EtcdCluster) MayUse(object string, annotations map[string]string, urls ...string) string {
	has := strings.Split(annotations[AnnotationAdoptedBy], ",")
	isNamed := has[0] == c.Name
	if isNamed && len(has) == 1 && c.hasBegunWithSource() {
		return "" // older operators wanted no more
	}
	said := " does not allow it"
	switch missing := c.unnamed(has, urls); {
	case !isNamed:
	case len(has) == 1:
		said = " allows an EtcdCluster of the name " + c.Name + ", whatever its UID and endpoints are"
	case has[1] != string(c.UID):
		said = " allows another EtcdCluster of the name " + c.Name
	case missing != "":
		said += " to use " + missing
	default:
		return ""
	}
	if isNamed && len(has) > 1 && has[1] == string(c.UID) {
		urls = slices.Concat(has[2:], urls)
	}
	return object + said + ": if it should, run " + c.ConsentCommand(object, urls...)
}

// ConsentCommand is what people run so that objects agree. It is quoted: an endpoint is whatever the author of the EtcdCluster has written.
func (c *EtcdCluster) ConsentCommand(objects string, urls ...string) string {
	value := AnnotationAdoptedBy + "=" + c.Consent(urls...)
	return "kubectl annotate --overwrite " + objects + " '" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}

// unnamed is the first endpoint, or of those URLs, that an annotation does not name; empty if it names all.
func (c *EtcdCluster) unnamed(has, urls []string) string {
	for _, url := range slices.Concat(c.sourceEndpoints(), urls) {
		if !slices.Contains(has[min(len(has), 2):], url) {
			return url
		}
	}
	return ""
}

// sourceEndpoints are those of the running cluster that the spec names.
func (c *EtcdCluster) sourceEndpoints() []string {
	switch b := c.Spec.Bootstrap; {
	case b != nil && b.Adopt != nil:
		return b.Adopt.Endpoints
	case b != nil && b.Copy != nil:
		return b.Copy.Endpoints
	default:
		return nil
	}
}

// hasBegunWithSource says whether the running cluster that the spec names has been used, and the status says so. The spec cannot name
// another one.
func (c *EtcdCluster) hasBegunWithSource() bool {
	return c.Status.Adoption != nil || c.Status.Copy != nil && c.Status.Copy.SourceID != ""
}
