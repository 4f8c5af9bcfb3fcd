// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cert-manager is cert-manager's own controllers, injector and webhook in one binary: its programs are modules that no
// proxy has, because their folders are not their names. The first argument says which one it is. Left out are the issuers that
// need a service elsewhere: ACME, Vault and Venafi.
//
// The module has a name below cert-manager's, as those of its programs do: the webhook's admission is internal to it.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	webhookconfig "github.com/cert-manager/cert-manager/internal/apis/config/webhook"
	"github.com/cert-manager/cert-manager/internal/webhook"
	certmanager "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/cert-manager/cert-manager/pkg/controller"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	admission "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// namespace is where it is installed. The webhook's authority is in a Secret there, which the injector copies.
const (
	namespace = "cert-manager"
	service   = "cert-manager-webhook"
)

func main() {
	programs := map[string]func(context.Context) error{"controller": runControllers, "cainjector": inject, "webhook": serve}
	var run func(context.Context) error
	if len(os.Args) == 2 {
		run = programs[os.Args[1]]
	}
	if run == nil {
		fmt.Fprintln(os.Stderr, "usage: cert-manager controller|cainjector|webhook")
		os.Exit(2)
	}
	ctrl.SetLogger(klog.Background())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "cert-manager %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}

// kubeconfig is for a run outside of Kubernetes.
func kubeconfig() string { return os.Getenv("KUBECONFIG") }

// runControllers issues certificates. There is one replica: nobody else has to be kept from it.
func runControllers(ctx context.Context) error {
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		KubernetesAPIQPS: 50, KubernetesAPIBurst: 100, Kubeconfig: kubeconfig(),
		IssuerOptions: controller.IssuerOptions{ClusterResourceNamespace: namespace},
		CertificateOptions: controller.CertificateOptions{
			CertificateRequestMinimumBackoffDuration: time.Minute, CertificateRequestMaximumBackoffDuration: time.Hour,
		},
	})
	if err != nil {
		return err
	}
	all, err := factory.Build()
	if err != nil {
		return err
	}
	failed := make(chan error, len(controller.Known()))
	for name, construct := range controller.Known() {
		one, err := construct(factory)
		if err != nil {
			return fmt.Errorf("construct %s: %w", name, err)
		}
		go func() { failed <- one.Run(2, ctx) }()
	}
	all.SharedInformerFactory.Start(ctx.Done())
	all.KubeSharedInformerFactory.Start(ctx.Done())
	go healthy(ctx)
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

// healthy answers probes.
func healthy(ctx context.Context) {
	mux := http.NewServeMux()
	mux.HandleFunc("/livez", func(http.ResponseWriter, *http.Request) {})
	server := &http.Server{Addr: ":9403", Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	_ = server.ListenAndServe()
}

// inject gives webhook configurations the authority of the webhook.
func inject(ctx context.Context) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		admission.AddToScheme, certmanager.AddToScheme, apiextensions.AddToScheme, apiregistration.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.UserAgent = "cert-manager-cainjector" // it applies under this name
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		// The injector watches the metadata of Secrets alone, and reads one when it needs it.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
	})
	if err != nil {
		return err
	}
	err = cainjector.RegisterAllInjectors(ctx, manager, cainjector.SetupOptions{EnabledReconcilersFor: map[string]bool{
		cainjector.MutatingWebhookConfigurationName: true, cainjector.ValidatingWebhookConfigurationName: true,
	}})
	if err != nil {
		return err
	}
	go healthy(ctx)
	return manager.Start(ctx)
}

// serve is the webhook. Its certificate is by an authority that it makes.
func serve(ctx context.Context) error {
	config := webhookconfig.WebhookConfiguration{
		SecurePort: 10250, HealthzPort: 6080, MetricsListenAddress: "0", KubeConfig: kubeconfig(),
	}
	config.TLSConfig.Dynamic.SecretNamespace, config.TLSConfig.Dynamic.SecretName = namespace, service+"-ca"
	config.TLSConfig.Dynamic.DNSNames = []string{service, service + "." + namespace, service + "." + namespace + ".svc"}
	config.TLSConfig.Dynamic.LeafDuration = 7 * 24 * time.Hour
	server, err := webhook.NewCertManagerWebhookServer(klog.Background(), config)
	if err != nil {
		return err
	}
	return server.Run(ctx)
}
