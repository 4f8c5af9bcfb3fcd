// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command etcd-operator runs etcd clusters on Kubernetes.
//
//	etcd-operator [manager] [flags]
//	etcd-operator task ORDER         in a Job of a backup: carries out the order, in JSON
package main

import (
	"crypto/rand"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/etcd-operator/etcd-operator/controllers/manager"
	"github.com/etcd-operator/etcd-operator/internal/backup/objectstore"
	"github.com/etcd-operator/etcd-operator/internal/backup/worker"
	"github.com/etcd-operator/etcd-operator/internal/cluster/limits"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	etcdversion "github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

// version is set by the linker.
var version = "development"

func main() {
	if len(os.Args) > 1 && os.Args[1] == "task" {
		os.Exit(carryOut(os.Args[2:]))
	}
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
	if chosen.Images, err = relatedImages(os.Environ()); err != nil {
		return err
	}
	var withheld []string
	chosen.Proxy, withheld = jobProxy(os.Getenv)
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&logging)))
	if len(withheld) > 0 {
		ctrl.Log.Info("a proxy with a user is not handed on to Jobs, whose Pods would show it: stores are asked directly", "variables", withheld)
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	config.QPS = -1 // the API server's own fairness limits us
	config.Proxy = proxyOf(config)
	config.UserAgent = "etcd-operator/" + version
	ctx := ctrl.SetupSignalHandler()
	operator, err := manager.New(ctx, config, chosen)
	if err != nil {
		return err
	}
	ctrl.Log.Info("starting", "version", version, "namespaces", chosen.Namespaces, "images", chosen.Images)
	return operator.Start(ctx)
}

// carryOut does what a Job was made for, and returns how the process ends. Only lines go to the standard output, and
// nothing to the other one: both are one log.
func carryOut(arguments []string) (exit int) {
	saveMemory()
	in := worker.Environment{Out: os.Stdout, Now: time.Now, Folders: worker.InPod(), Getenv: os.Getenv}
	return worker.Main(ctrl.SetupSignalHandler(), arguments, in)
}

// saveMemory is for Jobs, which have a small limit. What cannot be read is left as it is.
func saveMemory() {
	debug.SetGCPercent(worker.GCPercent)
	if content, err := os.ReadFile(worker.MemoryFile); err == nil {
		debug.SetMemoryLimit(worker.MemoryLimit(string(content)))
	}
	if mappings, err := os.Open(worker.MappingsFile); err == nil {
		worker.ForgetStart(mappings)
		_ = mappings.Close() // it was only read
	}
}

// proxyOf is the proxy that a kubeconfig names, and else none: Operator Lifecycle Manager
// hands down variables that name proxies, for what is outside, and the operator asks only
// for what is inside.
func proxyOf(config *rest.Config) func(*http.Request) (*url.URL, error) {
	if config.Proxy != nil {
		return config.Proxy
	}
	return func(*http.Request) (*url.URL, error) { return nil, nil }
}

// jobProxy are the variables of the operator that name a proxy, for its Jobs: stores of backups are outside. They are seen by who may
// read Pods, so that one with a password is withheld.
func jobProxy(getenv func(string) string) (all []corev1.EnvVar, withheld []string) {
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"} {
		value := getenv(name)
		if value == "" {
			value = getenv(strings.ToLower(name))
		}
		if value == "" {
			continue
		}
		if u, err := url.Parse(value); err == nil && u.User != nil {
			withheld = append(withheld, name)
			continue
		}
		all = append(all, corev1.EnvVar{Name: name, Value: value})
	}
	return all, withheld
}

// relatedImage begins the name of a variable that holds the image of a version of etcd:
// RELATED_IMAGE_ETCD_3_6_16.
const relatedImage = "RELATED_IMAGE_ETCD_"

// relatedImages are the images that the environment names for versions of etcd.
func relatedImages(environment []string) (specs.Images, error) {
	images := specs.Images{}
	for _, variable := range environment {
		name, image, _ := strings.Cut(variable, "=")
		underscored, is := strings.CutPrefix(name, relatedImage)
		if !is || image == "" {
			continue
		}
		of, err := etcdversion.Parse(strings.ReplaceAll(underscored, "_", "."))
		if err != nil {
			return nil, fmt.Errorf("read the variable %s: %w", name, err)
		}
		images[of.String()] = image
	}
	return images, nil
}

// ownDomain is the domain by which the resolver of the operator's Pod finds Services.
func ownDomain() string {
	content, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		return "" // not in a Pod
	}
	return clusterDomain(string(content))
}

// clusterDomain is the domain of a Kubernetes cluster by what the kubelet writes for a Pod: search NAMESPACE.svc.DOMAIN svc.DOMAIN DOMAIN.
// It is empty if there is none.
func clusterDomain(resolver string) string {
	for line := range strings.Lines(resolver) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "search" {
			continue
		}
		for _, name := range fields[1:] {
			if domain, is := strings.CutPrefix(strings.TrimSuffix(name, "."), "svc."); is && domain != "" {
				return domain
			}
		}
	}
	return ""
}

func parse(args []string) (manager.Options, zap.Options, error) {
	chosen := manager.Options{
		HasOperatorCondition: os.Getenv("OPERATOR_CONDITION_NAME") != "", Now: time.Now, Random: rand.Reader,
		PodNamespace: os.Getenv("POD_NAMESPACE"), PodName: os.Getenv("POD_NAME"), Version: version,
	}
	var logging zap.Options
	flags := flag.NewFlagSet("etcd-operator", flag.ContinueOnError)
	flags.StringVar(&chosen.MetricsAddress, "metrics-bind-address", ":8443", "address of the metrics endpoint; 0 turns it off")
	flags.BoolVar(&chosen.InsecureMetrics, "metrics-insecure", false, "serve metrics over HTTP and to everybody")
	certificateFlags(flags, &chosen.MetricsCertificate)
	monitorLabels := flags.String(manager.ServiceMonitorFlag, os.Getenv(manager.ServiceMonitorVariable), "labels of a ServiceMonitor and a "+
		"PrometheusRule that the operator makes for itself in its own namespace, such as release=prometheus; default: the variable "+
		manager.ServiceMonitorVariable+", else it makes none")
	flags.StringVar(&chosen.ProbeAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz")
	flags.BoolVar(&chosen.LeaderElect, "leader-elect", false, "act only while holding the lease, so that two replicas never act at once")
	flags.StringVar(&chosen.LeaseNamespace, "leader-election-namespace", "", "namespace of the lease; default: the pod's own")
	flags.StringVar(&chosen.TaskImage, "task-image", "", "image that Jobs of backups run; default: the one of the operator's own pod")
	flags.Func("task-image-pull-secrets", "names of Secrets by which Jobs of backups pull images, each in the namespace of its Job, "+
		"separated by commas; default: those of the Job's ServiceAccount", func(names string) error {
		chosen.TaskPullSecrets = append(chosen.TaskPullSecrets, strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' })...)
		return nil
	})
	flags.StringVar(&chosen.Domain, "cluster-domain", ownDomain(), "domain of the Kubernetes cluster, by which certificates name members, "+
		"too; default: the one in the pod's /etc/resolv.conf, else cluster.local")
	limitFlags(flags, &chosen.Limits)
	flags.Var((*objectstore.Endpoints)(&chosen.StoreEndpoints), objectstore.EndpointsFlag,
		"endpoints that an EtcdBackupStore may have tokens sent to, "+
			"separated by commas, such as https://storage.example:9000 or *.example.com; default: those of Amazon, Google and Azure only")
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
	if *monitorLabels != "" {
		var err error
		if chosen.MonitorLabels, err = manager.ParseMonitorLabels(*monitorLabels); err != nil {
			return chosen, logging, err
		}
		if chosen.PodNamespace == "" {
			return chosen, logging, fmt.Errorf("--%s needs the variable POD_NAMESPACE: that is where they are made", manager.ServiceMonitorFlag)
		}
	}
	for _, namespace := range strings.Split(os.Getenv("WATCH_NAMESPACE"), ",") {
		if namespace = strings.TrimSpace(namespace); namespace != "" {
			chosen.Namespaces = append(chosen.Namespaces, namespace)
		}
	}
	return chosen, logging, nil
}

// certificateFlags name the certificate of the metrics endpoint. Operator Lifecycle Manager gives no flags, but variables: those of
// spec.config of a Subscription.
func certificateFlags(flags *flag.FlagSet, c *manager.MetricsCertificate) {
	flags.StringVar(&c.Folder, manager.MetricsCertFlag, os.Getenv(manager.MetricsCertVariable),
		"folder with the certificate of the metrics endpoint and its key, such as a mounted Secret; read again when they change; "+
			"default: the variable "+manager.MetricsCertVariable+", else a self-signed certificate")
	flags.StringVar(&c.Certificate, "metrics-cert-name", "", "file of the certificate in --"+manager.MetricsCertFlag+"; default: tls.crt")
	flags.StringVar(&c.Key, "metrics-cert-key", "", "file of the key in --"+manager.MetricsCertFlag+"; default: tls.key")
}

// limitFlags are those by which an administrator says what EtcdClusters may ask for.
func limitFlags(flags *flag.FlagSet, l *limits.Limits) {
	flags.Var(&l.Images, limits.ImagesFlag, "images that spec.image and spec.podTemplate of an EtcdCluster may name, separated by "+
		"commas; a * stands at the end, "+
		"after /, : or @; default: all")
	flags.Var(&l.PriorityClasses, limits.PriorityClassesFlag, "priority classes that members may have, separated by commas; default: all")
	flags.Var(&l.Tolerations, limits.TolerationsFlag, "taints that members may tolerate, separated by commas: key, key=value, key:effect or "+
		"key=value:effect; default: all")
	flags.Var(&l.Labels, limits.LabelsFlag, "keys that spec.podMetadata.labels may have, separated by commas, such as team or "+
		"example.com/*; default: all")
	flags.Var(&l.Annotations, limits.AnnotationsFlag, "keys that spec.podMetadata.annotations may have, as of labels; default: all")
	flags.BoolVar(&l.NoPodTemplate, limits.NoPodTemplateFlag, false, "no EtcdCluster may have a spec.podTemplate: by that whoever writes "+
		"EtcdClusters runs containers, and reads Secrets and ConfigMaps of the namespace; default: they may")
}
