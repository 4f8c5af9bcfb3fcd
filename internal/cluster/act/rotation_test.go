// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package act_test

import (
	"bytes"
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// turn brings both authorities on.
func turn(pass cluster.RotationStage, because string) plan.Apply {
	take := cluster.RotationStep{Stage: pass, Because: because, Request: "today"}
	return plan.Apply{Objects: []cluster.Object{
		{Kind: "Secret", Name: "a-client-ca", Why: "it was asked for", RotationStep: take},
		{Kind: "Secret", Name: "a-peer-ca", Why: "it was asked for", RotationStep: take},
	}}
}

func introduce() plan.Apply { return turn(cluster.Introduce, certs.ByRequest) }

// TestFault62Passes: each pass changes the Secrets of the authorities and nothing else, and what members and clients mount
// follows with the next step.
func TestFault62Passes(t *testing.T) {
	s := newScene(t, example(), seen(), secrets(t, now)...)
	first, mounted := s.secret("a-client-ca").Data[corev1.TLSCertKey], s.secret("a-member-tls")
	phases := func() string { return string(s.held().ClientCA.Phase() + " " + s.held().PeerCA.Phase()) }
	follow := func() { s.mustDo(plan.Apply{Objects: applyAll().Objects[2:4]}) }

	s.mustDo(introduce())
	if got := phases(); got != "Introduced Introduced" || !bytes.Equal(s.secret("a-client-ca").Data[corev1.TLSCertKey], first) {
		t.Errorf("introduced: %s", got)
	}
	if now := s.secret("a-member-tls"); now.ResourceVersion != mounted.ResourceVersion {
		t.Error("what members mount was changed in the same step")
	}
	follow()
	member := s.secret("a-member-tls")
	if trusted := member.Annotations[v1beta1.AnnotationTrust]; trusted == "" {
		t.Error("nothing says that members trust others than before")
	}
	if !bytes.Equal(member.Data["server.crt"], mounted.Data["server.crt"]) {
		t.Error("a certificate was issued again that nothing is wrong with")
	}
	s.mustDo(turn(cluster.Switch, ""))
	follow()
	after := s.secret("a-member-tls")
	if got := phases(); got != "Switched Switched" || bytes.Equal(after.Data["server.crt"], mounted.Data["server.crt"]) {
		t.Errorf("switched: %s", got)
	}
	if after.Annotations[v1beta1.AnnotationTrust] != member.Annotations[v1beta1.AnnotationTrust] {
		t.Error("members would restart because another of the two signs")
	}
	s.mustDo(turn(cluster.Drop, ""))
	follow()
	ca := s.secret("a-client-ca")
	if got := phases(); got != "Stable Stable" || len(ca.Data) != 3 || bytes.Equal(ca.Data[corev1.TLSCertKey], first) {
		t.Errorf("dropped: %s", got)
	}
	if ca.Annotations[v1beta1.AnnotationRotate] != "today" || ca.Annotations[v1beta1.AnnotationRotatedBecause] != certs.ByRequest {
		t.Errorf("it is forgotten why it was rotated: %v", ca.Annotations)
	}
	if s.secret("a-member-tls").Annotations[v1beta1.AnnotationTrust] == member.Annotations[v1beta1.AnnotationTrust] {
		t.Error("members would go on to trust what was dropped")
	}
}

// dated is an API server as an old cache shows it: one Secret is as it was.
type dated struct {
	*api
	old *corev1.Secret
}

func (d dated) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	if secret, is := object.(*corev1.Secret); is && key.Name == d.old.Name {
		d.old.DeepCopyInto(secret)
		return nil
	}
	return d.api.Get(ctx, key, object, opts...)
}

// TestFault62StaleCache: an operator whose cache is old does not take back what another has done: its write is refused, in
// every pass.
func TestFault62StaleCache(t *testing.T) {
	for i, pass := range []cluster.RotationStage{cluster.Introduce, cluster.Switch, cluster.Drop} {
		s := newScene(t, example(), seen(), secrets(t, now)...)
		for _, before := range []cluster.RotationStage{cluster.Introduce, cluster.Switch}[:i] {
			s.mustDo(turn(before, certs.ByRequest))
		}
		old := s.secret("a-client-ca")
		s.mustDo(turn(pass, certs.ByRequest))
		done := s.secret("a-client-ca")
		if err := s.do(turn(pass, certs.ByRequest)); err != nil || s.secret("a-client-ca").ResourceVersion != done.ResourceVersion {
			t.Errorf("%s is taken twice: %v", pass, err)
		}
		s.actor.Client = dated{s.api, old}
		if err := s.do(turn(pass, certs.ByRequest)); !apierrors.IsConflict(err) {
			t.Errorf("%s over a newer Secret: %v", pass, err)
		}
		if s.secret("a-client-ca").ResourceVersion != done.ResourceVersion {
			t.Errorf("%s was written over a newer Secret", pass)
		}
	}
}

// TestFault63LostAuthorityIsIntroduced: what members trust comes from the Secret that they mount, and their certificates
// stay as they are until the next authority signs.
func TestFault63LostAuthorityIsIntroduced(t *testing.T) {
	all := secrets(t, now)
	s := newScene(t, example(), seen(), all[1:]...) // that of clients is gone
	mounted := s.secret("a-member-tls")
	s.mustDo(plan.Apply{Objects: turn(cluster.Introduce, certs.ByLoss).Objects[:1]})
	ca := s.secret("a-client-ca")
	if !bytes.Equal(ca.Data[corev1.TLSCertKey], mounted.Data["client-ca.crt"]) || len(ca.Data[corev1.TLSPrivateKeyKey]) > 0 {
		t.Error("it does not hold what members trust")
	}
	held := s.held()
	if lost := held.Lost(s.c, "a-client-ca", now); lost != nil || held.ClientCA.Phase() != cluster.Introduced {
		t.Errorf("it still counts as lost: %v, %s", lost, held.ClientCA.Phase())
	}
	s.mustDo(plan.Apply{Objects: applyAll().Objects[2:4]})
	member := s.secret("a-member-tls")
	defer func() {
		s.mustDo(plan.Apply{Objects: turn(cluster.Switch, "").Objects[:1]})
		s.mustDo(plan.Apply{Objects: turn(cluster.Drop, "").Objects[:1]})
		if ca := s.secret("a-client-ca"); len(ca.Data) != 3 || s.held().ClientCA.Phase() != cluster.Stable {
			t.Errorf("it keeps what it was created with: %d keys, %s", len(ca.Data), s.held().ClientCA.Phase())
		}
	}()
	isSame := func(key string) bool { return bytes.Equal(member.Data[key], mounted.Data[key]) }
	if !isSame("server.crt") || isSame("client-ca.crt") {
		t.Error("members do not get the next authority, or get certificates that are not trusted")
	}
}
