// Command etcd-operator runs etcd clusters on Kubernetes.
//
//	etcd-operator [manager] [flags]
package main

import (
	"crypto/rand"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/controllers"
	"github.com/etcd-operator/etcd-operator/internal/act"
	"github.com/etcd-operator/etcd-operator/internal/dial"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/observe"
)

// version is set by the linker.
var version = "development"

// The lease is renewed every retryPeriod, and lost when that fails for
// leaseDuration. Together with a standby this is about one request in two seconds.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 4 * time.Second
)

type options struct {
	metricsAddress, probeAddress string
	leaderElect, insecureMetrics bool
	leaseNamespace               string
	namespaces                   []string
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "etcd-operator:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) > 0 && args[0] == "manager" {
		args = args[1:]
	}
	chosen, logging, err := parse(args)
	if err != nil {
		return err
	}
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&logging)))
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	config.QPS = -1 // the API server's own fairness limits us
	config.UserAgent = "etcd-operator/" + version
	manager, err := newManager(config, chosen)
	if err != nil {
		return err
	}
	ctrl.Log.Info("starting", "version", version, "namespaces", chosen.namespaces)
	return manager.Start(ctrl.SetupSignalHandler())
}

func parse(args []string) (options, zap.Options, error) {
	var chosen options
	var logging zap.Options
	flags := flag.NewFlagSet("etcd-operator", flag.ContinueOnError)
	flags.StringVar(&chosen.metricsAddress, "metrics-bind-address", ":8443", "address of the metrics endpoint; 0 turns it off")
	flags.BoolVar(&chosen.insecureMetrics, "metrics-insecure", false, "serve metrics over HTTP and to everybody")
	flags.StringVar(&chosen.probeAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz")
	flags.BoolVar(&chosen.leaderElect, "leader-elect", false, "act only while holding the lease, so that two replicas never act at once")
	flags.StringVar(&chosen.leaseNamespace, "leader-election-namespace", "", "namespace of the lease; default: the pod's own")
	logging.BindFlags(flags)
	if path := flag.Lookup("kubeconfig"); path != nil {
		flags.Var(path.Value, path.Name, path.Usage)
	}
	if err := flags.Parse(args); err != nil {
		return chosen, logging, fmt.Errorf("read flags: %w", err)
	}
	if flags.NArg() > 0 {
		return chosen, logging, fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	for _, namespace := range strings.Split(os.Getenv("WATCH_NAMESPACE"), ",") {
		if namespace = strings.TrimSpace(namespace); namespace != "" {
			chosen.namespaces = append(chosen.namespaces, namespace)
		}
	}
	return chosen, logging, nil
}

func newManager(config *rest.Config, chosen options) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("build the scheme: %w", err)
		}
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         cacheOptions(chosen.namespaces),
		Client:                        clientOptions(chosen.namespaces),
		Metrics:                       metricsOptions(chosen),
		HealthProbeBindAddress:        chosen.probeAddress,
		LeaderElection:                chosen.leaderElect,
		LeaderElectionID:              "etcd-operator.dev",
		LeaderElectionNamespace:       chosen.leaseNamespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 ptr.To(leaseDuration),
		RenewDeadline:                 ptr.To(renewDeadline),
		RetryPeriod:                   ptr.To(retryPeriod),
		GracefulShutdownTimeout:       ptr.To(8 * time.Second),
	})
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	if err := addController(manager); err != nil {
		return nil, err
	}
	for name, add := range map[string]func(string, healthz.Checker) error{"healthz": manager.AddHealthzCheck, "readyz": manager.AddReadyzCheck} {
		if err := add(name, healthz.Ping); err != nil {
			return nil, fmt.Errorf("add %s: %w", name, err)
		}
	}
	return manager, nil
}

func addController(manager ctrl.Manager) error {
	dialer := &dial.Dialer{Pool: etcd.NewPool(), Reader: manager.GetClient(), Now: time.Now, Random: rand.Reader}
	reconciler := &controllers.EtcdCluster{
		Client:   manager.GetClient(),
		Observer: &observe.Observer{Cache: manager.GetClient(), Live: manager.GetAPIReader(), Dialer: dialer, Now: time.Now},
		Actor:    &act.Actor{Client: manager.GetClient(), Live: manager.GetAPIReader(), Dialer: dialer, Now: time.Now, Random: rand.Reader},
		Dialer:   dialer,
		Events:   manager.GetEventRecorder("etcd-operator.dev/operator"),
	}
	if err := reconciler.SetupWithManager(manager); err != nil {
		return fmt.Errorf("set up the controller: %w", err)
	}
	return nil
}

// cacheOptions keep in memory only what the operator made, and of that only what
// it reads.
func cacheOptions(namespaces []string) cache.Options {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{"app.kubernetes.io/managed-by": v1alpha1.FieldOwner})}
	chosen := cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: ours, &corev1.PersistentVolumeClaim{}: ours, &corev1.Service{}: ours, &corev1.Secret{}: ours,
			&policyv1.PodDisruptionBudget{}: ours,
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

// clientOptions make reads wait for the operator's own writes, so that no step is
// taken twice because the cache is a moment behind. Names that are used once and
// preconditions keep it safe where that is not possible.
func clientOptions(namespaces []string) client.Options {
	return client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: ptr.To(len(namespaces) < 2)}}
}

// metricsOptions serve metrics over HTTPS to those whom Kubernetes knows and allows.
func metricsOptions(chosen options) metricsserver.Options {
	if chosen.insecureMetrics {
		return metricsserver.Options{BindAddress: chosen.metricsAddress}
	}
	return metricsserver.Options{
		BindAddress: chosen.metricsAddress, SecureServing: true, FilterProvider: filters.WithAuthenticationAndAuthorization,
	}
}
