// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// Passwords are made of letters and digits: 190 bits. People may put others into the Secret, of at least 16 bytes, and at
// most 72, which is all that bcrypt looks at.
const (
	alphabet       = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	passwordLength = 32
	shortest       = 16
	longest        = 72
)

// identityRequest is the certificate of a user. Beside a password it has no common name: it only opens connections, and the HTTP gateway
// of etcd refuses every certificate that has one once authentication is enabled.
func identityRequest(c *v1beta1.EtcdCluster, u *v1beta1.EtcdUser) pki.Request {
	r := ClientRequest("", c.Spec.TLS.CertificateLifetime())
	if r.Nameless = u.HasPassword(); r.Nameless {
		r.Organization, r.DNSNames = specs.Organization, []string{specs.UserHost(c, u)}
		return r
	}
	r.CommonName = u.User()
	return r
}

// UserFault says what is wrong with the Secret of a user, a nil one being missing; nil if nothing is.
func (h KeyMaterial) UserFault(c *v1beta1.EtcdCluster, u *v1beta1.EtcdUser, secret *corev1.Secret, now time.Time) error {
	if secret == nil {
		return errors.New("it is missing")
	}
	wanted := specs.UserData(c, u)
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		if err := same(key, secret.Data[key], wanted[key]); err != nil {
			return err
		}
	}
	if u.HasPassword() && !IsPassword(secret.Data[specs.PasswordKey]) {
		return fmt.Errorf("it has no password of %d to %d bytes", shortest, longest)
	}
	return errors.Join(same("authority", secret.Data[specs.CAKey], h.ClientCA.Bundle()),
		h.checkUser(c, u, pairOf(secret.Data), now), checkFurther(u, secret, wanted))
}

// checkFurther says what is wrong with the keys that the spec asks for beside the usual ones. A key that it asks for no longer would keep
// what nobody renews, or an application with an old password.
func checkFurther(u *v1beta1.EtcdUser, secret *corev1.Secret, usual map[string][]byte) error {
	further := specs.FurtherData(u, secret.Data)
	known := append(slices.Collect(maps.Keys(usual)), specs.CAKey, corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
	if u.HasPassword() {
		known = append(known, specs.PasswordKey)
	}
	for _, key := range slices.Sorted(maps.Keys(secret.Data)) {
		if _, wanted := further[key]; !wanted && !slices.Contains(known, key) {
			return fmt.Errorf("its key %s is not among those of the EtcdUser", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(further)) {
		if err := same(key, secret.Data[key], further[key]); err != nil {
			return err
		}
	}
	return nil
}

// CannotMakeUser says why the Secret of a user cannot be made now; nil if it can. An external authority is asked for no certificate.
func (h KeyMaterial) CannotMakeUser(c *v1beta1.EtcdCluster, secret *corev1.Secret, now time.Time) error {
	var have pki.Pair
	if secret != nil {
		have = pairOf(secret.Data)
	}
	switch lost := h.Lost(c, c.ClientCA(), now); {
	case lost != nil:
		return lost
	case h.IssuesUsers():
		return h.ClientCA.cannotIssue(have, now)
	default:
		return nil
	}
}

// IssuesUsers says whether certificates of EtcdUsers can be issued: not by an external authority, which has no key here.
func (h KeyMaterial) IssuesUsers() bool { return !h.ClientCA.External }

// accepted is the certificate that others have issued to a user, or why it does not serve, which is a *pki.Rejection.
func (h KeyMaterial) accepted(c *v1beta1.EtcdCluster, u *v1beta1.EtcdUser, now time.Time) (pki.Pair, error) {
	secret := h.Issued[u.Name]
	if secret == nil {
		return pki.Pair{}, &pki.Rejection{Defect: v1beta1.ReasonSecretMissing, Because: "there is no such Secret"}
	}
	return h.serves(c, u, secret, now)
}

// serves is the certificate that a Secret has, or why a user cannot connect by it, which is a *pki.Rejection.
func (h KeyMaterial) serves(c *v1beta1.EtcdCluster, u *v1beta1.EtcdUser, secret *corev1.Secret, now time.Time) (pki.Pair, error) {
	pair := pairOf(secret.Data)
	_, _, err := pki.Accept(pair, h.ClientCA.Bundle(), bound(c, accepts(u)), now)
	var rejected *pki.Rejection
	if errors.As(err, &rejected) && rejected.Defect == pki.WrongAuthority {
		rejected.Because = "the authority that members trust has not signed it: have one issued by that"
	}
	return pair, err
}

// accepts is what an external certificate must be issued for: with a password, any identity but a common name.
func accepts(u *v1beta1.EtcdUser) pki.Request {
	if u.HasPassword() {
		return pki.Request{Nameless: true, Client: true}
	}
	return pki.Request{CommonName: u.User(), Client: true}
}

// LacksCertificate says why a user has no certificate by which it can connect, if certificates are external; the reason is empty if it
// has one, or is about to. One from before the authority became external serves for as long as our authority is trusted.
func (h KeyMaterial) LacksCertificate(
	c *v1beta1.EtcdCluster, u *v1beta1.EtcdUser, secret *corev1.Secret, now time.Time,
) (reason, because string) {
	_, err := h.accepted(c, u, now)
	var why *pki.Rejection
	if !errors.As(err, &why) {
		return "", ""
	}
	if secret != nil {
		if _, err := h.serves(c, u, secret, now); err == nil {
			return "", ""
		}
	}
	return string(why.Defect), why.Because
}

// checkUser says why the certificate of a user must be another one. If they are external, the one that there is stays until there is one
// that serves, or its authority is trusted no more.
func (h KeyMaterial) checkUser(c *v1beta1.EtcdCluster, u *v1beta1.EtcdUser, have pki.Pair, now time.Time) error {
	if h.IssuesUsers() {
		return h.ClientCA.check(c, have, identityRequest(c, u), now)
	}
	switch given, err := h.accepted(c, u, now); {
	case err == nil && !given.Equal(have):
		return fmt.Errorf("it does not have the certificate of Secret %s", u.IssuedSecret())
	case err != nil && len(have.CertPEM) > 0 && !h.ClientCA.trusts(have):
		return errors.New("its certificate is by an authority that is trusted no more")
	default:
		return nil
	}
}

func (h KeyMaterial) issueUser(
	random io.Reader, now time.Time, c *v1beta1.EtcdCluster, u *v1beta1.EtcdUser, have pki.Pair,
) (pki.Pair, error) {
	if h.IssuesUsers() {
		return h.ClientCA.issue(random, now, c, have, identityRequest(c, u))
	}
	switch given, err := h.accepted(c, u, now); {
	case err == nil:
		return given, nil
	case h.ClientCA.trusts(have):
		return have, nil
	default:
		return pki.Pair{}, nil
	}
}

// IsPassword says whether it can be the password of a user.
func IsPassword(password []byte) bool { return len(password) >= shortest && len(password) <= longest }

// MakeUser makes the Secret of a user as it is to be. What is good of the one that there is stays: the password above all.
func (h KeyMaterial) MakeUser(
	random io.Reader, now time.Time, c *v1beta1.EtcdCluster, u *v1beta1.EtcdUser, there *corev1.Secret,
) (*corev1.Secret, error) {
	data := specs.UserData(c, u)
	var old map[string][]byte
	if there != nil {
		old = there.Data
	}
	since := h.ClientCA.since(c, writtenAt(there), now, old[specs.CAKey], pairOf(old))
	pair, err := h.issueUser(random, now, c, u, pairOf(old))
	if err != nil {
		return nil, fmt.Errorf("issue the certificate of user %s: %w", u.User(), err)
	}
	data[specs.CAKey] = h.ClientCA.Bundle()
	if len(pair.CertPEM) > 0 {
		data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey] = pair.CertPEM, pair.KeyPEM
	}
	if u.HasPassword() {
		data[specs.PasswordKey] = old[specs.PasswordKey]
		if !IsPassword(data[specs.PasswordKey]) {
			password, err := newPassword(random)
			if err != nil {
				return nil, fmt.Errorf("make the password of user %s: %w", u.User(), err)
			}
			data[specs.PasswordKey] = password
		}
	}
	maps.Copy(data, specs.FurtherData(u, data))
	return specs.Noted(specs.User(u, data), writtenSince(since)), nil
}

func newPassword(random io.Reader) ([]byte, error) {
	password := make([]byte, passwordLength)
	for i := range password {
		n, err := rand.Int(random, big.NewInt(int64(len(alphabet))))
		if err != nil {
			return nil, err
		}
		password[i] = alphabet[n.Int64()]
	}
	return password, nil
}
