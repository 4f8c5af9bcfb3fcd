// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
)

// What clients read of their settings.
type (
	apisixConfig struct {
		APISIX struct {
			SSL struct {
				Trusted string `json:"ssl_trusted_certificate"`
			} `json:"ssl"`
		} `json:"apisix"`
		Deployment struct {
			Etcd struct {
				Host     []string `json:"host"`
				Prefix   string   `json:"prefix"`
				User     string   `json:"user"`
				Password string   `json:"password"`
				TLS      struct {
					Cert string `json:"cert"`
					Key  string `json:"key"`
					SNI  string `json:"sni"`
				} `json:"tls"`
			} `json:"etcd"`
		} `json:"deployment"`
	}
	karmadaConfig struct {
		Spec struct {
			Components struct {
				Etcd struct {
					External struct {
						Endpoints []string               `json:"endpoints"`
						SecretRef corev1.SecretReference `json:"secretRef"`
					} `json:"external"`
				} `json:"etcd"`
			} `json:"components"`
		} `json:"spec"`
	}
	vclusterConfig struct {
		ControlPlane struct {
			BackingStore struct {
				Etcd struct {
					External struct {
						Enabled  bool   `json:"enabled"`
						Endpoint string `json:"endpoint"`
						TLS      struct {
							CAFile   string `json:"caFile"`
							CertFile string `json:"certFile"`
							KeyFile  string `json:"keyFile"`
						} `json:"tls"`
					} `json:"external"`
				} `json:"etcd"`
			} `json:"backingStore"`
		} `json:"controlPlane"`
	}
	milvusConfig struct {
		Etcd struct {
			Endpoints string `json:"endpoints"`
			RootPath  string `json:"rootPath"`
			SSL       struct {
				Enabled bool   `json:"enabled"`
				CA      string `json:"tlsCACert"`
				Cert    string `json:"tlsCert"`
				Key     string `json:"tlsKey"`
			} `json:"ssl"`
		} `json:"etcd"`
	}
	kamajiConfig struct {
		Spec struct {
			Endpoints []string `json:"endpoints"`
			TLS       struct {
				Authority kamajiPair `json:"certificateAuthority"`
				Client    kamajiPair `json:"clientCertificate"`
			} `json:"tlsConfig"`
		} `json:"spec"`
	}
	kamajiPair  struct{ Certificate, PrivateKey kamajiFile }
	kamajiFile  struct{ SecretReference kamajiEntry }
	kamajiEntry struct{ Name, KeyPath string }
)

// connected is a client that ends with the spec.
func connected(config clientv3.Config) *clientv3.Client {
	GinkgoHelper()
	config.Logger, config.DialOptions = zap.NewNop(), append(config.DialOptions, grpc.WithNoProxy())
	etcd, err := clientv3.New(config)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(etcd.Close)
	return etcd
}

func milvusClient(r *recipe) *clientv3.Client {
	GinkgoHelper()
	var config milvusConfig
	r.settings("rootPath:", &config)
	Expect(config.Etcd.SSL.Enabled).To(BeTrue())
	return connected(clientv3.Config{
		Endpoints: strings.Split(config.Etcd.Endpoints, ","), TLS: fromFiles(config.Etcd.SSL.CA, config.Etcd.SSL.Cert, config.Etcd.SSL.Key),
	})
}

// holdingTLS is the TLS configuration with what a Secret has.
func holdingTLS(secret *corev1.Secret) *tls.Config {
	GinkgoHelper()
	pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	Expect(err).NotTo(HaveOccurred())
	pool := x509.NewCertPool()
	Expect(pool.AppendCertsFromPEM(secret.Data["ca.crt"])).To(BeTrue())
	return &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}
}

// written is a file with what a page says.
func written(r *recipe, name, text string) string {
	GinkgoHelper()
	file := filepath.Join(r.folder, name)
	Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
	return file
}

// flagsOf are arguments by the name of their flag.
func flagsOf(arguments []string) map[string]string {
	flags := map[string]string{}
	for _, argument := range arguments {
		name, value, _ := strings.Cut(strings.TrimPrefix(argument, "--"), "=")
		flags[name] = value
	}
	return flags
}

// etcdFlags are those by which everything that starts a kube-apiserver names its etcd.
func etcdFlags(server, ca, cert, key string) map[string]string {
	return map[string]string{"etcd-servers": server, "etcd-cafile": ca, "etcd-certfile": cert, "etcd-keyfile": key}
}

// runKubeAPIServer starts a real one on this machine with these flags, and waits until it is ready.
func runKubeAPIServer(flags map[string]string) *kubeAPIServer {
	GinkgoHelper()
	server, err := url.Parse(flags["etcd-servers"])
	Expect(err).NotTo(HaveOccurred())
	delete(flags, "etcd-servers")
	return kubeAPIServerOn(server, flags)
}

// clientProgram builds a program of test/recipes.
func clientProgram(name string) string {
	GinkgoHelper()
	built := filepath.Join(GinkgoT().TempDir(), name)
	run("go", "-C", filepath.Join(top, "test", "recipes"), "build", "-o", built, "./"+name)
	return built
}

// dialTo has all questions go to one DNS server.
func dialTo(server string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server)
	}
}
