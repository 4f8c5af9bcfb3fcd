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

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/etcd-operator/etcd-operator/controllers"
)

// version is set by the linker.
var version = "development"

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
	manager, err := controllers.NewManager(config, chosen)
	if err != nil {
		return err
	}
	ctrl.Log.Info("starting", "version", version, "namespaces", chosen.Namespaces)
	return manager.Start(ctrl.SetupSignalHandler())
}

func parse(args []string) (controllers.Options, zap.Options, error) {
	chosen := controllers.Options{Now: time.Now, Random: rand.Reader}
	var logging zap.Options
	flags := flag.NewFlagSet("etcd-operator", flag.ContinueOnError)
	flags.StringVar(&chosen.MetricsAddress, "metrics-bind-address", ":8443", "address of the metrics endpoint; 0 turns it off")
	flags.BoolVar(&chosen.InsecureMetrics, "metrics-insecure", false, "serve metrics over HTTP and to everybody")
	flags.StringVar(&chosen.ProbeAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz")
	flags.BoolVar(&chosen.LeaderElect, "leader-elect", false, "act only while holding the lease, so that two replicas never act at once")
	flags.StringVar(&chosen.LeaseNamespace, "leader-election-namespace", "", "namespace of the lease; default: the pod's own")
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
			chosen.Namespaces = append(chosen.Namespaces, namespace)
		}
	}
	return chosen, logging, nil
}
