// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// TLSPhase is how far a change of tls.mode is.
// +kubebuilder:validation:Enum=Stable;Advertised;Both
type TLSPhase string

const (
	// TLSStable: members are found by one scheme, and serve one.
	TLSStable TLSPhase = "Stable"
	// TLSAdvertised: etcd lists each member with an https and an http URL for peers. Members serve one scheme, or are restarted to
	// do so.
	TLSAdvertised TLSPhase = "Advertised"
	// TLSBoth: members serve clients of both schemes on the same port, or are restarted to do so.
	TLSBoth TLSPhase = "Both"
)

// TLSStatus is by which scheme members are found and serve clients.
type TLSStatus struct {
	// mode is the one by which the operator, its Jobs and status.endpoint connect: tls.mode, or the one before while it is changed.
	Mode TLSMode `json:"mode"`

	// phase is Stable; or, while tls.mode is changed, Advertised (etcd lists each member with both schemes) or Both (members serve
	// clients of both schemes, or restart for it).
	Phase TLSPhase `json:"phase"`

	// switchedAt is when mode was changed to another one: clients have tls.clientWindow from then on to follow. It is there until phase is
	// Stable.
	// +optional
	SwitchedAt *metav1.Time `json:"switchedAt,omitempty"`
}

// DefaultClientWindow is for how long members serve clients of both schemes where spec.tls.clientWindow does not say.
const DefaultClientWindow = 10 * time.Minute

// Window is for how long members serve clients of both schemes, after endpoints were changed.
func (t TLS) Window() time.Duration {
	return ptr.Deref(t.ClientWindow, metav1.Duration{Duration: DefaultClientWindow}).Duration
}

// WantsTLS says whether connections are to use TLS in the end.
func (c *EtcdCluster) WantsTLS() bool { return c.Spec.TLS.Mode != TLSDisabled }

// IsSecure says whether connections to members use TLS: those of the operator, and of clients by the published endpoint. While
// tls.mode is changed that is what the status says.
func (c *EtcdCluster) IsSecure() bool {
	if c.Status.TLS != nil {
		return c.Status.TLS.Mode != TLSDisabled
	}
	return c.WantsTLS()
}

// ServesBoth says whether members serve clients of both schemes, and have certificates although their peers connect by http.
func (c *EtcdCluster) ServesBoth() bool { return c.tlsPhase() == TLSBoth }

// ListsBoth says whether etcd lists each member with a peer URL of each scheme.
func (c *EtcdCluster) ListsBoth() bool { return c.tlsPhase() != TLSStable }

// MountsCertificates says whether members have certificates.
func (c *EtcdCluster) MountsCertificates() bool { return c.IsSecure() || c.ServesBoth() }

// HasCertificates says whether there are to be certificates: members have them, or are about to.
func (c *EtcdCluster) HasCertificates() bool { return c.WantsTLS() || c.MountsCertificates() }

func (c *EtcdCluster) tlsPhase() TLSPhase {
	if c.Status.TLS == nil {
		return TLSStable
	}
	return c.Status.TLS.Phase
}
