// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package v1beta1_test

// peers is a spec with these clients.
func peers(clients string) string {
	return "{networkPolicy: {mode: Enabled, clients: [" + clients + "]}}"
}

var networks = []refusal{
	{
		name: "another mode", bad: "{networkPolicy: {mode: 'On'}}", good: "{networkPolicy: {mode: Disabled}}",
		says: "spec.networkPolicy.mode: Unsupported value",
	},
	{
		name: "clients without a mode", bad: "{networkPolicy: {clients: [{podSelector: {}}]}}", good: peers("{podSelector: {}}"),
		says: "networkPolicy.clients and networkPolicy.metrics need networkPolicy.mode Enabled",
	},
	{
		name: "readers of metrics that no policy keeps out", bad: "{networkPolicy: {mode: Disabled, metrics: [{podSelector: {}}]}}",
		good: "{networkPolicy: {mode: Enabled, metrics: [{podSelector: {}}]}}",
		says: "networkPolicy.clients and networkPolicy.metrics need networkPolicy.mode Enabled",
	},
	{
		name: "no clients", bad: peers(""), good: peers("{namespaceSelector: {}}"), says: "spec.networkPolicy.clients|at least 1 items",
	},
	{
		name: "a peer that matches none or all", bad: peers("{}"), good: peers("{podSelector: {}, namespaceSelector: {}}"),
		says: "needs a podSelector, a namespaceSelector or an ipBlock",
	},
	{
		name: "Pods in a block of addresses", bad: peers("{podSelector: {}, ipBlock: {cidr: 10.0.0.0/8}}"),
		good: peers("{podSelector: {}}, {ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}"),
		says: "with an ipBlock goes without selectors",
	},
	{
		name: "an address that is no block", bad: peers("{ipBlock: {cidr: 10.0.0.1}}"), good: peers("{ipBlock: {cidr: 10.0.0.1/32}}"),
		says: "spec.networkPolicy.clients[0].ipBlock.cidr|a block of addresses must be",
	},
	{
		name: "a block that cannot be", bad: peers("{ipBlock: {cidr: 10.0.0.256/24}}"), good: peers("{ipBlock: {cidr: '2001:db8::/64'}}"),
		says: "spec.networkPolicy.clients[0].ipBlock.cidr|a block of addresses must be",
	},
	{
		name: "an exception that cannot be", bad: peers("{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/33]}}"),
		good: peers("{ipBlock: {cidr: '::/0', except: ['::1/128']}}"), says: "spec.networkPolicy.clients[0].ipBlock.except[0]",
	},
	{
		name: "a label that cannot be", bad: peers("{podSelector: {matchLabels: {'a b': c}}}"),
		good: peers("{podSelector: {matchLabels: {example.com/a: c, b: ''}}}"), says: "matchLabels must have keys",
	},
	{
		name: "a value that cannot be", bad: peers("{podSelector: {matchLabels: {a: 'b c'}}}"),
		good: peers("{podSelector: {matchLabels: {a: b.c}}}"), says: "podSelector.matchLabels[a]|the value of a label",
	},
	{
		name: "an operator that is none", bad: peers("{namespaceSelector: {matchExpressions: [{key: a, operator: Gt, values: ['1']}]}}"),
		good: peers("{namespaceSelector: {matchExpressions: [{key: a, operator: In, values: ['1']}]}}"), says: "operator: Unsupported value",
	},
	{
		name: "no values to be in", bad: peers("{podSelector: {matchExpressions: [{key: a, operator: In}]}}"),
		good: peers("{podSelector: {matchExpressions: [{key: a, operator: NotIn, values: [b]}]}}"),
		says: "must have values with the operators In",
	},
	{
		name: "values that do not matter", bad: peers("{podSelector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}}"),
		good: peers("{podSelector: {matchExpressions: [{key: a, operator: DoesNotExist}]}}"), says: "none with Exists",
	},
	{
		name: "ports of peers", bad: peers("{podSelector: {}, ports: [{port: client}]}"), good: peers("{podSelector: {}}"),
		says: "unknown field|ports",
	},
}
