// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// lists reads the Pods and volumes that carry the cluster's label. While the first members are
// decided on, volumes count that lost our labels, or never had any.
func (o *Observer) lists(ctx context.Context, s *facts.Snapshot, beginning bool) error {
	from, ours := o.Cache, []client.ListOption{client.InNamespace(s.Cluster.Namespace), client.MatchingLabels(specs.MemberSelector(s.Cluster))}
	if beginning {
		from = o.Live
	}
	var pods corev1.PodList
	if err := from.List(ctx, &pods, ours...); err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	if beginning && s.Cluster.Spec.Storage.Ephemeral == nil {
		ours = ours[:1]
	}
	var claims corev1.PersistentVolumeClaimList
	if err := from.List(ctx, &claims, ours...); err != nil {
		return fmt.Errorf("list volumes: %w", err)
	}
	s.Pods, s.Volumes = pods.Items, claims.Items
	return nil
}

// awaited reads the backup that something waits for.
func (o *Observer) awaited(ctx context.Context, s *facts.Snapshot, name string) error {
	if name == "" {
		return nil
	}
	var err error
	s.Awaited, err = read(ctx, o.Cache, client.ObjectKey{Namespace: s.Cluster.Namespace, Name: name}, &v1beta1.EtcdBackup{})
	return err
}

// backups reads which backups there are, and the EtcdRestore for one of them, while quorum may be lost for good.
func (o *Observer) backups(ctx context.Context, s *facts.Snapshot, accepted string) error {
	var backups v1beta1.EtcdBackupList
	if err := o.Cache.List(ctx, &backups, client.InNamespace(s.Cluster.Namespace)); err != nil {
		return fmt.Errorf("list EtcdBackups: %w", err)
	}
	s.Backups = backups.Items
	if accepted == "" {
		return nil
	}
	var err error
	s.Accepted, err = read(ctx, o.Cache, client.ObjectKey{Namespace: s.Cluster.Namespace, Name: accepted}, &v1beta1.EtcdRestore{})
	return err
}

// backingUp looks for a backup of the cluster that is being written.
func (o *Observer) backingUp(ctx context.Context, s *facts.Snapshot) error {
	var backups v1beta1.EtcdBackupList
	of := client.MatchingFields{v1beta1.FieldCluster: s.Cluster.Name}
	if err := o.Cache.List(ctx, &backups, client.InNamespace(s.Cluster.Namespace), of); err != nil {
		return fmt.Errorf("list EtcdBackups: %w", err)
	}
	s.BackingUp = facts.BackingUp(s.Cluster, backups.Items)
	return nil
}

// named asks the API server itself for the Pods and volumes that are in doubt.
func (o *Observer) named(ctx context.Context, s *facts.Snapshot, doubts []facts.Doubt) error {
	all := make([]facts.Named, len(doubts))
	err := atOnce(len(doubts), func(i int) error {
		var err error
		all[i], err = o.confirm(ctx, s.Cluster.Namespace, doubts[i])
		return err
	})
	s.Named = map[string]facts.Named{}
	for i, doubt := range doubts {
		s.Named[doubt.Member] = all[i]
	}
	return err
}

func (o *Observer) confirm(ctx context.Context, namespace string, doubt facts.Doubt) (facts.Named, error) {
	named := facts.Named{AskedPod: doubt.Pod}
	key := client.ObjectKey{Namespace: namespace, Name: doubt.Member}
	var err error
	if doubt.Pod {
		if named.Pod, err = read(ctx, o.Live, key, &corev1.Pod{}); err != nil {
			return named, err
		}
	}
	if doubt.Volume {
		named.Volume, err = read(ctx, o.Live, key, &corev1.PersistentVolumeClaim{})
	}
	return named, err
}

// objects reads the supporting objects.
func (o *Observer) objects(ctx context.Context, s *facts.Snapshot) error {
	c := s.Cluster
	s.Services = map[string]*corev1.Service{}
	names := certs.Names(c)
	if meta.IsStatusConditionTrue(c.Status.Conditions, v1beta1.ConditionAuthEnabled) && !c.HasRootSecret() {
		names = append(names, c.RootSecret()) // the operator may need it to connect, if authentication was enabled by hand
	}
	var own, external error
	s.Secrets, own = namedSecrets(ctx, o.Cache, c.Namespace, names)
	// External Secrets have no label by which the cache would show them.
	s.ExternalSecrets, external = namedSecrets(ctx, o.Live, c.Namespace, certs.TheirSecrets(c))
	if err := errors.Join(own, external, o.certificates(ctx, s), o.monitors(ctx, s), o.route(ctx, s)); err != nil {
		return err
	}
	for _, service := range []*corev1.Service{specs.HeadlessService(c), specs.ClientService(c)} {
		var err error
		if s.Services[service.Name], err = read(ctx, o.Cache, client.ObjectKeyFromObject(service), &corev1.Service{}); err != nil {
			return err
		}
	}
	if err := o.memberServices(ctx, s); err != nil {
		return err
	}
	var err error
	if s.Budget, err = read(ctx, o.Cache, client.ObjectKeyFromObject(specs.Budget(c, 0)), &policyv1.PodDisruptionBudget{}); err != nil {
		return err
	}
	s.Policy, err = read(ctx, o.Cache, client.ObjectKey{Namespace: c.Namespace, Name: c.MemberPolicy()}, &networkingv1.NetworkPolicy{})
	return err
}

// memberServices reads the Services of single members, also those of members that are gone.
func (o *Observer) memberServices(ctx context.Context, s *facts.Snapshot) error {
	var services corev1.ServiceList
	ours := client.MatchingLabels(specs.MemberSelector(s.Cluster))
	if err := o.Cache.List(ctx, &services, client.InNamespace(s.Cluster.Namespace), ours, client.HasLabels{v1beta1.LabelMember}); err != nil {
		return fmt.Errorf("list services of members: %w", err)
	}
	for i := range services.Items {
		s.Services[services.Items[i].Name] = &services.Items[i]
	}
	return nil
}

// namedSecrets are the Secrets of these names that exist, by name. They are read side by side: most of them have no cache, and each
// read costs the time that the API server takes.
func namedSecrets(ctx context.Context, from client.Reader, namespace string, names []string) (map[string]*corev1.Secret, error) {
	all := make([]*corev1.Secret, len(names))
	err := atOnce(len(names), func(i int) error {
		var err error
		all[i], err = read(ctx, from, client.ObjectKey{Namespace: namespace, Name: names[i]}, &corev1.Secret{})
		return err
	})
	found := map[string]*corev1.Secret{}
	for i, secret := range all {
		if secret != nil {
			found[names[i]] = secret
		}
	}
	return found, err
}

// nodes reads the nodes that members run on, and those that a member may wait for in vain. Without
// permission to read nodes, or the Pods on them, their faults are not seen.
func (o *Observer) nodes(ctx context.Context, s *facts.Snapshot) error {
	if o.NoNodes {
		return nil
	}
	s.Nodes, s.Disks, s.Hosts = map[string]*corev1.Node{}, map[string]*corev1.PersistentVolume{}, map[string][]corev1.Node{}
	for _, reads := range facts.ByConfirmed(*s) {
		if err := o.node(ctx, s, reads); err != nil && !apierrors.IsForbidden(err) {
			return err
		}
	}
	return nil
}

func (o *Observer) node(ctx context.Context, s *facts.Snapshot, reads facts.NodeRead) error {
	pod := reads.Pod
	if name := pod.Spec.NodeName; name != "" {
		node, err := read(ctx, o.Cache, client.ObjectKey{Name: name}, &corev1.Node{})
		s.Nodes[name] = node
		return err
	}
	if !reads.Disk {
		return nil
	}
	claim, err := read(ctx, o.Cache, client.ObjectKeyFromObject(pod), &corev1.PersistentVolumeClaim{})
	if claim == nil || err != nil || claim.Spec.VolumeName == "" {
		return err
	}
	disk, err := read(ctx, o.Live, client.ObjectKey{Name: claim.Spec.VolumeName}, &corev1.PersistentVolume{})
	if err != nil {
		return err
	}
	s.Disks[pod.Name] = disk
	for _, host := range facts.AffinityHosts(disk) {
		if s.Hosts[host], err = o.nodesAt(ctx, host); err != nil {
			delete(s.Hosts, host)
			return err
		}
	}
	return nil
}

// nodesAt are the nodes of that hostname. It is a label of theirs, which need not be their
// name; a node of that name counts, too, so that none is taken for gone that may be meant.
func (o *Observer) nodesAt(ctx context.Context, hostname string) ([]corev1.Node, error) {
	var labelled corev1.NodeList
	if len(validation.IsValidLabelValue(hostname)) == 0 { // else no node has it, and the API server refuses the question
		if err := o.Live.List(ctx, &labelled, client.MatchingLabels{corev1.LabelHostname: hostname}); err != nil {
			return nil, fmt.Errorf("list nodes with hostname %s: %w", hostname, err)
		}
	}
	if len(labelled.Items) > 0 {
		return labelled.Items, nil
	}
	node, err := read(ctx, o.Live, client.ObjectKey{Name: hostname}, &corev1.Node{})
	if node == nil || err != nil {
		return nil, err
	}
	return []corev1.Node{*node}, nil
}

// read is the object of that name; the zero value of its type if there is none.
func read[T client.Object](ctx context.Context, from client.Reader, key client.ObjectKey, into T) (T, error) {
	var none T
	err := from.Get(ctx, key, into)
	if apierrors.IsNotFound(err) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("get %T %s: %w", into, key.Name, err)
	}
	return into, nil
}

// users reads the Secrets of EtcdUsers of the cluster, which applications mount, when the next pass of a rotation or revocation waits for
// nothing else.
func (o *Observer) users(ctx context.Context, s *facts.Snapshot) error {
	c := s.Cluster
	var users v1beta1.EtcdUserList
	if err := o.Cache.List(ctx, &users, client.InNamespace(c.Namespace)); err != nil {
		return fmt.Errorf("list EtcdUsers: %w", err)
	}
	theirs := slices.DeleteFunc(users.Items, func(u v1beta1.EtcdUser) bool { return u.Spec.Cluster != c.Name || u.DeletionTimestamp != nil })
	secrets := make([]*corev1.Secret, len(theirs))
	err := atOnce(len(theirs), func(i int) error {
		secret, err := read(ctx, o.Cache, client.ObjectKey{Namespace: c.Namespace, Name: theirs[i].Secret()}, &corev1.Secret{})
		if secret != nil && metav1.IsControlledBy(secret, &theirs[i]) {
			secrets[i] = secret
		}
		return err
	})
	s.Users = slices.DeleteFunc(secrets, func(secret *corev1.Secret) bool { return secret == nil })
	return err
}

// readers is how many objects are read at once.
const readers = 16

// atOnce does the same for each of a number of things, a few at a time, and returns all errors.
func atOnce(number int, do func(i int) error) error {
	errs := make([]error, number)
	places := make(chan struct{}, readers)
	var all sync.WaitGroup
	for i := range number {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			errs[i] = do(i)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
