// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// removeByHand removes a member from etcd's list, as a person would. etcd refuses
// until its members have been connected for five seconds.
func removeByHand(c *v1beta1.EtcdCluster, id uint64) {
	GinkgoHelper()
	etcd := dial(c)
	defer etcd.Close()
	Eventually(func() error {
		limited, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		_, err := etcd.MemberRemove(limited, id)
		if errors.Is(err, rpctypes.ErrMemberNotFound) {
			return nil // by a call that had no answer
		}
		return err
	}).Should(Succeed())
}

func addByHand(c *v1beta1.EtcdCluster, peerURL string) uint64 {
	GinkgoHelper()
	etcd := dial(c)
	defer etcd.Close()
	var id uint64
	Eventually(func(g Gomega) {
		limited, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		_, failed := etcd.MemberAddAsLearner(limited, []string{peerURL}) // its answer may be lost
		list, err := etcd.MemberList(limited)
		g.Expect(err).NotTo(HaveOccurred())
		added := slices.IndexFunc(list.Members, func(m *etcdserverpb.Member) bool { return slices.Contains(m.PeerURLs, peerURL) })
		g.Expect(added).To(BeNumerically(">=", 0), "%v", failed)
		id = list.Members[added].ID
	}).Should(Succeed())
	return id
}

// moveLeader moves leadership to any other member, as a person would. It is 1 if
// that was done.
func moveLeader(c *v1beta1.EtcdCluster, who *tls.Config) int {
	var list corev1.PodList
	if api.List(ctx, &list, client.InNamespace(c.Namespace), ours(c)) != nil {
		return 0
	}
	limited, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for _, p := range list.Items {
		if etcd, err := clientv3.New(settings([]string{endpoint(c, p)}, who)); err == nil {
			moved := handOver(limited, etcd)
			_ = etcd.Close() // its answers are here
			if moved {
				return 1
			}
		}
	}
	return 0
}

// handOver gives leadership to another member, if this one has it.
func handOver(limited context.Context, etcd *clientv3.Client) bool {
	status, err := etcd.Status(limited, etcd.Endpoints()[0])
	if err != nil || status.Leader != status.Header.MemberId {
		return false
	}
	list, err := etcd.MemberList(limited)
	if err != nil {
		return false
	}
	others := slices.DeleteFunc(list.Members, func(m *etcdserverpb.Member) bool { return m.ID == status.Leader || m.IsLearner })
	if len(others) == 0 {
		return false
	}
	_, err = etcd.MoveLeader(limited, others[rand.N(len(others))].ID) //nolint:gosec // any will do
	return err == nil
}

// promoteByHand makes a voter of the learner that there is. It is 1 if etcd did it.
func promoteByHand(c *v1beta1.EtcdCluster) int {
	GinkgoHelper()
	promoted := 0
	ask(c, func(ctx context.Context, etcd *clientv3.Client) error {
		list, err := etcd.MemberList(ctx)
		if err != nil {
			return err
		}
		for _, m := range list.Members {
			if !m.IsLearner {
				continue
			}
			if _, err := etcd.MemberPromote(ctx, m.ID); err == nil {
				promoted++
			}
		}
		return nil
	})
	return promoted
}

// alarm raises or ends the alarm CORRUPT for the member of that ID, in hexadecimal.
func alarm(c *v1beta1.EtcdCluster, action etcdserverpb.AlarmRequest_AlarmAction, of string) {
	GinkgoHelper()
	id, err := strconv.ParseUint(of, 16, 64)
	Expect(err).NotTo(HaveOccurred())
	ask(c, func(ctx context.Context, etcd *clientv3.Client) error {
		request := &etcdserverpb.AlarmRequest{Action: action, MemberID: id, Alarm: etcdserverpb.AlarmType_CORRUPT}
		_, err := etcdserverpb.NewMaintenanceClient(etcd.ActiveConnection()).Alarm(ctx, request)
		return err
	})
}
