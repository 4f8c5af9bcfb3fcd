// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// ConditionAfter is the condition after a step, by what is recorded by then; nil: it stays as it is.
func ConditionAfter(v View, step Step) *metav1.Condition {
	var is metav1.Condition
	switch s := step.(type) {
	case SetCondition:
		is = s.Condition
	case Follow:
		is = s.Condition
	case Begin, ReadKeys:
		is = condition(v1beta1.ReasonCopying, "all keys are copied as they were at one revision of the source%s", v.left())
	case RecordStop, StopWrites, Drain:
		is = condition(v1beta1.ReasonWritesStopped, "writes to the source are stopped for %s at most, until everything is copied and compared",
			v.spec().Limit())
	case RecordSwitch, BindLeases, RouteService, RemoveMark:
		is = condition(v1beta1.ReasonWritesStopped, "the clusters have the same data, and clients are sent to this one")
	case Release:
		is = condition(v1beta1.ReasonSwitchFailed, "%s; writes to the source go on", s.Because)
	case RecordDone:
		is = v.switched()
	case Look, Compare, RemoveCondition, Done:
		return nil
	}
	return &is
}

// left says what of the source is not copied.
func (v View) left() string {
	users, roles := v.status().Users, v.status().Roles
	if users == nil || roles == nil || *users+*roles == 0 {
		return ""
	}
	return fmt.Sprintf("; its %d users and %d roles are not: create EtcdUsers and EtcdRoles", *users, *roles)
}

func (v View) switched() metav1.Condition {
	status := v.status()
	text := []string{"clients are sent to this cluster"}
	if compared := status.Comparison; compared != nil {
		text = append(text, fmt.Sprintf("it has the same %d keys as the source had at revision %d", compared.Keys, compared.SourceRevision))
	}
	if status.StoppedFor != nil {
		text = append(text, fmt.Sprintf("writes were stopped for %s", status.StoppedFor.Round(time.Millisecond)))
	}
	if status.Leases > 0 {
		text = append(text, fmt.Sprintf("%d keys are bound to %d leases", status.LeasedKeys, status.Leases))
	}
	text = append(text, "the source refuses writes by an alarm, and may be deleted")
	done := condition(v1beta1.ReasonSwitched, "%s", strings.Join(text, "; "))
	done.Status = metav1.ConditionTrue
	return done
}

// IsRouted says whether clients that use the Services reach this cluster after the step.
func IsRouted(step Step) bool {
	_, removes := step.(RemoveMark)
	_, ends := step.(RecordDone)
	return removes || ends
}
