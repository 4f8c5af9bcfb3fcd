// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package copying

import "github.com/etcd-operator/etcd-operator/internal/rules"

// Policy is all rules in their order.
func Policy() []rules.Line { return policy.Lines() }
