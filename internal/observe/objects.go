package observe

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/build"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/pki"
	"github.com/etcd-operator/etcd-operator/internal/trust"
)

// objects names the supporting objects that are missing or not as wanted.
func (o *Observer) objects(ctx context.Context, c *v1alpha1.EtcdCluster, v *cluster.View) error {
	if err := o.secrets(ctx, c, v); err != nil {
		return err
	}
	headless, clients := build.HeadlessService(c), build.ClientService(c)
	for _, want := range []*corev1.Service{headless, clients} {
		have := &corev1.Service{}
		err := o.compare(ctx, c, v, "Service", want, have, func() bool {
			return isService(want.Spec, have.Spec)
		})
		if err != nil {
			return err
		}
	}
	want, have := build.Budget(c, v.MustStay()), &policyv1.PodDisruptionBudget{}
	return o.compare(ctx, c, v, "PodDisruptionBudget", want, have, func() bool {
		return equality.Semantic.DeepDerivative(want.Spec, have.Spec) && equality.Semantic.DeepEqual(want.Spec.Selector, have.Spec.Selector)
	})
}

// isService says whether a Service selects what is wanted and nothing less, and has the
// wanted ports, at whatever place. Ports that somebody has added are theirs.
func isService(want, have corev1.ServiceSpec) bool {
	for _, port := range want.Ports {
		same := func(p corev1.ServicePort) bool { return equality.Semantic.DeepDerivative(port, p) }
		if !slices.ContainsFunc(have.Ports, same) {
			return false
		}
	}
	want.Ports = nil
	return equality.Semantic.DeepDerivative(want, have) && maps.Equal(want.Selector, have.Selector)
}

func (o *Observer) secrets(ctx context.Context, c *v1alpha1.EtcdCluster, v *cluster.View) error {
	found, err := o.foundSecrets(ctx, c, v)
	if err != nil {
		return err
	}
	held := trust.Read(c, func(name string) *corev1.Secret { return found[name] })
	v.Lost, v.Ending = lost(c, held), held.Ending(c, o.Now())
	for _, name := range trust.Names(c) {
		if secret := found[name]; secret != nil && belongsToOthers(c, v, "Secret", secret) {
			continue
		}
		fault := held.Fault(c, name, o.Now())
		abandoned := found[name] != nil && build.IsAbandoned(c, found[name])
		switch {
		case abandoned && fault != nil && slices.Contains(trust.Authorities(c), name):
			v.Foreign = append(v.Foreign, cluster.Object{Kind: "Secret", Name: name, Why: "no EtcdCluster owns it, and " + fault.Error()})
		case abandoned && fault == nil:
			v.Objects = append(v.Objects, cluster.Object{Kind: "Secret", Name: name, Why: unowned, CanWait: true})
		case fault != nil:
			parts := slices.ContainsFunc(v.Lost, func(lost cluster.Object) bool { return trust.Signs(c, lost.Name, name) })
			v.Objects = append(v.Objects, cluster.Object{
				Kind: "Secret", Name: name, Why: fault.Error(), Parts: parts, CanWait: name == c.ClientSecret() || pki.IsDue(fault),
			})
		}
	}
	return nil
}

// foundSecrets reads the Secrets of the cluster that are there, by their names.
func (o *Observer) foundSecrets(ctx context.Context, c *v1alpha1.EtcdCluster, v *cluster.View) (map[string]*corev1.Secret, error) {
	found := map[string]*corev1.Secret{}
	for _, name := range trust.Names(c) {
		secret := &corev1.Secret{}
		key := client.ObjectKey{Namespace: c.Namespace, Name: name}
		there, err := o.cached(ctx, key, secret)
		if err == nil && !there && slices.Contains(trust.Authorities(c), name) {
			there, err = o.unlabelled(ctx, c, v, key, secret)
		}
		if err != nil {
			return nil, err
		}
		if there {
			found[name] = secret
		}
	}
	return found, nil
}

// unowned is said of an object of the cluster that is adopted.
const unowned = "no EtcdCluster owns it"

// unlabelled finds an authority of ours from which somebody took the label by which the cache
// finds it. Nothing takes the place of one, so that it is looked for before it counts as lost.
func (o *Observer) unlabelled(
	ctx context.Context, c *v1alpha1.EtcdCluster, v *cluster.View, key client.ObjectKey, secret *corev1.Secret,
) (bool, error) {
	there, err := o.read(ctx, key, secret)
	if !there || err != nil || !metav1.IsControlledBy(secret, c) {
		return false, err
	}
	if lacksLabels(c, secret) {
		v.Objects = append(v.Objects, cluster.Object{Kind: "Secret", Name: key.Name, Why: "somebody took labels off it", CanWait: true})
	}
	return true, nil
}

// lost are the authorities that cannot sign.
func lost(c *v1alpha1.EtcdCluster, held trust.Held) []cluster.Object {
	var all []cluster.Object
	for _, name := range trust.Authorities(c) {
		err := held.Lost(c, name)
		if err == nil {
			continue
		}
		object := cluster.Object{Kind: "Secret", Name: name, Why: err.Error()}
		if held.Holds(c, name) {
			object.Holder = build.MemberSecret(c)
		}
		all = append(all, object)
	}
	return all
}

func (o *Observer) compare(
	ctx context.Context, c *v1alpha1.EtcdCluster, v *cluster.View, kind string, want, have client.Object, asWanted func() bool,
) error {
	there, err := o.cached(ctx, client.ObjectKeyFromObject(want), have)
	if err != nil {
		return err
	}
	object := cluster.Object{Kind: kind, Name: want.GetName(), Why: "it is missing"}
	switch {
	case there && belongsToOthers(c, v, kind, have):
		return nil
	case there && build.IsAbandoned(c, have):
		object.Why = unowned
	case there && !asWanted():
		object.Why = "it is not as wanted" + amount(want)
	case there && equality.Semantic.DeepDerivative(want.GetLabels(), have.GetLabels()):
		return nil
	case there:
		object.Why, object.CanWait = "labels of it are not as wanted", true
	}
	v.Objects = append(v.Objects, object)
	return nil
}

// amount is what of an object is now this and now that: another one is another wish.
func amount(want client.Object) string {
	if budget, is := want.(*policyv1.PodDisruptionBudget); is {
		return ": " + budget.Spec.MinAvailable.String() + " pods must stay"
	}
	return ""
}

func belongsToOthers(c *v1alpha1.EtcdCluster, v *cluster.View, kind string, have client.Object) bool {
	foreign, why := foreignTo(c, have)
	if why == "" {
		return false
	}
	foreign.Kind = kind
	v.Foreign = append(v.Foreign, foreign)
	return true
}

func (o *Observer) cached(ctx context.Context, key client.ObjectKey, into client.Object) (bool, error) {
	err := o.Cache.Get(ctx, key, into)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get %s: %w", key.Name, err)
	}
	return true, nil
}
