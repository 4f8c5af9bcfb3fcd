// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package users says what there is to do about the users and roles of one etcd cluster, and about its authentication: ordered lists of
// rules decide for each object which operations there are, and what is reported to people (docs/reference/users-rules.md).
//
// It must never hold a client. Users and roles of etcd that no object stands for are none of its business.
package users

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// View is one observation of a cluster's users and roles.
type View struct {
	Cluster *v1beta1.EtcdCluster      // nil: there is none
	Paused  bool                      // nothing is to be changed
	Users   []v1beta1.EtcdUser        // that name the cluster
	Roles   []v1beta1.EtcdRole        // that name the cluster
	Secrets map[string]*corev1.Secret // of users, by the name of the EtcdUser
	Held    certs.KeyMaterial         // the authority that signs, and what others have issued

	// Certificates are those of cert-manager, by the name of the EtcdUser, where the cluster has an issuerRef.
	Certificates  map[string]*unstructured.Unstructured
	NoCertManager string // why there can be none; empty if there can

	Etcd        *State // nil: it was not read
	Unreachable string // why not; the same words for as long as it is the same
	// NotRoot says that authentication is enabled, and that etcd has refused the operator what root may do.
	NotRoot bool
	Now     time.Time

	// Of what is decided about authentication, after the operations for users and roles:
	Changed time.Time // when users or roles of etcd last changed, as far as it is known
	Failed  error     // why users and roles are not as specified; nil: they are
}

// isGone says whether there is no cluster of which an object can be a part.
func (v View) isGone() bool { return v.Cluster == nil || v.Cluster.IsGoing() }

func (v View) canHaveUsers() bool { return !v.isGone() && v.Cluster.IsSecure() }

// State is what etcd says of users, roles and authentication. Of those that no object stands for, and that are not root, it has the names:
// the rest is nil, as it was not read.
type State struct {
	etcd.Auth
	Users map[string][]string          // their roles, sorted
	Roles map[string][]etcd.Permission // what they grant
}

// Names are the users and roles of etcd that a State is to have, as far as they exist.
func Names(users []v1beta1.EtcdUser, roles []v1beta1.EtcdRole) (ofUsers, ofRoles []string) {
	ofUsers, ofRoles = []string{v1beta1.RootUser}, []string{v1beta1.RootUser}
	for i := range users {
		ofUsers = append(ofUsers, users[i].User())
	}
	for i := range roles {
		ofRoles = append(ofRoles, roles[i].Role())
	}
	slices.Sort(ofUsers)
	slices.Sort(ofRoles)
	return slices.Compact(ofUsers), slices.Compact(ofRoles)
}

// Apply changes the state as an operation has changed etcd. The revision rises if it had an effect, as etcd's does.
func (s *State) Apply(operation Operation, effect bool) {
	if _, enables := operation.(EnableAuth); effect && !enables {
		s.Revision++
	}
	switch o := operation.(type) {
	case AddRole:
		s.Roles[o.Role] = []etcd.Permission{}
	case DeleteRole:
		delete(s.Roles, o.Role)
		for user, roles := range s.Users {
			s.Users[user] = without(roles, o.Role)
		}
	case GrantPermission:
		s.Roles[o.Role] = append(outside(s.Roles[o.Role], o.Permission), o.Permission)
	case RevokePermission:
		s.Roles[o.Role] = outside(s.Roles[o.Role], o.Permission)
	case AddUser:
		s.Users[o.User] = []string{}
	case DeleteUser:
		delete(s.Users, o.User)
	case GrantRole:
		s.Users[o.User] = slices.Sorted(slices.Values(append(without(s.Users[o.User], o.Role), o.Role)))
	case RevokeRole:
		s.Users[o.User] = without(s.Users[o.User], o.Role)
	case EnableAuth:
		s.Enabled = true
	case DisableAuth:
		s.Enabled = false
	case SetPassword, AdoptUser, AddFinalizer, RemoveFinalizer, WriteSecret, RecordManaged, RecordUnmanaged, RequestCertificate:
	}
}

func without(roles []string, role string) []string {
	return slices.DeleteFunc(slices.Clone(roles), func(r string) bool { return r == role })
}

// outside are the permissions of other ranges.
func outside(all []etcd.Permission, p etcd.Permission) []etcd.Permission {
	return slices.DeleteFunc(slices.Clone(all), func(other etcd.Permission) bool { return other.Of() == p.Of() })
}
