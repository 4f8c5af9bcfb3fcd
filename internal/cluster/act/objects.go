// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	networkingv1apply "k8s.io/client-go/applyconfigurations/networking/v1"
	policyv1apply "k8s.io/client-go/applyconfigurations/policy/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/secrets"
)

// applyAll applies the objects of the step: Secrets in their order, because one
// signs another, then the rest at once.
func (a *Actor) applyAll(ctx context.Context, c *v1beta1.EtcdCluster, v cluster.View, s plan.Apply) error {
	wanted := map[string]cluster.Object{}
	for _, object := range s.Objects {
		wanted[object.String()] = object
	}
	secrets, err := a.makeSecrets(ctx, c, wanted)
	if err != nil {
		return err
	}
	objects := append(secrets, specs.HeadlessService(c), specs.ClientService(c), specs.Budget(c, v.MustStay()),
		specs.NetworkPolicy(c, a.Operator))
	for _, service := range memberServices(c, s) {
		objects = append(objects, service)
	}
	for _, certificate := range specs.Certificates(c, a.Domain) {
		objects = append(objects, certificate)
	}
	for _, monitor := range specs.Monitors(c) {
		objects = append(objects, monitor.Unstructured)
	}
	objects = append(objects, specs.Route(c))
	var names []string
	byName, unwanted := map[string]client.Object{}, map[string]string{}
	for _, object := range objects {
		name := kindOf(object) + " " + object.GetName()
		if as, ok := wanted[name]; ok {
			names, byName[name], unwanted[name] = append(names, name), object, as.UID
			delete(wanted, name)
		}
	}
	for name, object := range wanted {
		if object.Kind == "PersistentVolumeClaim" {
			names = append(names, name)
		}
	}
	return atOnce(names, func(name string) error {
		switch object := byName[name]; {
		case object == nil:
			return a.fitVolume(ctx, c, v, wanted[name])
		case unwanted[name] != "":
			return a.drop(ctx, object, unwanted[name])
		default:
			return a.place(ctx, c, object)
		}
	})
}

// drop deletes the object that has this UID, and no other of its name.
func (a *Actor) drop(ctx context.Context, object client.Object, uid string) error {
	how := []client.DeleteOption{client.Preconditions{UID: ptr.To(types.UID(uid))}}
	if _, unwatched := object.(*unstructured.Unstructured); unwatched {
		how = append(how, client.DisableReadYourWritesConsistency)
	}
	if err := client.IgnoreNotFound(a.Client.Delete(ctx, object, how...)); err != nil {
		return fmt.Errorf("delete %s %s: %w", kindOf(object), object.GetName(), err)
	}
	return nil
}

// place applies an object that is there, and creates one that is not. An object of
// the same name that the cache does not show has another owner and is not taken,
// unless it is ours and only its label was changed: then create has read it. Secrets are in no cache.
func (a *Actor) place(ctx context.Context, c *v1beta1.EtcdCluster, object client.Object) error {
	if unwatched, is := object.(*unstructured.Unstructured); is {
		return a.applyUnwatched(ctx, c, unwatched)
	}
	existing, _ := object.DeepCopyObject().(client.Object)
	err := a.Client.Get(ctx, client.ObjectKeyFromObject(object), existing)
	if secret, is := existing.(*corev1.Secret); is && err == nil && !specs.IsMarked(c, secret) {
		return fmt.Errorf("create %s: a %T of that name %w", secret.Name, secret, ErrTaken)
	}
	if apierrors.IsNotFound(err) {
		created, _ := object.DeepCopyObject().(client.Object)
		created.SetResourceVersion("")
		if err := a.create(ctx, c, created, existing); err != nil || existing.GetResourceVersion() == "" {
			return err
		}
	} else if err != nil {
		return fmt.Errorf("get %s: %w", object.GetName(), err)
	}
	if secret, is := existing.(*corev1.Secret); is && object.GetResourceVersion() != "" {
		return a.exchange(ctx, secret, object)
	}
	return a.apply(ctx, object)
}

// exchange has a Secret hold only what the other one holds, unless it has changed since that was made of it. An apply
// would leave an authority trusted that was dropped, if it was created, or put back by others, with it.
func (a *Actor) exchange(ctx context.Context, existing *corev1.Secret, wanted client.Object) error {
	existing.SetResourceVersion(wanted.GetResourceVersion())
	changed := existing.DeepCopy()
	if secret, is := wanted.(*corev1.Secret); is {
		changed.Data = secret.Data
	}
	for name, value := range wanted.GetAnnotations() {
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, name, value)
	}
	way := client.MergeFromWithOptions(existing, client.MergeFromWithOptimisticLock{})
	if err := a.Client.Patch(ctx, changed, way, client.FieldOwner(v1beta1.FieldOwner)); err != nil {
		return fmt.Errorf("patch secret %s: %w", existing.Name, err)
	}
	return nil
}

func kindOf(object client.Object) string { return object.GetObjectKind().GroupVersionKind().Kind }

// makeSecrets makes the wanted Secrets again and returns those that are to be
// applied. An authority that is missing is created and never overwritten: another
// one may have been made meanwhile.
func (a *Actor) makeSecrets(ctx context.Context, c *v1beta1.EtcdCluster, wanted map[string]cluster.Object) ([]client.Object, error) {
	found, err := a.secrets(ctx, c)
	if err != nil {
		return nil, err
	}
	held := certs.Read(c, func(name string) *corev1.Secret { return found[name] })
	held.Domain = a.Domain
	var applied []client.Object
	var unlabelled error
	for _, name := range certs.Names(c) {
		object, isWanted := wanted["Secret "+name]
		turns := object.RotationStep.Stage != ""
		if !isWanted {
			continue
		}
		if !turns && found[name] != nil && held.Fault(c, name, a.Later()) == nil { // an earlier try has made it, or it lacks a label
			labelled := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Labels: specs.Labels(c)}}
			unlabelled = errors.Join(unlabelled, a.relabel(ctx, c, labelled, found[name]))
			continue
		}
		secret, err := a.makeSecret(&held, c, found[name], object)
		switch {
		case err != nil:
			return nil, fmt.Errorf("make secret %s: %w", name, err)
		case secret == nil: // that pass was taken before
		case found[name] == nil && secret.Type == corev1.SecretTypeTLS:
			if err := a.makeAuthority(ctx, c, secret); err != nil {
				return nil, err
			}
		default:
			applied = append(applied, secret)
		}
	}
	return applied, unlabelled
}

func (a *Actor) makeSecret(
	held *certs.KeyMaterial, c *v1beta1.EtcdCluster, found *corev1.Secret, wanted cluster.Object,
) (*corev1.Secret, error) {
	if wanted.RotationStep.Stage == "" {
		return held.Make(a.Random, a.Later(), c, wanted.Name)
	}
	secret, err := held.Turn(a.Random, a.Later(), c, wanted.Name, wanted.RotationStep)
	if secret != nil && found != nil { // refused if it has changed: the next authority may sign already
		secret.ResourceVersion = found.ResourceVersion
	}
	return secret, err
}

func (a *Actor) makeAuthority(ctx context.Context, c *v1beta1.EtcdCluster, secret *corev1.Secret) error {
	existing := &corev1.Secret{}
	if err := a.create(ctx, c, secret, existing); err != nil {
		return err
	}
	if existing.ResourceVersion != "" {
		return ErrChanged // another one was made a moment ago, and may sign already
	}
	return nil
}

// secrets are those of the cluster that exist, by name.
func (a *Actor) secrets(ctx context.Context, c *v1beta1.EtcdCluster) (map[string]*corev1.Secret, error) {
	found, err := secrets.Of(ctx, a.Client, c, certs.Names(c)...)
	if err != nil {
		return nil, err
	}
	for _, name := range certs.TheirSecrets(c) {
		secret := &corev1.Secret{}
		err := a.Live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, secret)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("get secret %s: %w", name, err)
		}
		if err == nil {
			found[name] = secret
		}
	}
	return found, nil
}

// apply is a server-side apply under our field owner.
func (a *Actor) apply(ctx context.Context, object client.Object) error {
	configuration, err := applyConfiguration(object)
	if err != nil {
		return fmt.Errorf("apply %s: %w", object.GetName(), err)
	}
	owner := client.FieldOwner(v1beta1.FieldOwner)
	err = a.Client.Apply(ctx, configuration, owner, client.ForceOwnership)
	if way := clearing(object); way != nil && apierrors.IsInvalid(err) {
		bent, _ := object.DeepCopyObject().(client.Object)
		err = a.Client.Patch(ctx, bent, way, owner)
		if err == nil {
			err = a.Client.Apply(ctx, configuration, owner, client.ForceOwnership)
		}
	}
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", kindOf(object), object.GetName(), err)
	}
	return nil
}

// clearing removes from an object what others have added and the API server does not
// accept beside what we apply: maxUnavailable of a budget, a port of our name with
// another number. It is nil if there is no known conflict.
func clearing(object client.Object) client.Patch {
	var spec map[string]any
	switch o := object.(type) {
	case *corev1.Service:
		spec = map[string]any{"ports": o.Spec.Ports}
	case *policyv1.PodDisruptionBudget:
		spec = map[string]any{"minAvailable": o.Spec.MinAvailable, "maxUnavailable": nil}
	default:
		return nil
	}
	text, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		return nil
	}
	return client.RawPatch(types.MergePatchType, text)
}

func applyConfiguration(object client.Object) (runtime.ApplyConfiguration, error) {
	var configuration runtime.ApplyConfiguration
	switch object.(type) {
	case *corev1.Secret:
		configuration = &corev1apply.SecretApplyConfiguration{}
	case *corev1.Service:
		configuration = &corev1apply.ServiceApplyConfiguration{}
	case *policyv1.PodDisruptionBudget:
		configuration = &policyv1apply.PodDisruptionBudgetApplyConfiguration{}
	case *networkingv1.NetworkPolicy:
		configuration = &networkingv1apply.NetworkPolicyApplyConfiguration{}
	default:
		return nil, fmt.Errorf("no apply configuration for %T", object)
	}
	text, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	if err := json.Unmarshal(text, configuration); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	return configuration, nil
}

// fitVolume brings one part of an existing volume to the spec.
func (a *Actor) fitVolume(ctx context.Context, c *v1beta1.EtcdCluster, v cluster.View, volume cluster.Object) error {
	m, _ := v.Member(volume.Name)
	err := a.changeVolume(ctx, c, volume.Name, func(claim *corev1.PersistentVolumeClaim) {
		aside := claim.Labels[v1beta1.LabelQuarantined] != ""
		size, want := claim.Spec.Resources.Requests[corev1.ResourceStorage], c.VolumeSize()
		switch {
		case volume.Part == cluster.Owner:
			claim.OwnerReferences = specs.VolumeOwners(c)
		case volume.Part == cluster.Labels:
			for label, value := range specs.VolumeLabels(c, volume.Name) {
				metav1.SetMetaDataLabel(&claim.ObjectMeta, label, value)
			}
			delete(claim.Labels, specs.InstanceLabel)
		case volume.Part == cluster.Mark && aside:
			a.setAside(claim)
		case volume.Part == cluster.Version:
			writeVersion(c, claim, m.Version, m.Choice())
		case volume.Part == cluster.Size && !aside && size.Cmp(want) < 0:
			claim.Spec.Resources.Requests[corev1.ResourceStorage] = want
			delete(claim.Annotations, v1beta1.AnnotationGrowthRefused)
			metav1.SetMetaDataAnnotation(&claim.ObjectMeta, v1beta1.AnnotationGrowthAsked, a.Now().UTC().Format(time.RFC3339))
		}
	})
	if volume.Part == cluster.Size && apierrors.IsForbidden(err) {
		return errors.Join(err, a.noteRefusal(ctx, c, volume.Name, err))
	}
	return err
}

// noteRefusal writes on a volume that it may not grow, so that nothing else waits for
// it and the request is not repeated again and again.
func (a *Actor) noteRefusal(ctx context.Context, c *v1beta1.EtcdCluster, name string, refusal error) error {
	size := c.VolumeSize()
	note := fmt.Sprintf("%s %s %s", size.String(), a.Now().UTC().Format(time.RFC3339), words(refusal))
	return a.changeVolume(ctx, c, name, func(claim *corev1.PersistentVolumeClaim) {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, v1beta1.AnnotationGrowthRefused, note)
	})
}

// words are what the API server itself said.
func words(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Message
	}
	return err.Error()
}
