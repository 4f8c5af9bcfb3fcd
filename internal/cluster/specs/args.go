// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// DataDirectory is the name of etcd's data directory on a member's volume.
const DataDirectory = "data"

const (
	dataMount = "/var/lib/etcd"
	// dataDir is below the mount, because a volume's root may hold lost+found, which
	// etcd takes for foreign data.
	dataDir   = dataMount + "/" + DataDirectory
	tlsMount  = "/etc/etcd-tls"
	tlsVolume = "tls"
)

// Host is the DNS name of a member. It ends in .svc, so that it holds under every
// cluster domain.
func Host(c *v1beta1.EtcdCluster, member string) string {
	return member + "." + c.HeadlessService() + "." + c.Namespace + ".svc"
}

// ClientHost is the DNS name in certificates of clients that are bound to a cluster. Nothing is found by it, and a member's certificate
// has it by its wildcard: etcd's own HTTP gateway connects with that.
func ClientHost(c *v1beta1.EtcdCluster) string { return Host(c, "client") }

// PeerURL is where a member listens to the others.
func PeerURL(c *v1beta1.EtcdCluster, member string) string {
	return fmt.Sprintf("%s://%s:%d", peerScheme(c), Host(c, member), v1beta1.PeerPort)
}

// PeerURLs are those by which etcd is to list a member. While TLS is turned on or off there is one for each scheme, both of one port: the
// others try them in turn, and the member listens to one (docs/adr/0056).
func PeerURLs(c *v1beta1.EtcdCluster, member string) []string {
	if !c.ListsBoth() {
		return []string{PeerURL(c, member)}
	}
	host := fmt.Sprintf("://%s:%d", Host(c, member), v1beta1.PeerPort)
	return []string{"http" + host, "https" + host}
}

// peerScheme is by which members listen to each other: http, unless all have certificates, and have had them since the others last
// restarted.
func peerScheme(c *v1beta1.EtcdCluster) string {
	if c.ServesBoth() {
		return "http"
	}
	return scheme(c)
}

// clientURLs are those of a member for clients. One port of etcd serves both schemes.
func clientURLs(c *v1beta1.EtcdCluster, host string) string {
	at := fmt.Sprintf("://%s:%d", host, v1beta1.ClientPort)
	if c.ServesBoth() {
		return "http" + at + ",https" + at
	}
	return scheme(c) + at
}

// Endpoint is the URL that clients use.
func Endpoint(c *v1beta1.EtcdCluster) string {
	return fmt.Sprintf("%s://%s.%s.svc:%d", scheme(c), c.ClientService(), c.Namespace, v1beta1.ClientPort)
}

// Scheme is that of the URLs that clients use.
func Scheme(c *v1beta1.EtcdCluster) string { return scheme(c) }

func scheme(c *v1beta1.EtcdCluster) string {
	if c.IsSecure() {
		return "https"
	}
	return "http"
}

// arguments are etcd's flags in a fixed order: the name of the member, its settings,
// TLS, the user's own. Those of joining come last and are not in a template.
func arguments(c *v1beta1.EtcdCluster, member string) []string {
	args := []string{
		"--name=" + member,
		"--data-dir=" + dataDir,
		"--listen-client-urls=" + clientURLs(c, "0.0.0.0"),
		"--advertise-client-urls=" + clientURLs(c, Host(c, member)),
		fmt.Sprintf("--listen-peer-urls=%s://0.0.0.0:%d", peerScheme(c), v1beta1.PeerPort),
		advertised + PeerURL(c, member),
		fmt.Sprintf("--listen-metrics-urls=http://0.0.0.0:%d", v1beta1.MetricsPort),
	}
	args = append(args, settings(c)...)
	if c.MountsCertificates() {
		args = append(args, tlsArguments(c)...)
	}
	for _, key := range slices.Sorted(maps.Keys(c.Spec.Etcd.ExtraArgs)) {
		args = append(args, "--"+key+"="+c.Spec.Etcd.ExtraArgs[key])
	}
	return args
}

func settings(c *v1beta1.EtcdCluster) []string {
	etcd := c.EtcdSettings()
	args := []string{
		quota + strconv.FormatInt(c.QuotaBytes(), 10),
		"--snapshot-count=" + strconv.FormatInt(etcd.SnapshotCount, 10),
		"--heartbeat-interval=" + milliseconds(etcd.HeartbeatInterval.Duration),
		"--election-timeout=" + milliseconds(etcd.ElectionTimeout.Duration),
		"--log-level=" + etcd.LogLevel,
	}
	return append(args, profileArguments(c)...)
}

// QuotaOf is the quota that the Pod's member was started with; 0 if none was set.
func QuotaOf(pod *corev1.Pod) int64 {
	for _, arg := range Etcd(pod).Args {
		if text, is := strings.CutPrefix(arg, quota); is {
			bytes, _ := strconv.ParseInt(text, 10, 64)
			return bytes
		}
	}
	return 0
}

const (
	quota      = "--quota-backend-bytes="
	advertised = "--initial-advertise-peer-urls="
)

// tlsArguments require TLS, of the version that is asked for or a later one, and a certificate of every client and peer. Peers
// are known by their authority alone: etcd would else look a peer's address up in
// DNS, and refuse a member whose Pod is newer than the record.
func tlsArguments(c *v1beta1.EtcdCluster) []string {
	skipNames := "--peer-skip-client-san-verification=true"
	if strings.HasPrefix(c.Spec.Version, "3.5.") {
		skipNames = "--experimental-peer-skip-client-san-verification=true"
	}
	all := []string{
		"--client-cert-auth=true",
		"--trusted-ca-file=" + tlsMount + "/" + ClientCAKey,
		"--cert-file=" + tlsMount + "/" + ServerCertKey,
		"--key-file=" + tlsMount + "/" + ServerKeyKey,
		"--peer-client-cert-auth=true",
		"--peer-trusted-ca-file=" + tlsMount + "/" + PeerCAKey,
		"--peer-cert-file=" + tlsMount + "/" + PeerCertKey,
		"--peer-key-file=" + tlsMount + "/" + PeerKeyKey,
		skipNames,
		"--tls-min-version=TLS" + string(cmp.Or(c.Spec.TLS.MinVersion, v1beta1.TLS13)),
	}
	if c.BindsClients() {
		all = append(all, "--client-cert-allowed-hostname="+ClientHost(c))
	}
	return all
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// ClientAddress is where one member is reached by clients that want no other one: host:port.
func ClientAddress(c *v1beta1.EtcdCluster, member string) string {
	return Address(Host(c, member), v1beta1.ClientPort)
}
