// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package adopting

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

// Choices are what a person says of the EtcdCluster; what is empty follows from the cluster that is adopted.
type Choices struct {
	Name                       string
	Size                       int32
	Version                    string
	StorageSize, StorageClass  string
	Client                     string // Secret with a client's certificate
	PeerCA, ClientCA, Password string // Secrets; of the last one also SECRET/KEY
	KeepVolumes                bool   // instead of copying data
}

// Cluster is the EtcdCluster that adopts the source.
func Cluster(namespace string, s Source, chosen Choices) (*v1beta1.EtcdCluster, error) {
	if chosen.KeepVolumes {
		if err := keep(s, &chosen); err != nil {
			return nil, err
		}
	}
	scheme, _ := s.Client()
	adopt := &v1beta1.Adopt{
		Endpoints: s.URLs(), ClientSecretRef: local(chosen.Client),
		PeerAuthorityRef: local(chosen.PeerCA), ClientAuthorityRef: local(chosen.ClientCA),
	}
	if len(adopt.Endpoints) == 0 {
		return nil, errors.New("no Pod of it has an address yet: name its endpoints")
	}
	for _, service := range s.Services {
		adopt.Services = append(adopt.Services, service.Name)
	}
	if s.StatefulSet != nil {
		adopt.StatefulSet = s.StatefulSet.Name
	}
	if chosen.KeepVolumes {
		adopt.Volumes = v1beta1.KeepVolumes
	}
	adopt.CredentialsRef = credentials(s, chosen)
	c := &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: cmp.Or(chosen.Name, strings.TrimSuffix(strings.ReplaceAll(s.Name, ".", "-"), "-etcd")+"-cluster"),
	}}
	c.SetGroupVersionKind(v1beta1.GroupVersion.WithKind("EtcdCluster"))
	c.Spec.Size = ptr.To(cmp.Or(chosen.Size, max(v1beta1.DefaultSize, int32(len(s.Pods)))))
	c.Spec.Version = cmp.Or(chosen.Version, version.MinorOf(s.Version()))
	c.Spec.Bootstrap = &v1beta1.BootstrapSpec{Adopt: adopt}
	if scheme != "https" {
		c.Spec.TLS.Mode = v1beta1.TLSDisabled
	} else if chosen.Client == "" || chosen.PeerCA == "" {
		return nil, errors.New("it has TLS: give --client-secret, a Secret with ca.crt, tls.crt and tls.key of a client, and --peer-authority, " +
			"one with the authority of its peers and that one's key")
	}
	if chosen.StorageSize != "" {
		size, err := resource.ParseQuantity(chosen.StorageSize)
		if err != nil {
			return nil, fmt.Errorf("--storage-size %s: %w", chosen.StorageSize, err)
		}
		c.Spec.Storage.Size = &size
	}
	if chosen.StorageClass != "" {
		c.Spec.Storage.StorageClassName = &chosen.StorageClass
	}
	return c, nil
}

// keep chooses what follows from the volumes that are kept: members have the names of their claims, and volumes stay as large as they are.
func keep(s Source, chosen *Choices) error {
	if s.StatefulSet == nil || len(s.Pods) == 0 {
		return errors.New("no StatefulSet runs it: only volumes of a StatefulSet can be kept")
	}
	claim, _, unfit := facts.SourceData(&s.Pods[0])
	if unfit != "" {
		return errors.New(unfit)
	}
	chosen.Name = cmp.Or(chosen.Name, strings.TrimSuffix(claim, strings.TrimPrefix(s.Pods[0].Name, s.StatefulSet.Name)))
	chosen.Size = cmp.Or(chosen.Size, int32(len(s.Pods))) //nolint:gosec // few
	for _, one := range s.Claims {
		if size := one.Status.Capacity.Storage(); one.Name == claim && !size.IsZero() {
			chosen.StorageSize = cmp.Or(chosen.StorageSize, size.String())
		}
	}
	return nil
}

func credentials(s Source, chosen Choices) *v1beta1.Credentials {
	secret, key := s.Password()
	if chosen.Password != "" {
		secret, key, _ = strings.Cut(chosen.Password, "/")
	}
	if secret == "" {
		return nil
	}
	return &v1beta1.Credentials{Name: secret, PasswordKey: key}
}

func local(name string) *v1beta1.LocalSecret {
	if name == "" {
		return nil
	}
	return &v1beta1.LocalSecret{Name: name}
}

// Agreeing are the objects that have to agree to the adoption, as kubectl names them. None has agreed before the EtcdCluster has a UID.
func Agreeing(c *v1beta1.EtcdCluster) []string {
	adopt := c.Spec.Bootstrap.Adopt
	var all []string
	for _, name := range adopt.Services {
		all = append(all, "service/"+name)
	}
	if adopt.StatefulSet != "" {
		all = append(all, "statefulset/"+adopt.StatefulSet)
	}
	if adopt.CredentialsRef != nil {
		all = append(all, "secret/"+adopt.CredentialsRef.Name)
	}
	for i, ref := range []*v1beta1.LocalSecret{adopt.PeerAuthorityRef, adopt.ClientAuthorityRef} {
		if ref != nil && (i == 0 || *ref != *adopt.PeerAuthorityRef) {
			all = append(all, "secret/"+ref.Name)
		}
	}
	return all
}
