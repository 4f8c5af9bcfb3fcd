package controllers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/act"
	"github.com/etcd-operator/etcd-operator/internal/cluster/limits"
	"github.com/etcd-operator/etcd-operator/internal/cluster/observe"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/connect"
)

// The lease is renewed every renewPeriod, and lost when that fails for leaseDuration. A
// standby reads it when a watch reports that it was renewed or given up, and every rereadPeriod
// if the watch reports nothing. Both try every tryPeriod, which sends no request unless one of these
// is so: see eagerLock. Together that is about one request in two seconds.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	renewPeriod   = 4 * time.Second
	rereadPeriod  = 5 * time.Second
	tryPeriod     = 200 * time.Millisecond
	rewatchPeriod = 10 * time.Second
)

// Options configure a manager.
type Options struct {
	MetricsAddress  string // 0 turns metrics off
	InsecureMetrics bool   // serve metrics over HTTP and to everybody
	// MetricsCertificate is what the metrics endpoint shows. Default: a self-signed certificate.
	MetricsCertificate MetricsCertificate
	ProbeAddress       string // 0 turns probes off
	LeaderElect        bool
	LeaseNamespace     string   // default: the Pod's own
	Namespaces         []string // to watch; none means all
	// Images are to be taken for versions of etcd where the user chooses none.
	Images specs.Images
	// Limits are what EtcdClusters may request.
	Limits limits.Limits
	// StoreEndpoints are those that stores of backups may send tokens to, besides those of their providers.
	StoreEndpoints []string
	// Proxy are variables of Jobs, by which they reach stores through a proxy.
	Proxy []corev1.EnvVar
	// HasOperatorCondition says that Operator Lifecycle Manager keeps an OperatorCondition
	// of this operator. Its name is in the environment.
	HasOperatorCondition bool
	// TaskImage is what Jobs of backups run. Default: the image of the operator's own Pod, which PodNamespace and PodName name. By
	// PodNamespace, NetworkPolicies of members let it in, too.
	TaskImage, PodNamespace, PodName string
	// TaskPullSecrets are names of Secrets by which every Job pulls its images, in the Job's namespace. None: the ServiceAccount's.
	TaskPullSecrets []string
	Version         string // of the operator
	Now             func() time.Time
	Random          io.Reader
}

// NewManager makes a manager that reconciles EtcdClusters once it is started.
func NewManager(ctx context.Context, config *rest.Config, chosen Options) (ctrl.Manager, error) {
	clock := &serverClock{now: chosen.Now}
	config = rest.CopyConfig(config)
	config.Wrap(clock.wrap)
	manager, lock, err := newManager(config, chosen)
	if err != nil {
		return nil, err
	}
	if err := addController(ctx, manager, config, lock, clock, chosen); err != nil {
		return nil, err
	}
	return manager, addProbes(manager, config, lock, chosen)
}

// addProbes also reports to Operator Lifecycle Manager whether an update may come, if it is
// there: a replica is not ready before that.
func addProbes(manager ctrl.Manager, config *rest.Config, lock resourcelock.Interface, chosen Options) error {
	ready := healthz.Ping
	if chosen.HasOperatorCondition {
		added, err := addUpgradeable(manager, config, nameOf(lock), chosen.Now)
		if err != nil {
			return err
		}
		ready = added.ready
	}
	if err := errors.Join(manager.AddHealthzCheck("healthz", healthz.Ping), manager.AddReadyzCheck("readyz", ready)); err != nil {
		return fmt.Errorf("add probes: %w", err)
	}
	return nil
}

// nameOf is the name of an installation: that of its Lease, with its namespace; empty
// without one.
func nameOf(lock resourcelock.Interface) string {
	if lock == nil {
		return ""
	}
	return lock.Describe()
}

// newManager makes a manager that has nothing to do but to lead, and the lease by which
// it does, if it needs one.
func newManager(config *rest.Config, chosen Options) (ctrl.Manager, resourcelock.Interface, error) {
	options, err := managerOptions(chosen)
	if err != nil {
		return nil, nil, err
	}
	var lock resourcelock.Interface
	var waiting *standby
	if chosen.LeaderElect {
		if waiting, err = newStandby(config, chosen.LeaseNamespace, chosen.Now); err != nil {
			return nil, nil, err
		}
		lock = waiting.lock
		options.LeaderElectionResourceLockInterface = lock
	}
	manager, err := ctrl.NewManager(config, options)
	if err != nil {
		return nil, nil, fmt.Errorf("make the manager: %w", err)
	}
	if waiting == nil {
		return manager, nil, nil
	}
	waiting.elected = manager.Elected()
	if err := manager.Add(waiting); err != nil {
		return nil, nil, fmt.Errorf("watch the lease: %w", err)
	}
	return manager, lock, nil
}

func managerOptions(chosen Options) (ctrl.Options, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return ctrl.Options{}, fmt.Errorf("build the scheme: %w", err)
		}
	}
	metrics, err := metricsOptions(chosen)
	if err != nil {
		return ctrl.Options{}, err
	}
	return ctrl.Options{
		Scheme:                 scheme,
		Cache:                  cacheOptions(chosen.Namespaces),
		Client:                 clientOptions(chosen.Namespaces),
		NewClient:              newBoundedClient,
		Metrics:                metrics,
		HealthProbeBindAddress: chosen.ProbeAddress,
		LeaderElection:         chosen.LeaderElect,
		// A replica that stands by watches what the one that leads does. Names of
		// controllers are the same in every manager, of which tests have several.
		Controller: ctrlconfig.Controller{EnableWarmup: ptr.To(true), SkipNameValidation: ptr.To(true)},

		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 ptr.To(leaseDuration),
		RenewDeadline:                 ptr.To(renewDeadline),
		RetryPeriod:                   ptr.To(tryPeriod),
		GracefulShutdownTimeout:       ptr.To(8 * time.Second),
	}, nil
}

func addController(
	ctx context.Context, manager ctrl.Manager, config *rest.Config, lock resourcelock.Interface, clock *serverClock, chosen Options,
) error {
	sees := probeAccess(ctx, manager.GetAPIReader())
	for _, missing := range sees.missing() {
		manager.GetLogger().Info(missing)
	}
	shared := sharedParts(manager, lock, chosen)
	reconciler := &EtcdClusterReconciler{
		Client: shared.client,
		Observer: &observe.Observer{
			Cache: shared.client, Live: shared.live, Dialer: shared.dialer,
			Remains: etcd.ReadRemains, Resizes: askResizes(config), NoNodes: !sees.nodes, Now: chosen.Now, Ahead: clock.ahead,
			Behind:   clock.behind,
			Operator: chosen.PodNamespace, Limits: chosen.Limits,
		},
		Actor: &act.Actor{
			Client: shared.client, Live: shared.live, Dialer: shared.dialer, Images: chosen.Images,
			Operator: chosen.PodNamespace, Now: chosen.Now, Later: clock.later, Random: chosen.Random, Leads: shared.leads,
		},
		Dialer: shared.dialer,
		Events: shared.events,

		Installation: shared.installation,
		secrets:      shared.client.memory,
	}
	if err := reconciler.SetupWithManager(manager); err != nil {
		return fmt.Errorf("set up the controller: %w", err)
	}
	if err := shared.addContent(manager, clock, chosen); err != nil {
		return err
	}
	return addBackups(manager, config, shared.installation, shared.leads, clock.off, memberFinder{shared.client, shared.dialer}, chosen)
}

// parts are what all reconcilers share.
type parts struct {
	client       secretClient
	live         client.Reader
	dialer       *connect.Dialer
	events       events.EventRecorder
	leads        func(context.Context) error // nil: there is no lease to hold
	installation string
}

func sharedParts(manager ctrl.Manager, lock resourcelock.Interface, chosen Options) parts {
	p := parts{
		client: secretClient{manager.GetClient(), &secretMemory{now: chosen.Now}}, live: manager.GetAPIReader(),
		events: manager.GetEventRecorder("etcd-operator.dev/operator"), installation: nameOf(lock),
	}
	p.dialer = &connect.Dialer{Pool: etcd.NewPool(), Reader: p.client, Now: chosen.Now, Random: chosen.Random}
	if lock != nil {
		p.leads = leads(p.live, lock, chosen.Now)
	}
	return p
}

// addContent adds the reconcilers of what is in etcd: users and roles, and what a cluster begins with.
func (p parts) addContent(manager ctrl.Manager, clock *serverClock, chosen Options) error {
	users := &UsersReconciler{
		client: p.client, remembered: p.client.memory, live: p.live, dialer: p.dialer, events: p.events, leads: p.leads,
		installation: p.installation, now: clock.later, random: chosen.Random,
	}
	if err := users.SetupWithManager(manager); err != nil {
		return err
	}
	begins := &InitialDataReconciler{
		client: p.client, live: nameValidatingReader{p.live}, asked: memberFinder{p.client, p.dialer},
		events: p.events, leads: p.leads, installation: p.installation, now: chosen.Now,
	}
	return begins.SetupWithManager(manager)
}

// cacheOptions keep in memory only what the operator made, and of that only what
// it reads.
func cacheOptions(namespaces []string) cache.Options {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{specs.ManagedByLabel: v1alpha1.FieldOwner})}
	chosen := cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: ours, &corev1.PersistentVolumeClaim{}: ours, &corev1.Service{}: ours,
			&policyv1.PodDisruptionBudget{}: ours, &networkingv1.NetworkPolicy{}: ours, &batchv1.Job{}: ours,
			&corev1.Node{}:          {Transform: leanNode},
			&v1alpha1.EtcdCluster{}: {Transform: withKind},
		},
	}
	for _, namespace := range namespaces {
		if chosen.DefaultNamespaces == nil {
			chosen.DefaultNamespaces = map[string]cache.Config{}
		}
		chosen.DefaultNamespaces[namespace] = cache.Config{}
	}
	return chosen
}

// withKind writes down what kind an EtcdCluster is: Kubernetes does not say it of each in a
// list, and a metric names it.
func withKind(object any) (any, error) {
	if c, is := object.(*v1alpha1.EtcdCluster); is {
		c.ManagedFields = nil
		c.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("EtcdCluster"))
	}
	return object, nil
}

// clientOptions make reads wait for the operator's own writes, so that no step is
// taken twice because the cache is a moment behind. Names that are used once and
// preconditions keep it safe where that is not possible.
func clientOptions(namespaces []string) client.Options {
	return client.Options{Cache: &client.CacheOptions{
		DisableFor: []client.Object{&corev1.Secret{}}, EnableReadYourWritesConsistency: ptr.To(len(namespaces) < 2),
	}}
}
