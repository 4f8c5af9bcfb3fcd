package plan

import (
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/rules"
)

// Policy is all rules in their order.
func Policy() []rules.Line { return slices.Concat(repairs, objects, changes).Lines() }

// Exchanges says whether another member is to take the place of a voter that is well.
var Exchanges = exchanges
