// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/users"
)

// reportOn writes the status of an object if it has changed, and says so.
func (p *userRun) reportOn(ctx context.Context, t *target, done []string, failed error) error {
	taken, says := errors.Is(failed, errSecretTaken), t.Condition
	switch {
	case taken:
		p.taken.Store(true)
		says = users.Condition{Status: metav1.ConditionFalse, Reason: v1beta1.ReasonSecretTaken, Message: failed.Error()}
	case failed != nil:
		says = users.Condition{Status: metav1.ConditionFalse, Reason: v1beta1.ReasonAccessFailed, Message: "trying again: " + failed.Error()}
	}
	event := p.event(t, says, done)
	if says.Reason != "" {
		t.set(says)
	}
	if !equality.Semantic.DeepEqual(statusIn(t.object), statusIn(t.read)) {
		if err := p.writeStatus(ctx, t); err != nil {
			return errors.Join(err, failed) // the first one counts
		}
	}
	event()
	if taken {
		return nil // it blocks no other object
	}
	return failed
}

// set sets the condition, and what else a status has.
func (t *target) set(says users.Condition) {
	meta.SetStatusCondition(t.conditions, metav1.Condition{
		Type: t.condition, Status: says.Status, Reason: says.Reason, Message: cut(says.Message, 1024),
		ObservedGeneration: t.object.GetGeneration(),
	})
	if t.observed != nil {
		*t.observed = t.object.GetGeneration()
	}
	if t.user == nil {
		return
	}
	t.user.Status.User = t.user.User()
	if t.secret != nil {
		t.user.Status.Binding = &v1beta1.EtcdUserBinding{Name: t.user.Secret()}
		t.user.Status.Serial = certs.Serial(t.secret)
	}
}

func (p *userRun) writeStatus(ctx context.Context, t *target) error {
	if err := reportStatus(ctx, p.client, t.object); err != nil {
		return err
	}
	t.read, _ = t.object.DeepCopyObject().(client.Object)
	return nil
}

func statusIn(object client.Object) any {
	switch o := object.(type) {
	case *v1beta1.EtcdUser:
		return o.Status
	case *v1beta1.EtcdRole:
		return o.Status
	case *v1beta1.EtcdCluster:
		return o.Status
	}
	return nil
}

// event reports what went wrong, what is put back, and that authentication is switched: not what is done for each of a thousand users that
// are new. It compares with the condition of before.
func (p *userRun) event(t *target, says users.Condition, done []string) (send func()) {
	before := meta.FindStatusCondition(*t.conditions, t.condition)
	turned := says.Reason != "" && (before == nil || before.Reason != says.Reason || before.Status != says.Status)
	_, isCluster := t.object.(*v1beta1.EtcdCluster)
	wrong := says.Status != metav1.ConditionTrue && !isCluster || says.Reason == v1beta1.ReasonAuthEnabledByHand
	switch {
	case turned && wrong:
		return func() {
			p.events.Eventf(t.object, nil, corev1.EventTypeWarning, says.Reason, "Access", "%s", cut(says.Message, 900))
		}
	case len(done) > 0 && (isCluster || !turned && says.Reason != ""):
		what := cut(strings.Join(done, "; "), 900)
		return func() { p.events.Eventf(t.object, nil, corev1.EventTypeNormal, "AccessChanged", "Access", "%s", what) }
	}
	return func() {}
}

func cut(text string, longest int) string {
	return strings.ToValidUTF8(text[:min(len(text), longest)], "")
}
