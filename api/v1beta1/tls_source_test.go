// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package v1beta1_test

const refs = "server: {name: web}, peer: {name: gossip}, operator: {name: root-of-shop}"

// sources are where certificates come from.
var sources = []refusal{
	{
		name: "two sources", bad: "{tls: {secretRefs: {" + refs + "}, issuerRef: {name: corp}}}", good: "{tls: {issuerRef: {name: corp}}}",
		says: "spec.tls.secretRefs|either an issuerRef or secretRefs",
	},
	{
		name: "Secrets without TLS", bad: "{tls: {mode: Disabled, secretRefs: {" + refs + "}}}", good: "{tls: {secretRefs: {" + refs + "}}}",
		says: "spec.tls.secretRefs|needs tls.mode Enabled",
	},
	{
		name: "an issuer without TLS", bad: "{tls: {mode: Disabled, issuerRef: {name: corp}}}",
		good: "{tls: {issuerRef: {name: corp, kind: ClusterIssuer}}}", says: "spec.tls.issuerRef|needs tls.mode Enabled",
	},
	{
		name: "no Secret for peers", bad: "{tls: {secretRefs: {server: {name: web}, operator: {name: o}}}}",
		good: "{tls: {secretRefs: {" + refs + ", client: {name: app}}}}", says: "secretRefs.peer",
	},
	{
		name: "a Secret of the operator's", bad: "{tls: {secretRefs: {server: {name: refusal-%d-client}, peer: {name: p}, operator: {name: o}}}}",
		good: "{tls: {secretRefs: {server: {name: web-client}, peer: {name: p}, operator: {name: o}}}}",
		says: "spec.tls.secretRefs|must not name a Secret that the operator writes",
	},
	{
		name: "applications with a Secret of the operator's",
		bad:  "{tls: {secretRefs: {" + refs + ", client: {name: refusal-%d-root}}}}",
		good: "{tls: {secretRefs: {" + refs + ", client: {name: root}}}}",
		says: "spec.tls.secretRefs|must not name a Secret that the operator writes",
	},
	{
		name: "a name that is none", bad: "{tls: {secretRefs: {server: {name: ../web}, peer: {name: p}, operator: {name: o}}}}",
		good: "{tls: {secretRefs: {server: {name: web.tls}, peer: {name: p}, operator: {name: o}}}}", says: "must be the name of a Secret",
	},
	{
		name: "lifetimes of what others issue", bad: "{tls: {secretRefs: {" + refs + "}, lifetimes: {certificate: 24h}}}",
		good: "{tls: {secretRefs: {" + refs + "}, lifetimes: {}}}", says: "spec.tls.lifetimes|as long as whoever issues them says",
	},
	{
		name: "a lifetime of an issuer's authority", bad: "{tls: {issuerRef: {name: corp}, lifetimes: {authority: 87600h, certificate: 24h}}}",
		good: "{tls: {issuerRef: {name: corp}, lifetimes: {certificate: 24h}}}",
		says: "spec.tls.lifetimes|for authorities that the operator makes",
	},
	{
		name: "a certificate that cert-manager refuses", bad: "{tls: {issuerRef: {name: corp}, lifetimes: {certificate: 59m}}}",
		good: "{tls: {issuerRef: {name: corp}, lifetimes: {certificate: 1h}}}", says: "spec.tls.lifetimes|at least 1h",
	},
	{
		name: "a kind that cert-manager has not", bad: "{tls: {issuerRef: {name: corp, kind: Isuer}}}",
		good: "{tls: {issuerRef: {name: corp, kind: Isuer, group: example.org}}}", says: "spec.tls.issuerRef.kind|Issuer or ClusterIssuer",
	},
	{
		name: "TLS off with another source", from: "{tls: {secretRefs: {" + refs + "}}}", bad: "{tls: {mode: Disabled}}",
		good: "{tls: {issuerRef: {name: corp}}}", says: "spec.tls|once the cluster has formed",
	},
	{
		name: "another source on a live cluster", from: "{}", bad: "{tls: {secretRefs: {server: {name: web}}}}",
		good: "{tls: {secretRefs: {" + refs + "}}}", says: "secretRefs.peer",
	},
}
