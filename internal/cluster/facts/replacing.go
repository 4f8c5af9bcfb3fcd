// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// exchanging marks the members whose place others are to take although they are well: those that a person names, and those whose volume has
// another storage class than the spec names.
func (j *builder) exchanging() {
	for i := range j.Volumes {
		claim := &j.Volumes[i]
		if m, known := j.members[claim.Name]; known && !isQuarantined(claim) {
			m.Exchange = otherClass(j.c.Spec.Storage.StorageClassName, claim)
		}
	}
	for _, name := range askedFor(j.c) {
		serial := cluster.Serial(j.c.Name, name)
		if m, known := j.members[name]; known {
			m.Exchange, m.Asked = "the annotation "+v1beta1.AnnotationReplaceMembers+" names it", true
		} else if serial < 0 || serial >= j.v.Record.NextSerial {
			j.v.Want.NoMember = name
		}
	}
}

// otherClass says which storage class a volume has, if the spec names another one.
func otherClass(wanted *string, claim *corev1.PersistentVolumeClaim) string {
	has := claim.Spec.StorageClassName
	switch {
	case wanted == nil, has != nil && *has == *wanted:
		return ""
	case has == nil:
		return fmt.Sprintf("its volume has no storage class, and %q is wanted", *wanted)
	default:
		return fmt.Sprintf("its volume has the storage class %q, and %q is wanted", *has, *wanted)
	}
}

// askedFor are the names that a person wants replaced.
func askedFor(c *v1beta1.EtcdCluster) []string {
	names := strings.FieldsFunc(c.Annotations[v1beta1.AnnotationReplaceMembers], func(r rune) bool { return r == ',' || r == ' ' })
	slices.Sort(names)
	return slices.Compact(names)
}
