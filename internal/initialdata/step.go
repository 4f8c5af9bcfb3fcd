// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package initialdata

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
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
	// ReadSource reads the ConfigMap or Secret, and the EtcdCluster as it is now. What is to be done then is asked again.
	ReadSource struct{ Name string }
	// WriteKeys puts the keys into etcd that it does not have. They are sorted.
	WriteKeys struct {
		Keys []etcd.KeyValue
		From string // the kind and name of the source
	}
	// SetCondition says why nothing is written.
	SetCondition struct {
		Condition metav1.Condition
		Again     bool // the source is read again after a pause, since no watch reports when it changes
	}
	// RemoveCondition removes the condition: nothing is to be imported any more.
	RemoveCondition struct{}
	// Done means that there is nothing to do.
	Done struct{}
)

func (ReadSource) step()      {}
func (WriteKeys) step()       {}
func (SetCondition) step()    {}
func (RemoveCondition) step() {}
func (Done) step()            {}

func (s ReadSource) String() string { return "read " + s.Name }
func (s WriteKeys) String() string  { return "write the keys of " + s.From }
func (s SetCondition) String() string {
	return fmt.Sprintf("%s=%s %s: %s", s.Condition.Type, s.Condition.Status, s.Condition.Reason, s.Condition.Message)
}

func (RemoveCondition) String() string { return "remove the condition " + v1beta1.ConditionImported }
func (Done) String() string            { return "done" }

// Written is the condition when all keys are in etcd.
func Written(c *v1beta1.EtcdCluster, keys, kept int32) metav1.Condition {
	message := fmt.Sprintf("%d keys of %s are in etcd", keys, Name(c))
	if keys == 1 {
		message = "the key of " + Name(c) + " is in etcd"
	}
	if kept > 0 {
		message += fmt.Sprintf("; %d were there already and are as they were", kept)
	}
	return metav1.Condition{
		Type: v1beta1.ConditionImported, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonKeysWritten, Message: message,
	}
}

// Failed is the condition after an error, until the next try.
func Failed(err error) metav1.Condition {
	return report(v1beta1.ReasonImportFailed, "trying again: %s", err).Condition
}

func report(reason, format string, arguments ...any) SetCondition {
	return SetCondition{Condition: metav1.Condition{
		Type: v1beta1.ConditionImported, Status: metav1.ConditionFalse, Reason: reason, Message: fmt.Sprintf(format, arguments...),
	}}
}

func retry(reason, format string, arguments ...any) SetCondition {
	step := report(reason, format, arguments...)
	step.Again = true
	return step
}
