// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// bucket is the one that the server of S3 has.
const bucket = "backups"

// s3Server is versitygw in a process of its own, at an address that Pods reach too.
type s3Server struct {
	address, data, versions string
	key, secret             string
	flags                   []string // beside those that every one has
	command                 *exec.Cmd
}

// startS3 starts a server with an empty bucket. hack/store-servers.sh builds it.
func startS3() *s3Server {
	GinkgoHelper()
	s := &s3Server{address: freeNodeAddress(), key: "operator", secret: "first-secret"}
	s.data, s.versions = GinkgoT().TempDir(), GinkgoT().TempDir()
	Expect(os.Mkdir(filepath.Join(s.data, bucket), 0o700)).To(Succeed())
	s.start()
	DeferCleanup(s.stop)
	return s
}

func (s *s3Server) start() {
	GinkgoHelper()
	program := filepath.Join(top, "bin", "store-servers", "versitygw")
	Expect(program).To(BeAnExistingFile(), "make test-stores builds it")
	arguments := append([]string{"--port", s.address, "--region", "us-east-1", "--quiet"}, s.flags...)
	s.command = exec.Command(program, append(arguments, "posix", "--versioning-dir", s.versions, s.data)...)
	s.command.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+s.key, "ROOT_SECRET_KEY="+s.secret)
	s.command.Stdout, s.command.Stderr = GinkgoWriter, GinkgoWriter
	Expect(s.command.Start()).To(Succeed())
	Eventually(func() error {
		connection, err := net.DialTimeout("tcp", s.address, time.Second)
		if err == nil {
			_ = connection.Close()
		}
		return err
	}).Should(Succeed())
}

// restart has it run with these flags.
func (s *s3Server) restart(flags ...string) {
	GinkgoHelper()
	s.stop()
	s.flags = flags
	s.start()
}

func (s *s3Server) stop() {
	if s.command == nil {
		return
	}
	_ = s.command.Process.Kill()
	_ = s.command.Wait()
	s.command = nil
}

// freeNodeAddress is a free port at the address of a node, which Pods reach.
func freeNodeAddress() string {
	GinkgoHelper()
	var nodes corev1.NodeList
	Expect(api.List(ctx, &nodes)).To(Succeed())
	for _, address := range nodes.Items[0].Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			return process.FreeAddressOf(GinkgoTB(), address.Address)
		}
	}
	Fail("no node has an address")
	return ""
}

// newSecret creates a Secret, or gives it other contents.
func newSecret(namespace, name string, data map[string]string) *corev1.Secret {
	GinkgoHelper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: data}
	if err := api.Create(ctx, secret); err != nil {
		Expect(api.Update(ctx, secret)).To(Succeed())
	}
	return secret
}

// newBucket makes another bucket, of which objects can be locked if that is asked for.
func (s *s3Server) newBucket(name string, locks bool) {
	GinkgoHelper()
	client := s3.New(s3.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://" + s.address), UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(s.key, s.secret, ""),
	})
	_, err := client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &name, ObjectLockEnabledForBucket: &locks})
	Expect(err).NotTo(HaveOccurred())
}

// newS3Store creates a store in that server, by the keys in a Secret of the store's name.
func newS3Store(s *s3Server, namespace, name string, changes ...func(*v1beta1.S3Store)) *v1beta1.EtcdBackupStore {
	GinkgoHelper()
	newSecret(namespace, name, s.keys())
	store := &v1beta1.EtcdBackupStore{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1beta1.EtcdBackupStoreSpec{S3: &v1beta1.S3Store{
			Bucket: bucket, Prefix: "etcd", Endpoint: "http://" + s.address, PathStyle: true,
			Credentials: &v1beta1.SecretReference{Secret: name},
		}},
	}
	for _, change := range changes {
		change(store.Spec.S3)
	}
	Expect(api.Create(ctx, store)).To(Succeed())
	return store
}

func changeStore(store *v1beta1.EtcdBackupStore, change func(*v1beta1.EtcdBackupStoreSpec)) {
	GinkgoHelper()
	Expect(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := api.Get(ctx, keyOf(store), store); err != nil {
			return err
		}
		change(&store.Spec)
		return api.Update(ctx, store)
	})).To(Succeed())
}

func (s *s3Server) keys() map[string]string {
	return map[string]string{v1beta1.KeyAccessKeyID: s.key, v1beta1.KeySecretAccessKey: s.secret}
}

// storeSays waits until a store says the reason, with a message that contains the words.
func storeSays(store *v1beta1.EtcdBackupStore, reason, words string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(api.Get(ctx, keyOf(store), store)).To(Succeed())
		g.Expect(conditionIn(store.Status.Conditions, v1beta1.ConditionReady)).To(And(
			HaveField("Reason", reason), HaveField("Message", ContainSubstring(words))))
	}).Should(Succeed())
}
