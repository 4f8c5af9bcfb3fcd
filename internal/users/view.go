// Package users says what there is to do about the users and roles of one etcd cluster, and about its authentication: pure
// functions from what was read to steps and to what people are told.
//
// It must never hold a client. Users and roles of etcd that no object stands for are none of its business.
package users

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// View is one observation of a cluster's users and roles.
type View struct {
	Cluster *v1alpha1.EtcdCluster     // nil: there is none
	Paused  bool                      // nothing is to be changed
	Users   []v1alpha1.EtcdUser       // that name the cluster
	Roles   []v1alpha1.EtcdRole       // that name the cluster
	Secrets map[string]*corev1.Secret // of users, by the name of the EtcdUser
	Held    certs.KeyMaterial         // the authority that signs, and what others have issued

	// Certificates are those of cert-manager, by the name of the EtcdUser, where the cluster has an issuerRef.
	Certificates  map[string]*unstructured.Unstructured
	NoCertManager string // why there can be none; empty if there can

	Etcd   *State // nil: it was not read
	Unread string // why not; the same words for as long as it is the same
	// Shut says that authentication is enabled, and that etcd has refused the operator what root may do.
	Shut bool
	Now  time.Time
}

// State is what etcd says of users, roles and authentication. It has all roles of all users, and what all roles grant, that an
// object stands for, or that are root.
type State struct {
	etcd.Auth
	Users map[string][]string          // their roles, sorted
	Roles map[string][]etcd.Permission // what they grant
}

// Names are the users and roles of etcd that a State is to have, as far as they exist.
func Names(users []v1alpha1.EtcdUser, roles []v1alpha1.EtcdRole) (ofUsers, ofRoles []string) {
	ofUsers, ofRoles = []string{v1alpha1.RootUser}, []string{v1alpha1.RootUser}
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

// Note has a step done. The revision rises if it had an effect, as etcd's does.
func (s *State) Note(step Step, effect bool) {
	if _, enables := step.(EnableAuth); effect && !enables {
		s.Revision++
	}
	switch step := step.(type) {
	case AddRole:
		s.Roles[step.Role] = nil
	case DeleteRole:
		delete(s.Roles, step.Role)
		for user, roles := range s.Users {
			s.Users[user] = without(roles, step.Role)
		}
	case Grant:
		s.Roles[step.Role] = append(outside(s.Roles[step.Role], step.Permission), step.Permission)
	case Revoke:
		s.Roles[step.Role] = outside(s.Roles[step.Role], step.Permission)
	case AddUser:
		s.Users[step.User] = []string{}
	case DeleteUser:
		delete(s.Users, step.User)
	case GrantRole:
		s.Users[step.User] = slices.Sorted(slices.Values(append(without(s.Users[step.User], step.Role), step.Role)))
	case RevokeRole:
		s.Users[step.User] = without(s.Users[step.User], step.Role)
	case EnableAuth:
		s.Enabled = true
	case DisableAuth:
		s.Enabled = false
	case SetPassword, Inherit, Hold, LetGo, WriteSecret, TakeCharge, Settle, Release, AskForCertificate:
	}
}

func without(roles []string, role string) []string {
	return slices.DeleteFunc(slices.Clone(roles), func(r string) bool { return r == role })
}

// outside are the permissions of other ranges.
func outside(all []etcd.Permission, p etcd.Permission) []etcd.Permission {
	return slices.DeleteFunc(slices.Clone(all), func(other etcd.Permission) bool { return other.Of() == p.Of() })
}

// isOlder says which of two objects was there first.
func isOlder(a, b metav1.Object) bool {
	return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time), strings.Compare(a.GetName(), b.GetName())) < 0
}
