// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/etcd-operator/etcd-operator/controllers/lease"
	"github.com/etcd-operator/etcd-operator/internal/cluster/act"
	"github.com/etcd-operator/etcd-operator/internal/cluster/memory"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// classifyError says what an error means that a step has ended with. A leader that ends before it has
// handed over is not ready to: nothing is wrong, its members elect another one.
func classifyError(step plan.Step, err error) memory.Ending {
	_, hands := step.(plan.MoveLeader)
	return memory.Ending{
		Err: err, Denied: denial(err), Outdated: isOutdated(err),
		NotReady: errors.Is(err, etcd.ErrNotReady) || hands && etcd.IsAway(err),
	}
}

// isOutdated says whether the error is worth no word, only another look: what was
// observed has changed meanwhile.
func isOutdated(err error) bool {
	return errors.Is(err, act.ErrChanged) || errors.Is(err, act.ErrStale) || errors.Is(err, lease.ErrNotLeading) || apierrors.IsConflict(err)
}

// denial are the words with which Kubernetes refuses something, if it does, be it because
// the name is taken. An API server that is overloaded, or that reports a conflict, refuses
// nothing. One that fails by itself may do so because a webhook does not answer.
func denial(err error) string {
	if errors.Is(err, act.ErrTaken) {
		return err.Error()
	}
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return ""
	}
	status := answer.Status()
	switch status.Code {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusInternalServerError:
		return status.Message
	default:
		return ""
	}
}

// waited makes a wait of a step that etcd refuses for now: users see what it waits for, and it is
// tried again soon.
func waited(step plan.Step, e memory.Ending) (plan.Step, memory.Ending) {
	if !e.NotReady {
		return step, e
	}
	if move, hands := step.(plan.MoveLeader); hands && !errors.Is(e.Err, etcd.ErrNotReady) {
		return plan.Wait{For: "leadership to leave " + move.From, Look: plan.Soon}, memory.Ending{}
	}
	return plan.Wait{For: "etcd to be ready to " + step.String(), Look: plan.Soon}, memory.Ending{}
}
