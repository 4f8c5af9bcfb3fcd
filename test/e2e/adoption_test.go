// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gstruct"
	clientv3 "go.etcd.io/etcd/client/v3"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/test/load"
)

// adoptions are of running clusters that others have made, as their templates render them.
func adoptions() {
	It("takes over a StatefulSet as Bitnami's chart makes it, with a password, while clients write by its Service", Label("gate"), func() {
		needsService()
		namespace := newNamespace()
		startOperatorInCluster(namespace)
		s := newSource(namespace, "legacy", withRootPassword)
		before := s.fill()
		c := applied(adopting(s, "etcd", func(a *v1beta1.Adopt) {
			a.Services, a.StatefulSet = []string{s.name}, s.name
			a.CredentialsRef = &v1beta1.Credentials{Name: s.name, PasswordKey: "etcd-root-password"}
		}))
		writer := s.client(s.serviceURL())
		beats := writesWhile(writer, func() { isAdopted(c) })
		Expect(beats.Gap).To(BeNumerically("<", outage))
		settles(c)
		s.isStopped()
		Expect(s.read(writer)).To(Equal(before), "keys, revisions and leases are as they were")
		Expect(listed(writer)).To(ConsistOf("etcd-0", "etcd-1", "etcd-2"))
		Expect(s.claims()).To(HaveLen(3), "its volumes are kept")
	})

	It("takes over a StatefulSet with certificates of its own authority, which stays that of its clients", Label("long"), func() {
		needsService()
		namespace := newNamespace()
		startOperatorInCluster(namespace)
		s := newSource(namespace, "kamaji", withAuthority)
		before := s.fill()
		c := applied(adopting(s, "etcd", func(a *v1beta1.Adopt) {
			a.Services, a.StatefulSet = []string{s.name}, s.name
			a.ClientSecretRef = &v1beta1.LocalSecret{Name: s.name + "-root"}
			a.PeerAuthorityRef, a.ClientAuthorityRef = &v1beta1.LocalSecret{Name: s.name + "-ca"}, &v1beta1.LocalSecret{Name: s.name + "-ca"}
		}))
		writer := s.client(s.serviceURL())
		old := s.identity()
		beats := writesWhile(writer, func() { isAdopted(c) })
		Expect(beats.Gap).To(BeNumerically("<", outage))
		s.isStopped()
		Expect(s.read(writer)).To(Equal(before))
		ours := signers(c)
		Eventually(func(g Gomega) {
			Expect(s.connects(old)).To(Succeed(), "a new connection by the authority and the certificate of before")
			g.Expect(signersNow(g, c)["peer"]).NotTo(Equal(ours["peer"]), "that of peers is replaced")
			for _, a := range read(g, c).Status.Authorities {
				g.Expect(a.Phase).To(Equal(v1beta1.RotationStable), a.Name)
			}
		}).WithTimeout(rotationTakes).WithPolling(time.Second).Should(Succeed())
		Expect(signers(c)["client"]).To(Equal(ours["client"]), "nobody has asked for another authority of clients")
	})

	It("keeps the volumes of a StatefulSet, while clients write by its Service and the operator is killed", Label("long"), func() {
		needsService()
		namespace := newNamespace()
		o := startOperatorInCluster(namespace)
		s := newSource(namespace, "plain", withKeptVolumes)
		before, volumes := s.fill(), s.volumes()
		first := s.client(s.urls()...)
		ids := memberIDs(first)
		writer := s.client(s.serviceURL())
		c := applied(adopting(s, "data-plain", func(a *v1beta1.Adopt) {
			a.Services, a.StatefulSet, a.Volumes = []string{s.name}, s.name, v1beta1.KeepVolumes
		}))
		beats := writesWhile(writer, func() {
			takesOver(c, 1)
			o.restart()
			takesOver(c, 2)
			isAdopted(c)
		})
		Expect(beats.Gap).To(BeNumerically("<", outage))
		written, err := writer.Get(ctx, "pulse")
		Expect(err).NotTo(HaveOccurred())
		Expect(written.Kvs).To(ConsistOf(HaveField("Version", BeNumerically(">=", beats.Writes))), "each acknowledged write is there")
		settles(c)
		s.isStopped()
		Expect(s.read(writer)).To(Equal(before), "keys, revisions and leases are as they were")
		Expect(memberIDs(writer)).To(ConsistOf(ids), "no member was added")
		Expect(listed(writer)).To(ConsistOf("data-plain-0", "data-plain-1", "data-plain-2"))
		Expect(s.volumes()).To(Equal(volumes), "and no volume was made")
	})

	It("keeps the volumes of a StatefulSet with certificates of its own authority", Label("long"), func() {
		needsService()
		namespace := newNamespace()
		startOperatorInCluster(namespace)
		s := newSource(namespace, "secure", withKeptVolumes, withAuthority)
		before, volumes := s.fill(), s.volumes()
		writer := s.client(s.serviceURL())
		ids := memberIDs(writer)
		c := applied(adopting(s, "data-secure", func(a *v1beta1.Adopt) {
			a.Services, a.StatefulSet, a.Volumes = []string{s.name}, s.name, v1beta1.KeepVolumes
			a.ClientSecretRef = &v1beta1.LocalSecret{Name: s.name + "-root"}
			a.PeerAuthorityRef, a.ClientAuthorityRef = &v1beta1.LocalSecret{Name: s.name + "-ca"}, &v1beta1.LocalSecret{Name: s.name + "-ca"}
		}))
		beats := writesWhile(writer, func() { isAdopted(c) })
		Expect(beats.Gap).To(BeNumerically("<", outage))
		s.isStopped()
		Expect(s.read(writer)).To(Equal(before))
		Expect(memberIDs(writer)).To(ConsistOf(ids))
		Expect(s.volumes()).To(Equal(volumes))
	})

	It("joins a plain StatefulSet, and leaves it again when that is asked for", Label("long"), func() {
		namespace := newNamespace()
		startOperatorInCluster(namespace)
		s := newSource(namespace, "plain")
		before := s.fill()
		c := applied(adopting(s, "etcd", func(*v1beta1.Adopt) {}))
		Eventually(func(g Gomega) {
			g.Expect(conditionOf(read(g, c), v1beta1.ConditionAdopted)).To(HaveField("Message",
				MatchRegexp("^[12] of 3 members of the operator have joined"))) // the second may follow before that is seen
		}).Should(Succeed())
		annotate(c, v1beta1.AnnotationUndoAdoption, "true")
		Eventually(func(g Gomega) {
			is := conditionOf(read(g, c), v1beta1.ConditionAdopted)
			g.Expect(is.Reason).To(Equal(v1beta1.ReasonAdoptionUndone))
			g.Expect(is.Message).To(HavePrefix("0 members of the operator are in the cluster"))
			g.Expect(podsOf(g, namespace, ours(c))).To(BeEmpty())
		}).Should(Succeed())
		etcd := s.client(s.urls()...)
		Expect(listed(etcd)).To(ConsistOf("plain-0", "plain-1", "plain-2"))
		Expect(s.read(etcd)).To(Equal(before))
	})

	It("refuses size 0, and leaves a StatefulSet again before it is deleted, while clients write", Label("long"), func() {
		namespace := newNamespace()
		startOperatorInCluster(namespace)
		s := newSource(namespace, "plain")
		before, etcd := s.fill(), s.client(s.urls()...)
		c := applied(adopting(s, "etcd", func(*v1beta1.Adopt) {}))
		Eventually(func(g Gomega) {
			g.Expect(conditionOf(read(g, c), v1beta1.ConditionAdopted)).To(HaveField("Message",
				MatchRegexp("^[12] of 3 members of the operator have joined")))
		}).Should(Succeed())
		asleep := func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To[int32](0) }
		Expect(edit(c, asleep)).To(MatchError(ContainSubstring("must not be 0 while")))
		beats := writesWhile(etcd, func() {
			Expect(api.Delete(ctx, c)).To(Succeed())
			Eventually(func() bool { return apierrors.IsNotFound(api.Get(ctx, keyOf(c), c)) }).Should(BeTrue())
		})
		Expect(beats.Gap).To(BeNumerically("<", outage))
		Expect(listed(etcd)).To(ConsistOf("plain-0", "plain-1", "plain-2"))
		Expect(s.read(etcd)).To(Equal(before))
	})

	It("says why a running cluster cannot be adopted, and adopts it when that is put right", Label("long"), func() {
		namespace := newNamespace()
		startOperatorInCluster(namespace)
		s := newSource(namespace, "odd")
		c := applied(adopting(s, "etcd", func(a *v1beta1.Adopt) { a.Endpoints = []string{"http://nothing-there." + namespace + ".svc:2379"} }))
		says(c, v1beta1.ConditionAdopted, v1beta1.ReasonSourceUnreachable, "cannot be read")
		remove(c)
		c = applied(newCluster(namespace, "etcd", func(spec *v1beta1.EtcdClusterSpec) {
			*spec = adopting(s, "etcd", func(*v1beta1.Adopt) {}).Spec
			spec.Version = "3.7"
		}))
		says(c, v1beta1.ConditionAdopted, v1beta1.ReasonSourceUnfit, `adopt it with version "3.6", and upgrade it then`)
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Version = "3.6" })).To(Succeed())
		isAdopted(c)
		settles(c)
	})
}

// writesWhile has a client write every ten milliseconds while something happens, and two seconds longer.
func writesWhile(etcd *clientv3.Client, happens func()) load.Beats {
	GinkgoHelper()
	writing, stop := context.WithCancel(ctx)
	defer stop()
	pulse := load.StartPulse(writing, etcd, "pulse")
	happens()
	time.Sleep(2 * time.Second)
	beats := pulse.End()
	AddReportEntry("writes meanwhile", beats.String())
	return beats
}

// isAdopted waits for the end of an adoption.
func isAdopted(c *v1beta1.EtcdCluster) {
	GinkgoHelper()
	begun := time.Now()
	Eventually(func(g Gomega) {
		now := read(g, c)
		said := fmt.Sprintf("%+v", now.Status.Conditions)
		g.Expect(conditionOf(now, v1beta1.ConditionAdopted)).To(HaveField("Status", metav1.ConditionTrue), said)
		g.Expect(now.Status.Adoption).To(gstruct.PointTo(HaveField("CompletedAt", Not(BeNil()))))
	}).Should(Succeed())
	measured("adoption", time.Since(begun))
}

func applied(c *v1beta1.EtcdCluster) *v1beta1.EtcdCluster {
	GinkgoHelper()
	Expect(api.Create(ctx, c)).To(Succeed())
	agree(c)
	return c
}

// adopting is an EtcdCluster that takes a source over.
func adopting(s *source, name string, change func(*v1beta1.Adopt)) *v1beta1.EtcdCluster {
	adopt := &v1beta1.Adopt{Endpoints: []string{s.podURL(0)}}
	if s.password != "" {
		adopt.Endpoints = append(adopt.Endpoints, s.podURL(1), s.podURL(2)) // it goes to no other ones
	}
	change(adopt)
	return newCluster(s.namespace, name, func(spec *v1beta1.EtcdClusterSpec) {
		spec.Version = "3.6"
		if s.ca == nil {
			spec.TLS.Mode = v1beta1.TLSDisabled
		}
		spec.Bootstrap = &v1beta1.BootstrapSpec{Adopt: adopt}
	})
}

func listed(etcd *clientv3.Client) []string {
	GinkgoHelper()
	list, err := etcd.MemberList(ctx)
	Expect(err).NotTo(HaveOccurred())
	var names []string
	for _, m := range list.Members {
		names = append(names, m.Name)
	}
	return names
}

// takesOver waits until that many sources have become members, or more: the next one may follow before that is seen.
func takesOver(c *v1beta1.EtcdCluster, sources int) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		is := conditionOf(read(g, c), v1beta1.ConditionAdopted)
		g.Expect(is).To(Or(HaveField("Status", metav1.ConditionTrue),
			HaveField("Message", MatchRegexp("^members of the operator have the volumes of [%d-3] of 3", sources))))
	}).Should(Succeed())
}

func memberIDs(etcd *clientv3.Client) []uint64 {
	GinkgoHelper()
	list, err := etcd.MemberList(ctx)
	Expect(err).NotTo(HaveOccurred())
	var ids []uint64
	for _, m := range list.Members {
		ids = append(ids, m.ID)
	}
	return ids
}

// volumes are the PersistentVolumes of all claims in the namespace, by claim.
func (s *source) volumes() map[string]string {
	GinkgoHelper()
	var claims corev1.PersistentVolumeClaimList
	Expect(api.List(ctx, &claims, client.InNamespace(s.namespace))).To(Succeed())
	all := map[string]string{}
	for _, claim := range claims.Items {
		all[claim.Name] = claim.Spec.VolumeName
	}
	return all
}

func (s *source) claims() []corev1.PersistentVolumeClaim {
	GinkgoHelper()
	var claims corev1.PersistentVolumeClaimList
	Expect(api.List(ctx, &claims, client.InNamespace(s.namespace), client.MatchingLabels(s.labels()))).To(Succeed())
	return claims.Items
}

// isStopped: the StatefulSet was scaled down, and none of its Pods is left.
func (s *source) isStopped() {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		var set appsv1.StatefulSet
		g.Expect(api.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: s.name}, &set)).To(Succeed())
		g.Expect(set.Spec.Replicas).To(HaveValue(BeZero()))
		g.Expect(podsOf(g, s.namespace, client.MatchingLabels(s.labels()))).To(BeEmpty())
	}).Should(Succeed())
}

// connects makes a connection of its own, by that identity.
func (s *source) connects(who *tls.Config) error {
	GinkgoHelper()
	etcd, err := clientv3.New(settings([]string{s.serviceURL()}, who))
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = etcd.Close() }()
	limited, cancel := context.WithTimeout(ctx, outage)
	defer cancel()
	if _, err := etcd.Get(limited, "pulse"); err != nil {
		return fmt.Errorf("read by a new connection: %w", err)
	}
	return nil
}

func (s *source) serviceURL() string {
	GinkgoHelper()
	var service corev1.Service
	Expect(api.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: s.name}, &service)).To(Succeed())
	return s.scheme() + "://" + net.JoinHostPort(service.Spec.ClusterIP, "2379")
}

func (s *source) podURL(i int) string {
	return fmt.Sprintf("%s://%s:2379", s.scheme(), s.hosts()[i])
}
