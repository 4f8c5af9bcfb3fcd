// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import "k8s.io/apimachinery/pkg/api/resource"

// SizeOf is a number of bytes for people: rounded up to whole Ki, from 10Mi on to whole Mi, and from 10Gi on to whole Gi.
func SizeOf(bytes int64) *resource.Quantity {
	unit := int64(1 << 10)
	switch {
	case bytes > 10<<30:
		unit = 1 << 30
	case bytes > 10<<20:
		unit = 1 << 20
	}
	return resource.NewQuantity((bytes+unit-1)/unit*unit, resource.BinarySI)
}
