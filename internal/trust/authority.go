package trust

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/build"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/pki"
)

// An Authority is what the Secret of one holds: the certificate that signs, with its key, and those that
// are trusted beside it. All state of a rotation is here.
type Authority struct {
	pki.Pair           // signs; one that was lost has no key
	Next      pki.Pair // is trusted, and signs nothing yet; empty if there is none
	Previous  []byte   // certificates that are still trusted and sign nothing more, in PEM
	RotatedAt time.Time
	Because   string // why it was rotated last; empty if it never was
	Request   string // the request that was acted on last
}

// Why an authority is rotated.
const (
	ByAge     = "Age"     // two thirds of its life are over
	ByRequest = "Request" // a person has asked for it
	ByLoss    = "Lost"    // it cannot sign any more
	ByEnd     = "Ended"   // nothing that it has signed is valid any more
)

// readAuthority takes an authority out of its Secret; nil is a missing one.
func readAuthority(secret *corev1.Secret) Authority {
	if secret == nil {
		return Authority{}
	}
	at, _ := time.Parse(time.RFC3339, secret.Annotations[v1alpha1.AnnotationRotatedAt])
	return Authority{
		Pair:      pairOf(secret.Data),
		Next:      pki.Pair{CertPEM: secret.Data[build.NextCertKey], KeyPEM: secret.Data[build.NextKeyKey]},
		Previous:  secret.Data[build.PreviousKey],
		RotatedAt: at,
		Because:   secret.Annotations[v1alpha1.AnnotationRotatedBecause],
		Request:   secret.Annotations[v1alpha1.AnnotationRotate],
	}
}

// Phase is how far the rotation of the authority is. A next one that is garbage counts as none.
func (a Authority) Phase() cluster.RotationPhase {
	begun := len(pki.Certificates(a.CertPEM)) > 0
	switch {
	case begun && usable(a.Next) == nil:
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
	return usable(a.Pair)
}

// Signs says whether it can sign at that time.
func (a Authority) Signs(now time.Time) bool {
	end, known := a.End()
	return known && now.Before(end) && usable(a.Pair) == nil
}

func usable(ca pki.Pair) error {
	if len(ca.CertPEM) == 0 {
		return errors.New("it is missing")
	}
	if _, err := ca.TLSCertificate(); err != nil {
		return fmt.Errorf("it holds no certificate with its key: %w", err)
	}
	return nil
}

// life is for how long it is valid in all, without what it was backdated by.
func (a Authority) life() time.Duration {
	begin, known := a.Begin()
	end, _ := a.End()
	if !known {
		return v1alpha1.DefaultAuthorityLifetime
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

// isKnown says whether one of those that are trusted has signed the certificate, which is in DER.
func (a Authority) isKnown(leaf []byte) bool {
	return slices.ContainsFunc(pki.Certificates(a.Bundle()), func(certificate []byte) bool {
		return pki.Pair{CertPEM: certificate}.HasSigned(leaf)
	})
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

// turned is the authority after a pass of its rotation, and whether there is anything to do: it may have been done
// before.
func (h Held) turned(random io.Reader, now time.Time, c *v1alpha1.EtcdCluster, name string, turn cluster.Turn) (Authority, bool, error) {
	a, lost := h.of(c, name), h.Lost(c, name, now) != nil
	switch phase := a.Phase(); {
	case turn.Pass == cluster.Introduce && (phase == cluster.Stable || lost):
		if lost {
			if a.Pair, a.Previous = h.told(c, name); len(a.CertPEM) == 0 {
				return a, false, nil // what members trust was lost meanwhile, too
			}
		}
		next, err := newCA(random, now, c, name)
		a.Next = next
		return a.rotated(now, turn), true, err
	case turn.Pass == cluster.Switch && phase == cluster.Introduced:
		was := a.CertPEM
		a.Pair, a.Next, a.Previous = a.Next, pki.Pair{}, slices.Concat(a.Previous, bytes.Join(pki.Certificates(was), nil))
		turn.Because, turn.Request = a.Because, a.Request
		return a.rotated(now, turn), true, nil
	case turn.Pass == cluster.Drop && phase == cluster.Switched:
		a.Previous = nil
		turn.Because, turn.Request = a.Because, a.Request
		return a.rotated(now, turn), true, nil
	case turn.Pass == cluster.Renew && a.hasEnded(now):
		pair, err := newCA(random, now, c, name)
		return Authority{Pair: pair}.rotated(now, turn), true, err
	default:
		return a, false, nil
	}
}

func (a Authority) rotated(now time.Time, turn cluster.Turn) Authority {
	a.RotatedAt, a.Because, a.Request = now, turn.Because, turn.Request
	return a
}

// told is the certificate by which members know what a lost authority has signed, without its key, and what else they
// were told to trust.
func (h Held) told(c *v1alpha1.EtcdCluster, name string) (signer pki.Pair, rest []byte) {
	bundle, leaf := h.memberCAs[0], h.Server
	if name == c.PeerCA() {
		bundle, leaf = h.memberCAs[1], h.Peer
	}
	for _, certificate := range pki.Certificates(bundle) {
		if ca := (pki.Pair{CertPEM: certificate}); len(signer.CertPEM) == 0 && pki.IsSignedBy(leaf, ca) {
			signer = ca
			continue
		}
		rest = append(rest, certificate...)
	}
	return signer, rest
}

func newCA(random io.Reader, now time.Time, c *v1alpha1.EtcdCluster, name string) (pki.Pair, error) {
	whom := " clients"
	if name == c.PeerCA() {
		whom = " peers"
	}
	return pki.NewCA(random, now, c.Name+whom, c.Spec.TLS.AuthorityLifetime())
}

// secret is what keeps the authority.
func (a Authority) secret(c *v1alpha1.EtcdCluster, name string) *corev1.Secret {
	// One that was lost has an empty key: without any the API server refuses a Secret of this type.
	secret := build.Authority(c, name, a.CertPEM, append([]byte{}, a.KeyPEM...))
	for key, value := range map[string][]byte{
		build.NextCertKey: a.Next.CertPEM, build.NextKeyKey: a.Next.KeyPEM, build.PreviousKey: a.Previous,
	} {
		if len(value) > 0 {
			secret.Data[key] = value
		}
	}
	notes := map[string]string{v1alpha1.AnnotationRotatedBecause: a.Because, v1alpha1.AnnotationRotate: a.Request}
	if !a.RotatedAt.IsZero() {
		notes[v1alpha1.AnnotationRotatedAt] = a.RotatedAt.UTC().Format(time.RFC3339)
	}
	return build.Noted(secret, notes)
}
