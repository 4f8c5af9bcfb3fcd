package inplace

import "github.com/etcd-operator/etcd-operator/internal/rulestest"

// Policy is all rules in their order.
func Policy() []rulestest.Rules {
	var all rulestest.Rules
	for _, r := range rules {
		all.Add(r.name, r.does)
	}
	return []rulestest.Rules{all}
}
