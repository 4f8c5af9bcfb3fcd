// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Step is the one next thing to do. The set is closed, and String is the sentence that people read in logs and tests: it never has a key or
// a value.
//
//sumtype:decl
type Step interface {
	fmt.Stringer
	step()
}

type (
	// Look asks the source and this cluster. What is to be done then is asked again.
	Look struct{}
	// Begin writes the mark: keys are read at that revision of the source. Again says that there is a mark.
	Begin struct {
		Revision int64
		Again    bool
	}
	// ReadKeys copies keys of the source as they were at the revision of the mark, for some seconds.
	ReadKeys struct{}
	// Follow copies what is written to the source, for some seconds, and sets the condition.
	Follow struct{ Condition metav1.Condition }
	// Compare compares all keys and values of both clusters, at the revision of the mark and at the one of this cluster.
	Compare struct{}
	// RecordStop writes down that writes are stopped from now on, and for which request.
	RecordStop struct{ Request string }
	// StopWrites raises the alarm.
	StopWrites struct{}
	// Drain copies what is left, up to that revision.
	Drain struct{ To int64 }
	// Release disarms the alarm, and writes down that the switch was given up.
	Release struct{ Because string }
	// RecordSwitch writes down that clients are sent to this cluster. It is never undone.
	RecordSwitch struct{}
	// BindLeases gives this cluster the leases of the source, and binds keys to them.
	BindLeases struct{}
	// RouteService changes the selector of a Service of the source to the members of this cluster.
	RouteService struct{ Name string }
	// RemoveMark deletes the mark.
	RemoveMark struct{}
	// RecordDone writes down that nothing is left to do.
	RecordDone struct{}
	// SetCondition says why nothing is done.
	SetCondition struct {
		Condition metav1.Condition
		Again     bool // both clusters are asked again after a pause
	}
	// RemoveCondition removes the condition: nothing is to be copied any more.
	RemoveCondition struct{}
	// Done means that there is nothing to do.
	Done struct{}
)

func (Look) step()            {}
func (Begin) step()           {}
func (ReadKeys) step()        {}
func (Follow) step()          {}
func (Compare) step()         {}
func (RecordStop) step()      {}
func (StopWrites) step()      {}
func (Drain) step()           {}
func (Release) step()         {}
func (RecordSwitch) step()    {}
func (BindLeases) step()      {}
func (RouteService) step()    {}
func (RemoveMark) step()      {}
func (RecordDone) step()      {}
func (SetCondition) step()    {}
func (RemoveCondition) step() {}
func (Done) step()            {}

func (Look) String() string { return "ask the source and the cluster" }
func (s Begin) String() string {
	if s.Again {
		return fmt.Sprintf("read all keys again, at revision %d of the source", s.Revision)
	}
	return fmt.Sprintf("begin to copy, at revision %d of the source", s.Revision)
}
func (ReadKeys) String() string       { return "copy keys" }
func (s Follow) String() string       { return "follow the source; " + text(s.Condition) }
func (Compare) String() string        { return "compare all keys and values" }
func (RecordStop) String() string     { return "record that writes to the source are stopped" }
func (StopWrites) String() string     { return "stop writes to the source" }
func (s Drain) String() string        { return fmt.Sprintf("copy what is left, up to revision %d", s.To) }
func (s Release) String() string      { return "let writes to the source go on: " + s.Because }
func (RecordSwitch) String() string   { return "record the switch" }
func (BindLeases) String() string     { return "bind keys to their leases" }
func (s RouteService) String() string { return "route Service " + s.Name + " to the members" }
func (RemoveMark) String() string     { return "remove the mark" }
func (RecordDone) String() string     { return "record that the copy is complete" }
func (s SetCondition) String() string { return text(s.Condition) }
func (RemoveCondition) String() string {
	return "remove the condition " + v1beta1.ConditionCopied
}
func (Done) String() string { return "done" }

func text(c metav1.Condition) string {
	return fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
}

// Rests says whether a step asks and changes nothing in etcd, and none of the Services.
func Rests(step Step) bool {
	switch step.(type) {
	case Look, SetCondition, RemoveCondition, RecordDone, Done:
		return true
	case Begin, ReadKeys, Follow, Compare, RecordStop, StopWrites, Drain, Release, RecordSwitch, BindLeases, RouteService, RemoveMark:
	}
	return false
}

// Failed is the condition after an error, until the next try.
func Failed(err error) metav1.Condition {
	return condition(v1beta1.ReasonCopyFailed, "trying again: %s", err)
}

func condition(reason, format string, arguments ...any) metav1.Condition {
	return metav1.Condition{
		Type: v1beta1.ConditionCopied, Status: metav1.ConditionFalse, Reason: reason, Message: fmt.Sprintf(format, arguments...),
	}
}

func report(reason, format string, arguments ...any) SetCondition {
	return SetCondition{Condition: condition(reason, format, arguments...)}
}

func retry(reason, format string, arguments ...any) SetCondition {
	return SetCondition{condition(reason, format, arguments...), true}
}
