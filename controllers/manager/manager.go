// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manager puts the operator together, from the flags of the administrator: leader election, caches, probes, metrics and the
// reconcilers.
//
// It must never reconcile anything itself.
package manager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers"
	"github.com/etcd-operator/etcd-operator/controllers/cache"
	"github.com/etcd-operator/etcd-operator/controllers/clock"
	"github.com/etcd-operator/etcd-operator/controllers/jobclient"
	"github.com/etcd-operator/etcd-operator/controllers/lease"
	"github.com/etcd-operator/etcd-operator/controllers/metrics"
	"github.com/etcd-operator/etcd-operator/controllers/rights"
	"github.com/etcd-operator/etcd-operator/controllers/stored"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/cluster/limits"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/connect"
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
	// Domain is that of the Kubernetes cluster, which certificates name members by, too. Empty: cluster.local.
	Domain string
	// Limits are what EtcdClusters may request.
	Limits limits.Limits
	// StoreEndpoints are those that stores of backups may send tokens to, besides those of their providers.
	StoreEndpoints []string
	// Proxy are variables of Jobs, by which they reach stores through a proxy.
	Proxy []corev1.EnvVar
	// HasOperatorCondition says that Operator Lifecycle Manager keeps an OperatorCondition
	// of this operator. Its name is in the environment.
	HasOperatorCondition bool
	// MonitorLabels are those of a ServiceMonitor and a PrometheusRule that are made for the operator itself. Nil: none are made.
	MonitorLabels map[string]string
	// TaskImage is what Jobs of backups run. Default: the image of the operator's own Pod, which PodNamespace and PodName name. By
	// PodNamespace, NetworkPolicies of members let it in, too.
	TaskImage, PodNamespace, PodName string
	// TaskPullSecrets are names of Secrets by which every Job pulls its images, in the Job's namespace. None: the ServiceAccount's.
	TaskPullSecrets []string
	Version         string // of the operator
	Now             func() time.Time
	Random          io.Reader
}

// A Manager runs the operator once it is started.
type Manager struct {
	ctrl.Manager

	chosen Options
	config *rest.Config
	clock  *clock.Server
	lock   resourcelock.Interface // nil: there is no lease to hold
}

// New makes a manager that reconciles objects of all kinds of the operator, and says whether it is ready.
func New(ctx context.Context, config *rest.Config, chosen Options) (*Manager, error) {
	m, err := NewIdle(config, chosen)
	if err != nil {
		return nil, err
	}
	if err := m.addControllers(ctx); err != nil {
		return nil, err
	}
	return m, m.AddProbes()
}

// NewIdle makes a manager that has nothing to do but to lead.
func NewIdle(config *rest.Config, chosen Options) (*Manager, error) {
	m := &Manager{chosen: chosen, config: rest.CopyConfig(config), clock: &clock.Server{Now: chosen.Now}}
	m.config.Wrap(m.clock.Wrap)
	options, err := managerOptions(chosen)
	if err != nil {
		return nil, err
	}
	var waiting *lease.Standby
	if chosen.LeaderElect {
		if waiting, err = lease.NewStandby(m.config, chosen.LeaseNamespace, chosen.Now); err != nil {
			return nil, err
		}
		m.lock = waiting.Lock()
		options.LeaderElectionResourceLockInterface = m.lock
	}
	if m.Manager, err = ctrl.NewManager(m.config, options); err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	if waiting == nil {
		return m, nil
	}
	waiting.Elected = m.Elected()
	if err := m.Add(waiting); err != nil {
		return nil, fmt.Errorf("watch the lease: %w", err)
	}
	return m, nil
}

// AddProbes adds what says whether it is ready. It also reports to Operator Lifecycle Manager whether an update may come, if that is
// there: a replica is not ready before that.
func (m *Manager) AddProbes() error {
	ready := healthz.Ping
	if m.chosen.HasOperatorCondition {
		added, err := controllers.AddOperatorCondition(m.Manager, m.config, m.installation(), m.chosen.Now)
		if err != nil {
			return err
		}
		ready = added.Ready
	}
	if err := errors.Join(m.AddHealthzCheck("healthz", healthz.Ping), m.AddReadyzCheck("readyz", ready)); err != nil {
		return fmt.Errorf("add probes: %w", err)
	}
	return nil
}

// installation is the name of this installation: that of its Lease, with its namespace; empty
// without one.
func (m *Manager) installation() string {
	if m.lock == nil {
		return ""
	}
	return m.lock.Describe()
}

func managerOptions(chosen Options) (ctrl.Options, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1beta1.AddToScheme} {
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
		Cache:                  cache.Options(chosen.Namespaces),
		Client:                 cache.ClientOptions(chosen.Namespaces),
		NewClient:              cache.NewBoundedClient,
		Metrics:                metrics,
		HealthProbeBindAddress: chosen.ProbeAddress,
		LeaderElection:         chosen.LeaderElect,
		// A replica that stands by watches what the one that leads does. Names of
		// controllers are the same in every manager, of which tests have several.
		Controller: ctrlconfig.Controller{EnableWarmup: ptr.To(true), SkipNameValidation: ptr.To(true)},

		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 ptr.To(lease.Duration),
		RenewDeadline:                 ptr.To(lease.RenewDeadline),
		RetryPeriod:                   ptr.To(lease.TryPeriod),
		GracefulShutdownTimeout:       ptr.To(8 * time.Second),
	}, nil
}

func (m *Manager) addControllers(ctx context.Context) error {
	sees := rights.Probe(ctx, m.GetAPIReader())
	metrics.RightsMissing.Set(float64(len(sees.Missing())))
	for _, missing := range sees.Missing() {
		m.GetLogger().Info(missing)
	}
	shared, err := m.shared()
	if err != nil {
		return err
	}
	shared.NoNodes = !sees.Nodes
	if err := m.addMigration(); err != nil {
		return err
	}
	if m.chosen.MonitorLabels != nil {
		self := &selfMonitor{m.GetClient(), m.GetAPIReader(), m.chosen.PodNamespace, m.chosen.MonitorLabels, m.GetLogger()}
		if err := m.Add(self); err != nil {
			return fmt.Errorf("add the monitor of the operator: %w", err)
		}
	}
	if err := cache.Index(ctx, m.GetFieldIndexer()); err != nil {
		return err
	}
	return shared.AddTo(m.Manager)
}

// addMigration has objects stored in one version, and older definitions of them said, if the operator sees those of all namespaces.
func (m *Manager) addMigration() error {
	if len(m.chosen.Namespaces) > 0 {
		return nil
	}
	live, err := client.New(m.config, client.Options{Scheme: m.GetScheme()})
	if err != nil {
		return fmt.Errorf("make a client without a cache: %w", err)
	}
	migration := &stored.Migration{Client: live, Log: m.GetLogger().WithName("stored"), Settle: stored.Settle}
	if err := m.Add(migration); err != nil {
		return fmt.Errorf("add the migration of stored objects: %w", err)
	}
	older := &stored.Definitions{
		Client: live, Log: m.GetLogger().WithName("definitions"), Events: m.GetEventRecorder("etcd-operator.dev/operator"),
		Version: m.chosen.Version, Every: stored.LookEvery,
	}
	if err := m.Add(older); err != nil {
		return fmt.Errorf("add the look at definitions: %w", err)
	}
	return nil
}

// shared is what its reconcilers share.
func (m *Manager) shared() (controllers.Shared, error) {
	chosen := m.chosen
	shared := controllers.Shared{
		Client: cache.SecretClient{Client: m.GetClient(), Memory: &cache.Secrets{Now: chosen.Now}}, Live: m.GetAPIReader(),
		Clock: m.clock, Resizes: rights.Resizes(m.config),
		Installation: m.installation(), Namespace: chosen.PodNamespace, Version: chosen.Version, Domain: chosen.Domain,
		Images: chosen.Images, Limits: chosen.Limits, Now: chosen.Now, Random: chosen.Random,
	}
	shared.Dialer = &connect.Dialer{Pool: etcd.NewPool(), Reader: shared.Client, Now: chosen.Now, Random: chosen.Random}
	if m.lock != nil {
		shared.Leads = lease.Leads(shared.Live, m.lock, chosen.Now)
	}
	figures, err := metrics.Register(ctrlmetrics.Registry, chosen.Now)
	if err != nil {
		return shared, err
	}
	shared.Figures = figures
	read, err := jobclient.PodLogs(m.config)
	if err != nil {
		return shared, err
	}
	shared.Jobs = &jobclient.Client{
		Client: m.GetClient(), Live: cache.NameValidatingReader{Reader: shared.Live}, Logs: read, Leads: shared.Leads,
	}
	shared.Image = &jobclient.OwnImage{
		Live: shared.Live, Given: chosen.TaskImage, Pod: client.ObjectKey{Namespace: chosen.PodNamespace, Name: chosen.PodName},
		Asked: jobs.Image{Endpoints: chosen.StoreEndpoints, Proxy: chosen.Proxy, PullSecrets: jobclient.PullSecrets(chosen.TaskPullSecrets)},
	}
	return shared, nil
}
