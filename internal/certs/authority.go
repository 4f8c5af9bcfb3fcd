// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// An Authority is what the Secret of one holds: the certificate that signs, with its key, and those that
// are trusted beside it. All state of a rotation is here.
type Authority struct {
	pki.Pair              // signs; one that was lost has no key
	Adopted      bool     // it is of a cluster that was adopted: that of peers is rotated then, that of clients when it is asked for
	External     bool     // its key is not in this cluster: CertPEM may be several
	Next         pki.Pair // is trusted, and signs nothing yet; empty if there is none
	NextExternal bool     // so is the next one
	Previous     []byte   // certificates that are still trusted and sign nothing more, in PEM
	RotatedAt    time.Time
	Because      string // why it was rotated last; empty if it never was
	Request      string // the request that was acted on last
}

// Why an authority is rotated.
const (
	ByAge     = "Age"     // two thirds of its life are over
	ByRequest = "Request" // a person has asked for it
	ByLoss    = "Lost"    // it cannot sign any more
	ByEnd     = "Ended"   // nothing that it has signed is valid any more
	ByOrigin  = "Adopted" // it is that of the peers of a cluster that was adopted
	BySource  = "Source"  // certificates are to be by another one, external or ours
)

// readAuthority takes an authority out of its Secret; nil is a missing one.
func readAuthority(secret *corev1.Secret) Authority {
	if secret == nil {
		return Authority{}
	}
	at, _ := time.Parse(time.RFC3339, secret.Annotations[v1beta1.AnnotationRotatedAt])
	isTheirs := func(key string) bool {
		return slices.Contains(strings.Fields(string(secret.Data[specs.ExternalKey])), key)
	}
	return Authority{
		External: isTheirs(corev1.TLSCertKey), NextExternal: isTheirs(specs.NextCertKey),
		Adopted:   secret.Annotations[v1beta1.AnnotationAdoptedAuthority] != "",
		Pair:      pairOf(secret.Data),
		Next:      pki.Pair{CertPEM: secret.Data[specs.NextCertKey], KeyPEM: secret.Data[specs.NextKeyKey]},
		Previous:  secret.Data[specs.PreviousKey],
		RotatedAt: at,
		Because:   secret.Annotations[v1beta1.AnnotationRotatedBecause],
		Request:   secret.Annotations[v1beta1.AnnotationRotate],
	}
}

// Phase is how far the rotation of the authority is. A next one that is garbage counts as none.
func (a Authority) Phase() cluster.RotationPhase {
	begun := len(pki.Certificates(a.CertPEM)) > 0
	switch {
	case begun && signs(a.Next, a.NextExternal) == nil:
		return cluster.Introduced
	case begun && len(pki.Certificates(a.Previous)) > 0:
		return cluster.Switched
	default:
		return cluster.Stable
	}
}

// Bundle are all certificates that are trusted, in PEM. Of an authority that is not being rotated it is what its
// Secret holds, to the byte.
func (a Authority) Bundle() []byte {
	if a.Phase() == cluster.Stable {
		return a.CertPEM
	}
	var bundle []byte
	for _, part := range [][]byte{a.CertPEM, a.Next.CertPEM, a.Previous} {
		for _, certificate := range pki.Certificates(part) {
			if !bytes.Contains(bundle, certificate) {
				bundle = append(bundle, certificate...)
			}
		}
	}
	return bundle
}

// fault says why it is not as it is to be; nil if it can sign, or another is about to.
func (a Authority) fault() error {
	if a.Phase() == cluster.Introduced {
		return nil
	}
	return signs(a.Pair, a.External)
}

// signs says why an authority signs nothing. An external one has no key here.
func signs(ca pki.Pair, theirs bool) error {
	if theirs && ca.Subject() != nil {
		return nil
	}
	return complete(ca)
}

// End is when nothing is valid any more that it has signed, and whether that is known. Of several the last one counts.
func (a Authority) End() (time.Time, bool) {
	end, known := a.Pair.End()
	for _, certificate := range pki.Certificates(a.CertPEM) {
		if other, is := (pki.Pair{CertPEM: certificate}).End(); a.External && is && other.After(end) {
			end = other
		}
	}
	return end, known
}

// coming is the authority that signs when the rotation is over, and whether it is external.
func (a Authority) coming() (ca pki.Pair, theirs bool) {
	if a.Phase() == cluster.Introduced {
		return a.Next, a.NextExternal
	}
	return a.Pair, a.External
}

// Signs says whether it can sign at that time.
func (a Authority) Signs(now time.Time) bool {
	end, known := a.End()
	return known && now.Before(end) && complete(a.Pair) == nil
}

// complete says why there is no certificate with its key.
func complete(pair pki.Pair) error {
	if len(pair.CertPEM) == 0 {
		return errors.New("it is missing")
	}
	if _, err := pair.TLSCertificate(); err != nil {
		return fmt.Errorf("it holds no certificate with its key: %w", err)
	}
	return nil
}

// usable says whether there is a certificate with its key that is valid now.
func usable(leaf pki.Pair, now time.Time) bool {
	begin, known := leaf.Begin()
	end, _ := leaf.End()
	return known && complete(leaf) == nil && !now.Before(begin) && now.Before(end)
}

// life is for how long it is valid in all, without what it was backdated by.
func (a Authority) life() time.Duration {
	begin, known := a.Begin()
	end, _ := a.End()
	if !known {
		return v1beta1.DefaultAuthorityLifetime
	}
	return end.Sub(begin) - pki.Backdate
}

// hasPassed says whether that many percent of its life are over.
func (a Authority) hasPassed(percent time.Duration, now time.Time) bool {
	end, known := a.End()
	return known && now.After(end.Add(-a.life()/100*(100-percent)))
}

// hasEnded says whether nothing is valid any more that it has signed.
func (a Authority) hasEnded(now time.Time) bool {
	end, known := a.End()
	return known && now.After(end)
}

// isYetToBegin says whether it is not valid yet, by that clock.
func (a Authority) isYetToBegin(now time.Time) bool {
	begin, known := a.Begin()
	return known && now.Before(begin)
}

// hasSigned says whether it has signed the certificate, or one of those in between that come with it.
func (a Authority) hasSigned(leaf pki.Pair) bool {
	if a.External {
		return pki.ChainsTo(leaf, a.CertPEM)
	}
	return pki.IsSignedBy(leaf, a.Pair)
}

// fingerprint is the same for the same authorities, in whatever order they are listed.
func fingerprint(bundles ...[]byte) string {
	var sums []string
	for i, bundle := range bundles {
		for _, certificate := range pki.Certificates(bundle) {
			sum := sha256.Sum256(certificate)
			sums = append(sums, fmt.Sprintf("%d %x", i, sum))
		}
	}
	slices.Sort(sums)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(sums), "\n")))
	return hex.EncodeToString(sum[:8])
}

// ofOthers says which of the certificates are external authorities; nil if none is.
func (a Authority) ofOthers() []byte {
	var keys []string
	if a.External {
		keys = append(keys, corev1.TLSCertKey)
	}
	if a.NextExternal {
		keys = append(keys, specs.NextCertKey)
	}
	return []byte(strings.Join(keys, " "))
}

// secret is what keeps the authority.
func (a Authority) secret(c *v1beta1.EtcdCluster, name string) *corev1.Secret {
	// One that was lost has an empty key: without any the API server refuses a Secret of this type.
	secret := specs.Authority(c, name, a.CertPEM, append([]byte{}, a.KeyPEM...))
	for key, value := range map[string][]byte{
		specs.NextCertKey: a.Next.CertPEM, specs.NextKeyKey: a.Next.KeyPEM, specs.PreviousKey: a.Previous, specs.ExternalKey: a.ofOthers(),
	} {
		if len(value) > 0 {
			secret.Data[key] = value
		}
	}
	notes := map[string]string{
		v1beta1.AnnotationRotatedBecause: a.Because, v1beta1.AnnotationRotate: a.Request, v1beta1.AnnotationAdoptedAuthority: a.asAdopted(),
	}
	if !a.RotatedAt.IsZero() {
		notes[v1beta1.AnnotationRotatedAt] = a.RotatedAt.UTC().Format(time.RFC3339)
	}
	return specs.Noted(secret, notes)
}
