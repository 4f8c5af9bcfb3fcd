// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// OperatorLifetime is short, because a new identity costs a millisecond.
const OperatorLifetime = 30 * 24 * time.Hour

// An Identity is the user that etcd sees the operator as, by the certificate that it shows.
type Identity struct {
	Name   string    // the common name, which is the user while authentication is enabled; empty if there is no certificate
	Source string    // the Secret that holds the certificate, or the authority that signs it
	Until  time.Time // when it ends
	Lacks  string    // why it is not root; empty if it is
}

// IsRoot says whether etcd lets the operator do everything while authentication is enabled.
func (i Identity) IsRoot() bool { return i.Name == v1beta1.RootUser }

// ShutOut says, of an operator that etcd does not accept as root, which user it is and how it becomes root again: by itself if its
// authority is replaced, for which healthy members restart.
func (i Identity) ShutOut(c *v1beta1.EtcdCluster) string {
	user, why := "without a certificate", ""
	if i.Name != "" {
		user = fmt.Sprintf("as %s by Secret %s", i.Name, i.Source)
	}
	if i.Lacks != "" {
		why = fmt.Sprintf(" (%s)", i.Lacks)
	}
	return fmt.Sprintf("authentication is enabled and etcd does not accept the operator as root: it connects %s%s. Users, roles and members "+
		"cannot change until it is. Restore Secret %s from a backup; or wait until the operator has replaced the authority, which "+
		"takes all members healthy; or set spec.size to 0, delete Secrets %s and %s, and set the size back: another authority is "+
		"made, and the data stays",
		user, why, c.ClientCA(), c.ClientCA(), specs.MemberSecret(c))
}

// Operator is the identity of the operator to every member that runs: dialling shows it, authentication is enabled only while it is root,
// and the report says when it is not.
func (h KeyMaterial) Operator(c *v1beta1.EtcdCluster, now time.Time) Identity {
	lost := h.Lost(c, c.ClientCA(), now)
	why, _, _ := strings.Cut(cmp.Or(lost, h.cannotSignRoot(now)).Error(), "\n")
	why = "authority " + c.ClientCA() + ": " + why
	switch {
	case lost == nil && h.signsForMembers(now):
		end, _ := h.ClientCA.Pair.End()
		return Identity{Name: v1beta1.RootUser, Source: c.ClientCA(), Until: earlier(now.Add(OperatorLifetime), end)}
	case h.Holds(c, c.ClientCA()) && h.hasRoot(now):
		end, _ := h.Root.End()
		return Identity{Name: v1beta1.RootUser, Source: c.RootSecret(), Until: end}
	case h.Holds(c, c.ClientCA()):
		end, _ := h.Server.End()
		return Identity{Name: commonName(h.Server), Source: specs.MemberSecret(c), Until: end, Lacks: why}
	default:
		return Identity{Lacks: why}
	}
}

// cannotSignRoot says why the authority cannot sign the operator's certificate.
func (h KeyMaterial) cannotSignRoot(now time.Time) error {
	if err := h.ClientCA.cannotIssue(pki.Pair{}, now); err != nil {
		return err
	}
	return cmp.Or(complete(h.ClientCA.Pair), errNotDistributed)
}

var errNotDistributed = errors.New("members do not trust it yet")

// signsForMembers says whether the authority signs what members trust. A cluster whose members' Secret is yet to be made has none
// that could trust another one.
func (h KeyMaterial) signsForMembers(now time.Time) bool {
	trusted := pki.Certificates(h.MemberCA())
	isTrusted := func(certificate []byte) bool {
		return slices.ContainsFunc(trusted, func(t []byte) bool { return string(t) == string(certificate) })
	}
	return h.ClientCA.Signs(now) && !h.ClientCA.isYetToBegin(now) &&
		(len(trusted) == 0 || slices.ContainsFunc(pki.Certificates(h.ClientCA.CertPEM), isTrusted))
}

// hasRoot says whether there is a certificate of root that members trust and that is valid now.
func (h KeyMaterial) hasRoot(now time.Time) bool {
	return usable(h.Root, now) && commonName(h.Root) == v1beta1.RootUser && pki.ChainsTo(h.Root, h.MemberCA())
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// OperatorPairs are the certificates by which the operator connects, of which it shows the first one that a member accepts, and the
// authorities that it knows members by. While the authority is lost, one of root by the next authority is among them: members accept that
// as soon as they have restarted for it, so that an operator which is not root to the others gets in again.
func (h KeyMaterial) OperatorPairs(random io.Reader, now time.Time, c *v1beta1.EtcdCluster) (ca []byte, pairs []pki.Pair, err error) {
	lost := h.Lost(c, c.ClientCA(), now)
	switch {
	case lost == nil && h.ClientCA.Signs(now):
		pair, err := issueRoot(random, now, c, h.ClientCA.Pair)
		return h.ClientCA.Bundle(), []pki.Pair{pair}, err
	case !h.Holds(c, c.ClientCA()):
		return nil, nil, fmt.Errorf("use secret %s: %w", c.ClientCA(), cmp.Or(lost, errEnded))
	}
	if h.hasRoot(now) {
		pairs = append(pairs, h.Root)
	}
	if next := h.ClientCA.Next; h.ClientCA.Phase() == cluster.Introduced && !h.ClientCA.NextExternal {
		pair, err := issueRoot(random, now, c, next)
		if err != nil {
			return nil, nil, err
		}
		pairs = append(pairs, pair)
	}
	return h.MemberCA(), append(pairs, h.Server), nil
}

func issueRoot(random io.Reader, now time.Time, c *v1beta1.EtcdCluster, signer pki.Pair) (pki.Pair, error) {
	pair, err := pki.Issue(random, now, signer, bound(c, ClientRequest(v1beta1.RootUser, OperatorLifetime)))
	if err != nil {
		return pair, fmt.Errorf("issue the operator's certificate: %w", err)
	}
	return pair, nil
}

var errEnded = errors.New("it is valid no more, or not yet")
