// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// startCloud starts a program of bin/store-servers, which listens at that address.
func startCloud(address, program string, arguments ...string) {
	GinkgoHelper()
	path := filepath.Join(top, "bin", "store-servers", program)
	Expect(path).To(BeAnExistingFile(), "make test-stores builds it")
	command := exec.Command(path, arguments...)
	command.Stdout, command.Stderr = GinkgoWriter, GinkgoWriter
	command.Env = os.Environ()
	Expect(command.Start()).To(Succeed())
	DeferCleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	Eventually(func() error {
		connection, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			_ = connection.Close()
		}
		return err
	}).Should(Succeed())
}

// inGoogle is a store in a fake-gcs-server, with the key of a service account, for which somebody gives tokens.
func inGoogle(namespace string) v1beta1.EtcdBackupStoreSpec {
	GinkgoHelper()
	address := freeNodeAddress()
	host, port, err := net.SplitHostPort(address)
	Expect(err).NotTo(HaveOccurred())
	startCloud(address, "fake-gcs-server", "-scheme", "http", "-host", host, "-port", port, "-public-host", address,
		"-external-url", "http://"+address, "-backend", "memory", "-log-level", "error")
	answer, err := http.Post("http://"+address+"/storage/v1/b?project=p", "application/json", strings.NewReader(`{"name": "`+bucket+`"}`))
	Expect(err).NotTo(HaveOccurred())
	Expect(answer.Body.Close()).To(Succeed())
	Expect(answer.StatusCode).To(Equal(http.StatusOK))
	newSecret(namespace, "google", map[string]string{v1beta1.KeyCredentialsJSON: googleKey(giveTokens())})
	return v1beta1.EtcdBackupStoreSpec{GCS: &v1beta1.GCSStore{
		Bucket: bucket, Prefix: "etcd", Endpoint: "http://" + address, Credentials: &v1beta1.SecretReference{Secret: "google"},
	}}
}

// giveTokens gives everybody the same one.
func giveTokens() (url string) {
	GinkgoHelper()
	address := freeNodeAddress()
	listener, err := net.Listen("tcp", address)
	Expect(err).NotTo(HaveOccurred())
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token": "token", "token_type": "Bearer", "expires_in": 3600}`) // the client may have gone
	})}
	go func() { _ = server.Serve(listener) }()
	DeferCleanup(server.Close)
	return "http://" + address
}

func googleKey(tokens string) string {
	GinkgoHelper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	Expect(err).NotTo(HaveOccurred())
	der, err := x509.MarshalPKCS8PrivateKey(private)
	Expect(err).NotTo(HaveOccurred())
	key, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "backup@example.invalid", "token_uri": tokens,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	Expect(err).NotTo(HaveOccurred())
	return string(key)
}

// The account that every azurite has, as its documentation says; it is no secret.
const (
	azureAccount = "devstoreaccount1"
	azureKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// inAzure is a store in an azurite. Its account is the first part of its name, as Azure has it, for which there is a Service.
func inAzure(namespace string) v1beta1.EtcdBackupStoreSpec {
	GinkgoHelper()
	address := freeNodeAddress()
	host, port, err := net.SplitHostPort(address)
	Expect(err).NotTo(HaveOccurred())
	// The version of the API that the library speaks is newer than what this azurite knows.
	startCloud(address, "azurite/node_modules/.bin/azurite-blob", "--blobHost", host, "--blobPort", port,
		"--inMemoryPersistence", "--silent", "--disableTelemetry", "--skipApiVersionCheck")
	key, err := container.NewSharedKeyCredential(azureAccount, azureKey)
	Expect(err).NotTo(HaveOccurred())
	blobs, err := container.NewClientWithSharedKeyCredential("http://"+address+"/"+azureAccount+"/"+bucket, key, nil)
	Expect(err).NotTo(HaveOccurred())
	_, err = blobs.Create(ctx, nil)
	Expect(err).NotTo(HaveOccurred())
	nameAddress(namespace, azureAccount, host, port)
	newSecret(namespace, "azure", map[string]string{v1beta1.KeyAccountKey: azureKey})
	return v1beta1.EtcdBackupStoreSpec{Azure: &v1beta1.AzureStore{
		Container: bucket, Prefix: "etcd", Account: azureAccount, Credentials: &v1beta1.SecretReference{Secret: "azure"},
		Endpoint: "http://" + azureAccount + "." + namespace + ".svc.cluster.local:" + port,
	}}
}

// secretOf has the keys of a store in Google or Azure.
func secretOf(store *v1beta1.EtcdBackupStore) *corev1.Secret {
	GinkgoHelper()
	name := "google"
	if store.Spec.Azure != nil {
		name = "azure"
	}
	var secret corev1.Secret
	Expect(api.Get(ctx, client.ObjectKey{Namespace: store.Namespace, Name: name}, &secret)).To(Succeed())
	return &secret
}

// nameAddress gives an address a name in the cluster, by a Service without a selector.
func nameAddress(namespace, name, host, port string) {
	GinkgoHelper()
	number, err := strconv.ParseInt(port, 10, 32)
	Expect(err).NotTo(HaveOccurred())
	Expect(api.Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Port: int32(number)}}},
	})).To(Succeed())
	Expect(api.Create(ctx, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{host}}},
		Ports:       []discoveryv1.EndpointPort{{Port: ptr.To(int32(number))}},
	})).To(Succeed())
}
