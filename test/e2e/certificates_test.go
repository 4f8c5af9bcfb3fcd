package e2e

import (
	"crypto/rand"
	"crypto/tls"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/etcd-operator/etcd-operator/internal/pki"
)

// selfSigned is a certificate of an authority that nobody trusts.
func selfSigned() tls.Certificate {
	GinkgoHelper()
	ca, err := pki.NewCA(rand.Reader, time.Now(), "somebody else")
	Expect(err).NotTo(HaveOccurred())
	pair, err := pki.Issue(rand.Reader, time.Now(), ca, pki.Request{CommonName: "client", Client: true, Lifetime: time.Hour})
	Expect(err).NotTo(HaveOccurred())
	certificate, err := pair.TLSCertificate()
	Expect(err).NotTo(HaveOccurred())
	return certificate
}

func plainCodec() runtime.NegotiatedSerializer { return clientgoscheme.Codecs.WithoutConversion() }
