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

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/users"
)

// report writes the status if it has changed, and says so.
func (p *userRun) report(ctx context.Context, s *subject, then users.Verdict, done []string, failed error) error {
	taken := errors.Is(failed, errSecretTaken)
	switch {
	case taken:
		p.taken.Store(true)
		then = users.Verdict{Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonSecretTaken, Message: failed.Error()}
	case failed != nil:
		then = users.Verdict{Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonAccessFailed, Message: "trying again: " + failed.Error()}
	}
	if then.Reason == "" {
		if sameStatus(s.object, s.untouched) {
			return nil
		}
		return p.writeStatus(ctx, s)
	}
	before := meta.FindStatusCondition(*s.conditions, s.condition)
	if before != nil {
		before = before.DeepCopy()
	}
	meta.SetStatusCondition(s.conditions, metav1.Condition{
		Type: s.condition, Status: then.Status, Reason: then.Reason, Message: cut(then.Message, 1024),
		ObservedGeneration: s.object.GetGeneration(),
	})
	if s.observed != nil {
		*s.observed = s.object.GetGeneration()
	}
	if s.user != nil {
		s.user.Status.User = s.user.User()
		if s.secret != nil {
			s.user.Status.Binding = &v1alpha1.EtcdUserBinding{Name: s.user.Secret()}
			s.user.Status.Serial = certs.Serial(s.secret)
		}
	}
	if !sameStatus(s.object, s.untouched) {
		if err := p.writeStatus(ctx, s); err != nil {
			return errors.Join(failed, err)
		}
	}
	p.say(s, before, then, done)
	if taken {
		return nil // it stands in nobody else's way
	}
	return failed
}

func (p *userRun) writeStatus(ctx context.Context, s *subject) error {
	return reportStatus(ctx, p.client, s.object)
}

func sameStatus(a, b client.Object) bool {
	switch a := a.(type) {
	case *v1alpha1.EtcdUser:
		b, is := b.(*v1alpha1.EtcdUser)
		return is && equality.Semantic.DeepEqual(a.Status, b.Status)
	case *v1alpha1.EtcdRole:
		b, is := b.(*v1alpha1.EtcdRole)
		return is && equality.Semantic.DeepEqual(a.Status, b.Status)
	case *v1alpha1.EtcdCluster:
		b, is := b.(*v1alpha1.EtcdCluster)
		return is && equality.Semantic.DeepEqual(a.Status, b.Status)
	}
	return false
}

// say tells in an event what went wrong, what is put back, and that authentication was switched: not what is done for each of a
// thousand users that are new.
func (p *userRun) say(s *subject, before *metav1.Condition, then users.Verdict, done []string) {
	turned := before == nil || before.Reason != then.Reason || before.Status != then.Status
	_, isCluster := s.object.(*v1alpha1.EtcdCluster)
	wrong := then.Status != metav1.ConditionTrue && !isCluster || then.Reason == v1alpha1.ReasonAuthEnabledByHand
	switch {
	case turned && wrong:
		p.events.Eventf(s.object, nil, corev1.EventTypeWarning, then.Reason, "Access", "%s", cut(then.Message, 900))
	case len(done) > 0 && (isCluster || !turned):
		p.events.Eventf(s.object, nil, corev1.EventTypeNormal, "AccessChanged", "Access", "%s", cut(strings.Join(done, "; "), 900))
	}
}

func cut(text string, longest int) string {
	return strings.ToValidUTF8(text[:min(len(text), longest)], "")
}
