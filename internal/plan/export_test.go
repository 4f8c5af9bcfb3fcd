package plan

import (
	"slices"
	"strings"

	"github.com/etcd-operator/etcd-operator/internal/rulestest"
)

// Policy is all clauses in their order.
func Policy() []rulestest.Rules {
	var all []rulestest.Rules
	for _, c := range slices.Concat(repairs, []clause{objects}, changes) {
		some := rulestest.Rules{Heading: strings.ToUpper(c.name[:1]) + c.name[1:]}
		for _, r := range c.rules {
			some.Add(r.name, r.does)
		}
		all = append(all, some)
	}
	return all
}
