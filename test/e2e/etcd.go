// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// identity is what the cluster's client Secret gives an application. Certificates
// hold the name localhost, and Pods are reached by their addresses. It is nil for a
// cluster without TLS.
func identity(c *v1beta1.EtcdCluster) *tls.Config {
	GinkgoHelper()
	return identityOf(Default, c)
}

func identityOf(g Gomega, c *v1beta1.EtcdCluster) *tls.Config {
	config, err := readIdentity(c)
	g.Expect(err).NotTo(HaveOccurred())
	return config
}

func readIdentity(c *v1beta1.EtcdCluster) (*tls.Config, error) {
	if !c.IsSecure() {
		return nil, nil
	}
	var secret corev1.Secret
	if err := api.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.ClientSecret()}, &secret); err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(secret.Data["ca.crt"]) {
		return nil, fmt.Errorf("the Secret %s has no authority", secret.Name)
	}
	return &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, ServerName: "localhost", MinVersion: tls.VersionTLS12}, nil
}

// dial is a client of the named members, or of all.
func dial(c *v1beta1.EtcdCluster, members ...string) *clientv3.Client {
	GinkgoHelper()
	return surely(func(g Gomega) *clientv3.Client { return dialNow(g, c, members...) })
}

func dialNow(g Gomega, c *v1beta1.EtcdCluster, members ...string) *clientv3.Client {
	var endpoints []string
	for _, p := range podsOf(g, c.Namespace, ours(c)) {
		if p.Status.PodIP != "" && (len(members) == 0 || contains(members, p.Name)) {
			endpoints = append(endpoints, endpoint(c, p))
		}
	}
	g.Expect(endpoints).NotTo(BeEmpty())
	made, err := clientv3.New(settings(endpoints, identityOf(g, c)))
	g.Expect(err).NotTo(HaveOccurred())
	return made
}

// endpoint is where clients reach the member of a Pod.
func endpoint(c *v1beta1.EtcdCluster, p corev1.Pod) string {
	scheme := "https://"
	if !c.IsSecure() {
		scheme = "http://"
	}
	return scheme + net.JoinHostPort(p.Status.PodIP, "2379")
}

// settings verify a member by the name in the identity, where gRPC would take the
// address for the name.
func settings(endpoints []string, identity *tls.Config) clientv3.Config {
	if identity != nil {
		identity = identity.Clone()
		identity.InsecureSkipVerify = true //nolint:gosec // verified below
		identity.VerifyConnection = func(state tls.ConnectionState) error {
			_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: identity.RootCAs, DNSName: identity.ServerName})
			return err
		}
	}
	return clientv3.Config{
		Endpoints: endpoints, TLS: identity, Logger: zap.NewNop(),
		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 4 * time.Second, DialOptions: []grpc.DialOption{grpc.WithNoProxy()},
	}
}

func contains(all []string, one string) bool {
	for _, other := range all {
		if other == one {
			return true
		}
	}
	return false
}

// ask makes a call to etcd that may be made twice, by way of the named members, or of
// all. It is made again while etcd refuses, as it does for a moment while it elects.
func ask(c *v1beta1.EtcdCluster, call func(context.Context, *clientv3.Client) error, via ...string) {
	GinkgoHelper()
	Eventually(func(g Gomega) { askOnce(g, c, call, via...) }).WithTimeout(patience).Should(Succeed())
}

// askOnce makes one call with a deadline.
func askOnce(g Gomega, c *v1beta1.EtcdCluster, call func(context.Context, *clientv3.Client) error, via ...string) {
	connection := dialNow(g, c, via...)
	defer connection.Close()
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	g.Expect(call(limited, connection)).To(Succeed())
}

func put(c *v1beta1.EtcdCluster, key, value string) {
	GinkgoHelper()
	ask(c, func(ctx context.Context, etcd *clientv3.Client) error {
		_, err := etcd.Put(ctx, key, value)
		return err
	})
}

func value(c *v1beta1.EtcdCluster, key string) string {
	GinkgoHelper()
	var got string
	ask(c, func(ctx context.Context, etcd *clientv3.Client) error {
		response, err := etcd.Get(ctx, key)
		if err == nil && len(response.Kvs) > 0 {
			got = string(response.Kvs[0].Value)
		}
		return err
	})
	return got
}

// members are the names and IDs that etcd lists, learners with a question mark, as
// the named members say, or all.
func members(c *v1beta1.EtcdCluster, via ...string) map[string]string {
	GinkgoHelper()
	return surely(func(g Gomega) map[string]string { return membersOf(g, c, via...) })
}

func membersOf(g Gomega, c *v1beta1.EtcdCluster, via ...string) map[string]string {
	all := map[string]string{}
	askOnce(g, c, func(ctx context.Context, etcd *clientv3.Client) error {
		response, err := etcd.MemberList(ctx)
		if err != nil {
			return err
		}
		for _, m := range response.Members {
			name := m.Name
			if m.IsLearner {
				name += "?"
			}
			all[name] = strconv.FormatUint(m.ID, 16)
		}
		return nil
	}, via...)
	return all
}

// learners is how many of etcd's members are learners.
func learners(listed map[string]string) int {
	count := 0
	for name := range listed {
		if strings.HasSuffix(name, "?") {
			count++
		}
	}
	return count
}

// standing is the cluster's ID, leader and term, as a member says it.
func standing(c *v1beta1.EtcdCluster) (cluster, leader string, term uint64) {
	GinkgoHelper()
	Eventually(func(g Gomega) { cluster, leader, term = standingOf(g, c) }).Should(Succeed())
	return cluster, leader, term
}

func standingOf(g Gomega, c *v1beta1.EtcdCluster) (cluster, leader string, term uint64) {
	connection := dialNow(g, c) // each time, because Pods may change their addresses
	defer connection.Close()
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	status, err := connection.Status(limited, connection.Endpoints()[0])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(status.Leader).NotTo(BeZero())
	cluster, term = strconv.FormatUint(status.Header.ClusterId, 16), status.RaftTerm
	list, err := connection.MemberList(limited)
	g.Expect(err).NotTo(HaveOccurred())
	for _, m := range list.Members {
		if m.ID == status.Leader {
			leader = m.Name
		}
	}
	g.Expect(leader).NotTo(BeEmpty())
	return cluster, leader, term
}

// revision is that of the cluster's data, when every member has it on its disk: one that has not would lose
// what a quorum of the others has acknowledged, if it were all that is left. A member writes down what is
// committed with the next entry that it syncs, so that there must be one that changes no data.
func revision(c *v1beta1.EtcdCluster) int64 {
	GinkgoHelper()
	var latest int64
	ask(c, func(ctx context.Context, etcd *clientv3.Client) error {
		response, err := etcd.Get(ctx, "data/000")
		if err != nil {
			return err
		}
		if _, err := etcd.AlarmList(ctx); err != nil {
			return err
		}
		latest = response.Header.Revision
		for _, member := range etcd.Endpoints() {
			status, err := etcd.Status(ctx, member)
			if err != nil {
				return err
			}
			if status.Header.Revision < latest || status.RaftAppliedIndex < status.RaftIndex {
				return fmt.Errorf("%s has yet to apply revision %d", member, latest)
			}
		}
		_, err = etcd.AlarmList(ctx)
		return err
	})
	return latest
}

func leaderOf(g Gomega, c *v1beta1.EtcdCluster) string {
	_, leader, _ := standingOf(g, c)
	return leader
}

// hasVoters says whether etcd lists so many members, and no learner.
func hasVoters(g Gomega, c *v1beta1.EtcdCluster, count int) bool {
	listed := membersOf(g, c)
	return len(listed) == count && learners(listed) == 0
}

// voters are the members in the cluster's status that etcd lists.
func voters(c *v1beta1.EtcdCluster) []string {
	var names []string
	for _, m := range c.Status.Members {
		if m.Role != v1beta1.RoleUnlisted {
			names = append(names, m.Name)
		}
	}
	return names
}
