// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Taint is one that members may tolerate, as kubectl taint writes it: key, key=value, key:effect or key=value:effect. Without a value
// any value may be tolerated, without an effect any effect.
type Taint struct {
	Key, Value string
	HasValue   bool
	Effect     corev1.TaintEffect
}

// Taints are all that members may tolerate.
type Taints []Taint

func (t Taints) allow(toleration corev1.Toleration) bool {
	return len(t) == 0 || slices.ContainsFunc(t, func(taint Taint) bool { return taint.covers(toleration) })
}

// covers says whether the toleration tolerates only this taint. One without a key tolerates every taint, and one without an
// effect every effect.
func (t Taint) covers(toleration corev1.Toleration) bool {
	switch {
	case toleration.Key != t.Key:
		return false
	case t.Effect != "" && toleration.Effect != t.Effect:
		return false
	case !t.HasValue:
		return true
	default:
		return cmp.Or(toleration.Operator, corev1.TolerationOpEqual) == corev1.TolerationOpEqual && toleration.Value == t.Value
	}
}

// describe is a toleration in the words of taints.
func describe(t corev1.Toleration) string {
	text := cmp.Or(t.Key, "every taint")
	switch cmp.Or(t.Operator, corev1.TolerationOpEqual) {
	case corev1.TolerationOpExists:
	case corev1.TolerationOpEqual:
		text += "=" + t.Value
	default:
		text += " " + string(t.Operator) + " " + t.Value
	}
	if t.Effect != "" {
		text += ":" + string(t.Effect)
	}
	return text
}

// String is the taint as it is written in a flag.
func (t Taint) String() string {
	text := t.Key
	if t.HasValue {
		text += "=" + t.Value
	}
	if t.Effect != "" {
		text += ":" + string(t.Effect)
	}
	return text
}

// String is the list as it is written in a flag.
func (t *Taints) String() string {
	all := make([]string, 0, len(*t))
	for _, taint := range *t {
		all = append(all, taint.String())
	}
	return strings.Join(all, ",")
}

// Set adds taints, separated by commas.
func (t *Taints) Set(text string) error {
	for _, entry := range entries(text) {
		rest, effect, hasEffect := strings.Cut(entry, ":")
		key, value, hasValue := strings.Cut(rest, "=")
		known := slices.Contains([]corev1.TaintEffect{
			corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute,
		}, corev1.TaintEffect(effect))
		if key == "" || hasEffect && !known {
			return fmt.Errorf("%q is no taint: write key, key=value, key:effect or key=value:effect, with the effect NoSchedule, "+
				"PreferNoSchedule or NoExecute", entry)
		}
		*t = append(*t, Taint{Key: key, Value: value, HasValue: hasValue, Effect: corev1.TaintEffect(effect)})
	}
	return nil
}
