// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// revocation is the list of revoked certificates that members mount. It is empty until one is revoked, and there from then
// on: members that read it refuse every client while it is missing.
type revocation struct {
	list    []byte   // in DER
	serials []string // that are on it, sorted, the witness among them; none if it cannot be read
	at      string   // when a certificate was revoked last: members that were made before may have connections by it
}

func readRevocation(members *corev1.Secret) revocation {
	r := revocation{list: members.Data[specs.RevokedKey], at: members.Annotations[v1beta1.AnnotationRevokedAt]}
	r.serials, _ = pki.Revoked(r.list)
	return r
}

// witness is the serial number of a certificate that the operator alone can make, and shows to members: a member that refuses it
// has read this list and no earlier one, because every other list has another one.
func witness(at string, serials []string) string {
	sum := sha256.Sum256([]byte("witness\n" + at + "\n" + strings.Join(serials, "\n")))
	return witnessMark + hex.EncodeToString(sum[:witnessSize])
}

// A witness begins with witnessMark, so that most other numbers are excluded without a hash, and has as many more bytes.
const (
	witnessMark = "1e7cd0"
	witnessSize = 16
)

// revoked are the serial numbers on the list without its witness.
func (r revocation) revoked() []string {
	return slices.DeleteFunc(slices.Clone(r.serials), r.isWitness)
}

// isWitness says whether the number is that of the witness of the list: the one that follows from all others.
func (r revocation) isWitness(serial string) bool {
	if !strings.HasPrefix(serial, witnessMark) {
		return false
	}
	others := slices.DeleteFunc(slices.Clone(r.serials), func(s string) bool { return s == serial })
	return serial == witness(r.at, others)
}

// Serial is the serial number of the certificate in a Secret that applications mount, in hexadecimal; empty if it has none.
func Serial(secret *corev1.Secret) string { return pairOf(secret.Data).Serial() }

// isRevoked says whether members are to refuse the certificate.
func isRevoked(c *v1beta1.EtcdCluster, leaf pki.Pair) bool {
	serial := leaf.Serial()
	return slices.ContainsFunc(c.Spec.TLS.Revocations, func(r v1beta1.Revocation) bool { return r.Serial == serial })
}

var errRevoked = errors.New("its certificate is revoked")

// usesList says whether members are to have a list: from the first certificate that is revoked, and for as long as that is
// remembered anywhere.
func (h KeyMaterial) usesList(c *v1beta1.EtcdCluster) bool {
	return len(c.Spec.TLS.Revocations) > 0 || len(h.revocation.list) > 0 || h.revocation.at != "" || c.Status.Revocations != nil
}

// listFault says why members need another list; nil if they do not, or if no authority can sign another one now.
func (h KeyMaterial) listFault(c *v1beta1.EtcdCluster, now time.Time) error {
	r, wanted := h.revocation, c.Spec.TLS.Serials()
	switch {
	case !h.usesList(c) || !h.ClientCA.Signs(now):
		return nil
	case r.at != "" && slices.Equal(r.serials, withWitness(r.at, wanted)):
		return nil
	default:
		return errors.New("its list of revoked certificates is not the current one")
	}
}

func withWitness(at string, serials []string) []string {
	all := append(slices.Clone(serials), witness(at, serials))
	slices.Sort(all)
	return all
}

// revoke makes the list that members are to have, or keeps the one that there is. It says that certificates are revoked now if
// one is on it that was on none before: to remove one restarts no member.
func (h KeyMaterial) revoke(random io.Reader, now time.Time, c *v1beta1.EtcdCluster) (revocation, error) {
	if !h.usesList(c) || h.listFault(c, now) == nil {
		return h.revocation, nil
	}
	wanted, known, at := c.Spec.TLS.Serials(), h.revocation.revoked(), h.revocation.at
	if status := c.Status.Revocations; at == "" && status != nil { // the Secret was lost
		known, at = status.Serials, status.RevokedAt
	}
	isNew := func(serial string) bool { return !slices.Contains(known, serial) }
	if at == "" || slices.ContainsFunc(wanted, isNew) {
		at = now.UTC().Format(time.RFC3339Nano)
	}
	made := revocation{at: at, serials: withWitness(at, wanted)}
	var err error
	if made.list, err = pki.RevocationList(random, now, h.ClientCA.Pair, made.serials); err != nil {
		return revocation{}, fmt.Errorf("revoke certificates: %w", err)
	}
	return made, nil
}

// List is the list of revoked certificates that members mount, in DER; empty if there is none.
func (h KeyMaterial) List() []byte { return h.revocation.list }

// onlooker is the common name of certificates that are shown to members to see whether they are refused. No user has it,
// because none can.
const onlooker = "(revocation)"

// onlookerLifetime is longer than a look takes, on clocks that differ.
const onlookerLifetime = 24 * time.Hour

// Witnesses are two certificates of which only one is on the list, with no other difference: a member that has read it refuses that one,
// and accepts the other one.
func (h KeyMaterial) Witnesses(random io.Reader, now time.Time) (good, revoked pki.Pair, err error) {
	request := ClientRequest(onlooker, onlookerLifetime)
	if good, err = pki.Issue(random, now, h.ClientCA.Pair, request); err != nil {
		return good, revoked, fmt.Errorf("make a certificate that is not revoked: %w", err)
	}
	request.Serial = witness(h.revocation.at, h.revocation.revoked())
	if revoked, err = pki.Issue(random, now, h.ClientCA.Pair, request); err != nil {
		return good, revoked, fmt.Errorf("make a certificate that is revoked: %w", err)
	}
	return good, revoked, nil
}

// IsRevoking says whether members are to be looked at for what they refuse. It is over when that was written down and no Pod is
// older.
func (h KeyMaterial) IsRevoking(c *v1beta1.EtcdCluster, made map[string]string) bool {
	at, status := h.revocation.at, c.Status.Revocations
	if at == "" || len(c.Spec.TLS.Revocations) == 0 { // nothing is revoked any more, even if an external authority can sign no list
		return false
	}
	for _, was := range made {
		if was != at {
			return true
		}
	}
	return status == nil || status.RevokedAt != at || status.Phase != v1beta1.RevocationDone
}

// Revocation is how far certificates are revoked.
func (h KeyMaterial) Revocation(c *v1beta1.EtcdCluster, f Facts) cluster.Revocation {
	r := cluster.Revocation{At: h.revocation.at, Serials: h.revocation.revoked(), Phase: cluster.Revoked}
	if r.At == "" {
		return cluster.Revocation{}
	}
	if len(c.Spec.TLS.Revocations) == 0 {
		r.Serials = nil
	}
	if !h.IsRevoking(c, f.Made) {
		return r
	}
	isOlder := func(member string) bool { return f.Made[member] != r.At }
	older := slices.ContainsFunc(f.Members, isOlder)
	r.Await = awaitRefusal(c, f)
	if r.Await == "" && older {
		r.Await = h.awaitReissued(c, f)
	}
	switch {
	case older && r.Await != "" && !slices.ContainsFunc(f.Members, func(member string) bool { return !isOlder(member) }):
		r.Phase = cluster.Listed
	case older || r.Await != "":
		r.Phase = cluster.CutOff
	}
	return r
}

// awaitRefusal says which member has yet to refuse what is on the list; empty if none. Members that read none restart to read it.
func awaitRefusal(c *v1beta1.EtcdCluster, f Facts) string {
	if len(f.Members) == 0 {
		return "members to be listed, to see whether they refuse certificates that are revoked"
	}
	for _, member := range f.Members {
		if f.Made[member] == "" {
			continue
		}
		i := slices.IndexFunc(f.Probes, func(s TLSProbe) bool { return s.Member == member })
		switch {
		case i < 0:
			return member + " to run, to see whether it refuses certificates that are revoked"
		case f.Probes[i].Refusal.Err != "":
			return fmt.Sprintf("%s at port %d to show whether it refuses certificates that are revoked: %s",
				member, v1beta1.ClientPort, f.Probes[i].Refusal.Err)
		case !f.Probes[i].Refusal.Is:
			return fmt.Sprintf("%s to refuse certificates that are revoked: its kubelet brings it the list in Secret %s within a minute and "+
				"a half; delete pod %s if this lasts", member, specs.MemberSecret(c), member)
		}
	}
	return ""
}

// awaitReissued says until when Pods may have a certificate that is revoked and issued again: when members restart, applications
// connect with what they have. A certificate that is not issued again is waited for no longer than others.
func (h KeyMaterial) awaitReissued(c *v1beta1.EtcdCluster, f Facts) string {
	revoked, err := time.Parse(time.RFC3339Nano, h.revocation.at)
	if err != nil {
		return ""
	}
	wait := func(secret string, leaf pki.Pair, at time.Time) string {
		if isRevoked(c, leaf) {
			at = revoked
		}
		if at.Before(revoked.Truncate(time.Second)) || f.Now.Sub(at).Abs() >= settles {
			return ""
		}
		return mounted("clients", "show another certificate than the one that is revoked", secret, at, settles)
	}
	if why := wait(c.ClientSecret(), h.Client, h.written.client); why != "" {
		return why
	}
	for _, secret := range f.Users {
		if why := wait(secret.Name, pairOf(secret.Data), writtenAt(secret)); why != "" {
			return why
		}
	}
	return ""
}
