// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/rules"
)

// Policy is all rules in their order.
func Policy() []rules.Line { return slices.Concat(repairs, objects, changes).Lines() }

// Exchanges says whether another member is to take the place of a voter that is well, Fragmented and IsHelped whether a member is to be
// defragmented, and whether that would help one that is full.
var Exchanges, Fragmented, IsHelped = exchanges, fragmented, isHelped
