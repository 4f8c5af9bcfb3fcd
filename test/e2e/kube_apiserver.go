// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// A kubeAPIServer is a real one, of a Kubernetes that keeps its objects in an EtcdCluster.
type kubeAPIServer struct {
	clients kubernetes.Interface
}

// startKubeAPIServer starts one on this machine with the client Secret of a cluster, and waits until it is ready.
func startKubeAPIServer(c *v1beta1.EtcdCluster) *kubeAPIServer {
	GinkgoHelper()
	flags := map[string]string{}
	for key, flag := range map[string]string{"ca.crt": "etcd-cafile", "tls.crt": "etcd-certfile", "tls.key": "etcd-keyfile"} {
		flags[flag] = clientFile(c, key)
	}
	return kubeAPIServerOn(&url.URL{Scheme: "https", Host: forward(c)}, flags)
}

// kubeAPIServerOn starts one that keeps its objects in that etcd.
func kubeAPIServerOn(etcd *url.URL, flags map[string]string) *kubeAPIServer {
	GinkgoHelper()
	server := &envtest.APIServer{
		Path:    filepath.Join(top, ".devcluster", "bin", "kube-apiserver"),
		EtcdURL: etcd, Out: GinkgoWriter, Err: GinkgoWriter, StartTimeout: 3 * time.Minute,
	}
	arguments := server.Configure()
	for flag, value := range flags {
		arguments.Set(flag, value)
	}
	plane := &envtest.ControlPlane{APIServer: server}
	Expect(server.Start()).To(Succeed())
	DeferCleanup(server.Stop)
	user, err := plane.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	Expect(err).NotTo(HaveOccurred())
	settings := user.Config()
	settings.QPS = -1
	clients, err := kubernetes.NewForConfig(settings)
	Expect(err).NotTo(HaveOccurred())
	return &kubeAPIServer{clients}
}

// clientFile is a file with what the client Secret of a cluster has under a key.
func clientFile(c *v1beta1.EtcdCluster, key string) string {
	GinkgoHelper()
	var secret corev1.Secret
	Expect(api.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.ClientSecret()}, &secret)).To(Succeed())
	file := filepath.Join(GinkgoT().TempDir(), key)
	Expect(os.WriteFile(file, secret.Data[key], 0o600)).To(Succeed())
	return file
}

// forward listens on localhost, which is a name that members' certificates hold, and takes each connection to a Pod that is ready.
func forward(c *v1beta1.EtcdCluster) string {
	GinkgoHelper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(listener.Close)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return // it was closed
			}
			go pass(c, connection)
		}
	}()
	return fmt.Sprintf("localhost:%d", listener.Addr().(*net.TCPAddr).Port)
}

// pass takes a connection to the first member that takes it, until one of both ends it.
func pass(c *v1beta1.EtcdCluster, from net.Conn) {
	defer from.Close()
	var list corev1.PodList
	if err := api.List(ctx, &list, client.InNamespace(c.Namespace), ours(c)); err != nil {
		return
	}
	for _, p := range list.Items {
		to, err := net.DialTimeout("tcp", net.JoinHostPort(p.Status.PodIP, "2379"), patience)
		if err != nil || p.Status.PodIP == "" {
			continue
		}
		var both sync.WaitGroup
		for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
			both.Go(func() {
				_, _ = io.Copy(pair[0], pair[1])
				_ = pair[0].Close()
			})
		}
		both.Wait()
		return
	}
}

// fill creates ConfigMaps.
func (k *kubeAPIServer) fill(prefix string, count int) {
	GinkgoHelper()
	manyAtOnce(prefix, count, func(name string) error {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"name": name}}
		_, err := k.clients.CoreV1().ConfigMaps("default").Create(ctx, object, metav1.CreateOptions{})
		return err
	})
}

// wreck deletes the first of those that fill has created.
func (k *kubeAPIServer) wreck(prefix string, count int) {
	GinkgoHelper()
	manyAtOnce(prefix, count, func(name string) error {
		return k.clients.CoreV1().ConfigMaps("default").Delete(ctx, name, metav1.DeleteOptions{})
	})
}

// manyAtOnce does something for each of so many names.
func manyAtOnce(prefix string, count int, do func(name string) error) {
	GinkgoHelper()
	names := make(chan string)
	failed := make(chan error, count)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for name := range names {
				if err := do(name); err != nil {
					failed <- err
				}
			}
		})
	}
	for i := range count {
		names <- fmt.Sprintf("%s-%d", prefix, i)
	}
	close(names)
	all.Wait()
	Expect(failed).To(BeEmpty())
}

// newest is the resource version of a list, which is etcd's revision.
func (k *kubeAPIServer) newest() int64 {
	GinkgoHelper()
	return surely(func(g Gomega) int64 {
		list, err := k.clients.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		version, err := strconv.ParseInt(list.ResourceVersion, 10, 64)
		g.Expect(err).NotTo(HaveOccurred())
		return version
	})
}

// listed are the names of the objects that the API server lists at a resource version.
func (k *kubeAPIServer) listed(version string) []string {
	GinkgoHelper()
	return surely(func(g Gomega) []string {
		list, err := k.clients.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{ResourceVersion: version})
		g.Expect(err).NotTo(HaveOccurred())
		var all []string
		for i := range list.Items {
			all = append(all, list.Items[i].Name)
		}
		return all
	})
}

// stored are the names of the objects that etcd itself lists.
func (k *kubeAPIServer) stored(c *v1beta1.EtcdCluster) []string {
	GinkgoHelper()
	const prefix = "/registry/configmaps/default/"
	var all []string
	ask(c, func(ctx context.Context, etcd *clientv3.Client) error {
		response, err := etcd.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
		if err != nil {
			return err
		}
		all = nil
		for _, pair := range response.Kvs {
			all = append(all, strings.TrimPrefix(string(pair.Key), prefix))
		}
		return nil
	})
	return all
}

// remember starts an informer, as every controller has one, and returns what it knows.
func (k *kubeAPIServer) remember() cache.Store {
	GinkgoHelper()
	factory := informers.NewSharedInformerFactoryWithOptions(k.clients, 0, informers.WithNamespace("default"))
	informer := factory.Core().V1().ConfigMaps().Informer()
	stop := make(chan struct{})
	factory.Start(stop)
	DeferCleanup(func() { close(stop) })
	Eventually(informer.HasSynced).Should(BeTrue())
	return informer.GetStore()
}
