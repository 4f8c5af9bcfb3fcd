// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package v1beta1_test

import (
	"fmt"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// refusal is bad input, what the refusal must say, and the nearest good input.
type refusal struct {
	name      string
	from      string // spec of a cluster that exists; empty: bad and good are created
	bad, good string // specs
	says      string // words of the message, separated by |
}

func (r refusal) check(t *testing.T, number int) {
	try, name := tryCreate, fmt.Sprintf("refusal-%d", number)
	if r.from != "" {
		try = tryUpdate
		create(t, name, r.from)
	}
	if strings.Contains(r.bad, "%d") { // its own name
		r.bad = fmt.Sprintf(r.bad, number)
	}
	wantRefused(t, try(t, name, r.bad), r.bad, strings.Split(r.says, "|")...)
	wantAccepted(t, try(t, name, r.good), r.good)
}

func TestRefusals(t *testing.T) {
	number := 0
	for _, table := range [][]refusal{
		sizes, versions, operations, storage, immutable, windows, etcdSettings, flags, podSettings, restores, backups, networks,
		sources, outsides, templates, routes,
	} {
		for _, r := range table {
			number++
			t.Run(r.name, func(t *testing.T) { r.check(t, number) })
		}
	}
}

const sizeRule = "spec.size: Invalid value|size must be 1, 3, 5 or 7|an even number of members"

var backups = []refusal{
	{
		name: "a log that is flushed too often", bad: "{backup: {store: offsite, continuous: {flush: 99ms}}}",
		good: "{backup: {store: offsite, continuous: {flush: 100ms}}}", says: "backup.continuous.flush must be from 100ms to 1h",
	},
	{
		name: "a log that is hardly ever flushed", bad: "{backup: {store: offsite, continuous: {flush: 61m}}}",
		good: "{backup: {store: offsite, continuous: {flush: 1h}}}", says: "backup.continuous.flush must be from 100ms to 1h",
	},
	{
		name: "segments that are too small", bad: "{backup: {store: offsite, continuous: {segmentSize: 63Ki}}}",
		good: "{backup: {store: offsite, continuous: {segmentSize: 64Ki}}}", says: "backup.continuous.segmentSize must be from 64Ki to 15Mi",
	},
	{
		name: "segments that no store takes at once", bad: "{backup: {store: offsite, continuous: {segmentSize: 16Mi}}}",
		good: "{backup: {store: offsite, continuous: {segmentSize: 15Mi}}}", says: "backup.continuous.segmentSize must be from 64Ki to 15Mi",
	},
	{
		name: "a log without a store", bad: "{backup: {continuous: {}}}",
		good: "{backup: {store: offsite, continuous: {}, encryption: {recipients: [age1xyz]}}}", says: "backup.store",
	},
	{
		name: "a time zone in the schedule", bad: "{backup: {store: offsite, schedule: 'TZ=Europe/Berlin 30 2 * * *'}}",
		good: "{backup: {store: offsite, schedule: '30 2 * * *', timeZone: Europe/Berlin}}", says: "backup.schedule must not name a time zone",
	},
	{
		name: "a time zone of cron in the schedule", bad: "{backup: {store: offsite, schedule: 'CRON_TZ=UTC 30 2 * * *'}}",
		good: "{backup: {store: offsite, schedule: '*/15 2-4 * JAN,mar mon-5'}}", says: "backup.schedule must not name a time zone",
	},
	{
		name: "a schedule of four fields", bad: "{backup: {store: offsite, schedule: '30 2 * *'}}",
		good: "{backup: {store: offsite, schedule: '@daily'}}", says: "backup.schedule must have five fields",
	},
	{
		name: "a schedule without times", bad: "{backup: {store: offsite, schedule: '@every 5m'}}",
		good: "{backup: {store: offsite, schedule: '*/5 * * * *'}}", says: "backup.schedule must have five fields",
	},
	{
		name: "a time zone of the machine", bad: "{backup: {store: offsite, schedule: '@daily', timeZone: Local}}",
		good: "{backup: {store: offsite, schedule: '@daily', timeZone: America/Argentina/Buenos_Aires}}",
		says: "backup.timeZone must be the name",
	},
	{
		name: "a retention without a schedule", bad: "{backup: {store: offsite, retention: {count: 3}}}",
		good: "{backup: {store: offsite, schedule: '@daily', retention: {count: 3, age: 168h, daily: 7, weekly: 4, monthly: 12, yearly: 3}}}",
		says: "go with backup.schedule",
	},
	{
		name: "a pause of no schedule", bad: "{backup: {store: offsite, suspend: true}}",
		good: "{backup: {store: offsite, schedule: '@daily', suspend: true}}", says: "go with backup.schedule",
	},
	{
		name: "a retention of nothing", bad: "{backup: {store: offsite, schedule: '@daily', retention: {}}}",
		good: "{backup: {store: offsite, schedule: '@daily', retention: {yearly: 1}}}", says: "backup.retention must say what to keep",
	},
	{
		name: "a retention of minutes", bad: "{backup: {store: offsite, schedule: '@daily', retention: {age: 5m}}}",
		good: "{backup: {store: offsite, schedule: '@daily', retention: {age: 1h}}}", says: "backup.retention.age must be at least 1h",
	},
	{
		name: "a lifetime, and volumes that stay", bad: "{expiresAfter: 1h}", good: "{expiresAfter: 1h, deletionPolicy: Delete}",
		says: "expiresAfter needs deletionPolicy Delete",
	},
	{
		name: "a lifetime of seconds", bad: "{expiresAfter: 10s, deletionPolicy: Delete}", good: "{expiresAfter: 1m, deletionPolicy: Delete}",
		says: "expiresAfter must be between 1m and 8760h",
	},
	{
		name: "a last backup to nowhere", bad: "{deletionPolicy: Backup}", good: "{deletionPolicy: Backup, backup: {store: offsite}}",
		says: "deletionPolicy Backup needs spec.backup.store",
	},
	{
		name: "a last backup whose store is taken away", from: "{deletionPolicy: Backup, backup: {store: offsite}}",
		bad: "{deletionPolicy: Backup}", good: "{deletionPolicy: Retain}", says: "deletionPolicy Backup needs spec.backup.store",
	},
	{
		name: "a backup before upgrades to nowhere", bad: "{upgrade: {backup: Require}}",
		good: "{upgrade: {backup: Require}, backup: {store: offsite}}", says: "upgrade.backup Require needs spec.backup.store",
	},
	{
		name: "a word for backups before upgrades", bad: "{upgrade: {backup: Always}}", good: "{upgrade: {backup: Skip}}", says: "Require|Skip",
	},
}

var sizes = []refusal{
	{
		name: "fault 46: size 0 without volumes", bad: "{size: 0, storage: {ephemeral: {}}}", good: "{size: 0}",
		says: "spec: Invalid value|size 0 needs volumes: with storage.ephemeral the data would be lost",
	},
	{
		name: "fault 46: to size 0 without volumes", from: "{storage: {ephemeral: {}}}", bad: "{size: 0, storage: {ephemeral: {}}}",
		good: "{size: 1, storage: {ephemeral: {}}}", says: "spec: Invalid value|size 0 needs volumes",
	},
	{name: "fault 47: size 2", bad: "{size: 2}", good: "{size: 3}", says: sizeRule},
	{name: "fault 47: size 4", bad: "{size: 4}", good: "{size: 5}", says: sizeRule},
	{name: "fault 47: size 8", bad: "{size: 8}", good: "{size: 7}", says: sizeRule},
	{name: "fault 47: from 3 to 4", from: "{size: 3}", bad: "{size: 4}", good: "{size: 5}", says: sizeRule},
	{name: "fault 48: size 9", bad: "{size: 9}", good: "{size: 7}", says: sizeRule},
	{name: "fault 48: size 1000", bad: "{size: 1000}", good: "{size: 7}", says: sizeRule},
	{name: "fault 48: size -1", bad: "{size: -1}", good: "{size: 1}", says: sizeRule},
	{name: "fault 48: size not a number", bad: "{size: three}", good: "{size: 3}", says: "spec.size|integer"},
}

const versionRule = "spec.version: Invalid value|version must be an etcd version of the 3.5, 3.6 or 3.7 series|such as 3.6.16"

var versions = []refusal{
	{name: "fault 50: version latest", bad: "{version: latest}", good: "{version: 3.6.16}", says: versionRule},
	{name: "fault 50: version 3", bad: `{version: "3"}`, good: "{version: 3.7.0}", says: versionRule},
	{name: "fault 50: version 3.8", bad: `{version: "3.8"}`, good: `{version: "3.6"}`, says: versionRule},
	{
		name: "fault 50: which 3.6 is in the image", bad: `{version: "3.6", image: example/etcd:1}`,
		good: `{version: 3.6.16, image: example/etcd:1}`,
		says: "spec: Invalid value|version must be a full version such as 3.6.16 when image is set",
	},
	{name: "fault 50: version v3.6.16", bad: "{version: v3.6.16}", good: "{version: 3.6.16}", says: versionRule},
	{name: "fault 50: version 2.3.8", bad: "{version: 2.3.8}", good: "{version: 3.5.26}", says: versionRule},
	{name: "fault 50: version 3.8.0", bad: "{version: 3.8.0}", good: "{version: 3.7.3}", says: versionRule},
	{name: "fault 50: version 3.4.37", bad: "{version: 3.4.37}", good: "{version: 3.5.37}", says: versionRule},
	{name: "fault 50: release candidate", bad: "{version: 3.6.16-rc.0}", good: "{version: 3.6.16}", says: versionRule},
	{name: "fault 50: leading zero", bad: "{version: 3.6.016}", good: "{version: 3.6.16}", says: versionRule},
	{name: "fault 50: empty version", bad: `{version: ""}`, good: "{}", says: versionRule},
	{name: "fault 50: no health checks", bad: "{version: 3.5.10}", good: "{version: 3.5.11}", says: "spec.version|must be 3.5.11 or newer"},
	{name: "fault 50: the first 3.5", bad: "{version: 3.5.0}", good: "{version: 3.5.100}", says: "spec.version|must be 3.5.11 or newer"},
	{name: "fault 50: to version latest", from: "{}", bad: "{version: latest}", good: "{version: 3.6.17}", says: versionRule},
	{
		name: "image with a space",
		bad:  `{image: "registry.example/etcd :v3.6.16"}`, good: "{image: registry.example:5000/a/etcd:v3.6.16}",
		says: "spec.image: Invalid value|image must be an image reference",
	},
	{
		name: "image with a scheme", bad: "{image: 'https://registry.example/etcd?tag=1'}",
		good: "{image: 'registry.example/etcd@sha256:" + strings.Repeat("0", 64) + "'}", says: "spec.image|image must be an image reference",
	},
}

var operations = []refusal{
	{
		name: "unknown failure policy", bad: "{upgrade: {onFailure: Ignore}}", good: "{upgrade: {onFailure: RollBack}}",
		says: "spec.upgrade.onFailure: Unsupported value|Halt|RollBack",
	},
	{
		name: "unknown recovery policy", bad: "{recovery: {quorumLoss: Never}}", good: "{recovery: {quorumLoss: Automatic}}",
		says: "spec.recovery.quorumLoss: Unsupported value|Manual|Automatic",
	},
	{
		name: "loss accepted without a revision", bad: "{recovery: {acceptDataLoss: a-0}}", good: "{recovery: {acceptDataLoss: a-0@17}}",
		says: "spec.recovery.acceptDataLoss|must be what status.quorumLoss.accept says",
	},
	{
		name: "loss accepted by a backup without a revision", bad: "{recovery: {acceptDataLoss: backup/nightly}}",
		good: "{recovery: {acceptDataLoss: backup/nightly@17}}",
		says: "spec.recovery.acceptDataLoss|or what status.quorumLoss.backup.accept says",
	},
	{
		name: "loss accepted by a name that no backup has", bad: "{recovery: {acceptDataLoss: backup/Nightly@17}}",
		good: "{recovery: {acceptDataLoss: backup/2026-11-24.nightly.a@17}}",
		says: "spec.recovery.acceptDataLoss|or what status.quorumLoss.backup.accept says",
	},
	{
		name: "loss accepted by a part of a backup's name", bad: "{recovery: {acceptDataLoss: backup/nightly.@17}}",
		good: "{recovery: {acceptDataLoss: backup/n@0}}",
		says: "spec.recovery.acceptDataLoss|or what status.quorumLoss.backup.accept says",
	},
	{
		name: "loss accepted by another kind", bad: "{recovery: {acceptDataLoss: restore/nightly@17}}",
		good: "{recovery: {acceptDataLoss: a@17}}",
		says: "spec.recovery.acceptDataLoss|or what status.quorumLoss.backup.accept says",
	},
	{
		name: "loss accepted by a backup with the longest name", bad: "{recovery: {acceptDataLoss: backup/" + strings.Repeat("n", 271) + "@17}}",
		good: "{recovery: {acceptDataLoss: backup/" + strings.Repeat("n", 253) + "@9223372036854775807}}",
		says: "spec.recovery.acceptDataLoss|280",
	},
	{
		name: "nodes written off at once", bad: "{recovery: {memberTimeout: 9s}}", good: "{recovery: {memberTimeout: 10s}}",
		says: "spec.recovery.memberTimeout|must be at least 10s",
	},
	{
		name: "negative quarantine", bad: "{storage: {quarantine: -1h}}", good: "{storage: {quarantine: 0s}}",
		says: "spec.storage.quarantine|must not be negative",
	},
}

const quotaRule = "spec: Invalid value|etcd.quota must not be above the size of the volume"

var storage = []refusal{
	{
		name: "storage shrinks", from: "{storage: {size: 10Gi}}", bad: "{storage: {size: 9Gi}}", good: "{storage: {size: 11Gi}}",
		says: "spec.storage: Invalid value|storage.size cannot shrink: Kubernetes volumes only grow",
	},
	{
		name: "storage shrinks below the default", from: "{}", bad: "{storage: {size: 7Gi}}", good: "{storage: {size: 8192Mi}}",
		says: "spec.storage|storage.size cannot shrink",
	},
	{
		name: "storage shrinks to the default", from: "{storage: {size: 10Gi}}", bad: "{}", good: "{storage: {size: 10Gi}}",
		says: "spec.storage|storage.size cannot shrink",
	},
	{
		name: "storage too small", bad: "{storage: {size: 63Mi}}", good: "{storage: {size: 64Mi}}",
		says: "spec.storage|storage.size must be at least 64Mi",
	},
	{
		name: "storage of negative size", bad: "{storage: {size: -1Gi}}", good: "{storage: {size: 1Gi}}",
		says: "spec.storage|storage.size must be at least 64Mi",
	},
	{
		name: "emptyDir too small", bad: "{storage: {ephemeral: {sizeLimit: 1Mi}}}", good: "{storage: {ephemeral: {}}}",
		says: "spec.storage.ephemeral.sizeLimit|must be at least 64Mi",
	},
	{name: "quota above the default volume", bad: "{etcd: {quota: 9Gi}}", good: "{etcd: {quota: 8Gi}}", says: quotaRule},
	{
		name: "quota above the volume", bad: "{etcd: {quota: 1025Mi}, storage: {size: 1Gi}}", good: "{etcd: {quota: 1Gi}, storage: {size: 1Gi}}",
		says: quotaRule,
	},
	{
		name: "quota above the emptyDir", bad: "{etcd: {quota: 3Gi}, storage: {ephemeral: {}}}",
		good: "{etcd: {quota: 3Gi}, storage: {ephemeral: {sizeLimit: 3Gi}}}", says: quotaRule,
	},
	{name: "quota 0", bad: "{etcd: {quota: 0}}", good: "{etcd: {quota: 16777216}}", says: "spec.etcd.quota|etcd.quota must be at least 1Mi"},
	{
		name: "two kinds of storage", bad: "{storage: {ephemeral: {}, size: 1Gi}}", good: "{storage: {size: 1Gi}}",
		says: "spec.storage: Invalid value|storage.ephemeral goes without storage.size and storage.storageClassName",
	},
	{
		name: "ephemeral with a class", bad: "{storage: {ephemeral: {}, storageClassName: fast}}", good: "{storage: {storageClassName: fast}}",
		says: "spec.storage|storage.ephemeral goes without storage.size and storage.storageClassName",
	},
	{
		name: "certificates that outlive their authority", bad: "{tls: {lifetimes: {authority: 24h, certificate: 24h}}}",
		good: "{tls: {lifetimes: {authority: 25h, certificate: 24h}}}",
		says: "tls.lifetimes.authority|must be longer than tls.lifetimes.certificate",
	},
	{
		name: "an authority with a shorter life than a default certificate", bad: "{tls: {lifetimes: {authority: 720h}}}",
		good: "{tls: {lifetimes: {authority: 720h, certificate: 24h}}}", says: "tls.lifetimes.authority|a year if it is not given",
	},
	{
		name: "a certificate with a longer life than a default authority", bad: "{tls: {lifetimes: {certificate: 87600h}}}",
		good: "{tls: {lifetimes: {certificate: 87599h}}}", says: "tls.lifetimes.authority|must be longer",
	},
	{
		name: "an authority that ends before members have restarted", bad: "{tls: {lifetimes: {authority: 29m, certificate: 12m}}}",
		good: "{tls: {lifetimes: {authority: 30m, certificate: 12m}}}", says: "tls.lifetimes.authority|at least 30m",
	},
	{
		name: "a certificate that ends before kubelets have seen the next", bad: "{tls: {lifetimes: {certificate: 11m}}}",
		good: "{tls: {lifetimes: {certificate: 12m}}}", says: "tls.lifetimes.certificate|at least 12m",
	},
	{
		name: "a lifetime that is none", bad: "{tls: {lifetimes: {certificate: ten days}}}", good: "{tls: {lifetimes: {certificate: 240h}}}",
		says: "tls.lifetimes.certificate",
	},
	{
		name: "fault 82: a revocation without TLS", bad: `{tls: {mode: Disabled, revocations: [{serial: "a1"}]}}`,
		good: "{tls: {mode: Disabled, revocations: []}}", says: "tls.revocations|needs tls.mode Enabled",
	},
	{
		name: "fault 82: a revocation where others issue certificates",
		bad:  `{tls: {revocations: [{serial: "a1"}], issuerRef: {name: corp}}}`,
		good: `{tls: {revocations: [], issuerRef: {name: corp}}}`, says: "tls.revocations|begin with another authority",
	},
	{
		name: "fault 82: a serial number as openssl prints it", bad: `{tls: {revocations: [{serial: "A1"}]}}`,
		good: `{tls: {revocations: [{serial: "a1", reason: "leaked with a laptop"}]}}`, says: "tls.revocations[0].serial|in lower case",
	},
	{
		name: "fault 82: a serial number with colons", bad: `{tls: {revocations: [{serial: "a1:b2"}]}}`,
		good: `{tls: {revocations: [{serial: "1"}]}}`, says: "tls.revocations[0].serial|without colons",
	},
	{
		name: "fault 82: a serial number with a leading zero", bad: `{tls: {revocations: [{serial: "0a1"}]}}`,
		good: `{tls: {revocations: [{serial: "10"}]}}`, says: "tls.revocations[0].serial|leading zeros",
	},
	{
		name: "fault 82: a serial number that is longer than any", bad: `{tls: {revocations: [{serial: "` + strings.Repeat("a", 41) + `"}]}}`,
		good: `{tls: {revocations: [{serial: "` + strings.Repeat("a", 40) + `"}]}}`, says: "tls.revocations[0].serial",
	},
	{
		name: "fault 82: a serial number twice", bad: `{tls: {revocations: [{serial: "a1"}, {serial: "a1", reason: "again"}]}}`,
		good: `{tls: {revocations: [{serial: "a1"}, {serial: "b2"}]}}`, says: "tls.revocations[1]|Duplicate value",
	},
	{
		name: "fault 82: more revocations than a list takes", bad: "{tls: {revocations: [" + revocations(257) + "]}}",
		good: "{tls: {revocations: [" + revocations(256) + "]}}", says: "tls.revocations|256",
	},
	{
		name: "class that is no name", bad: "{storage: {storageClassName: Very Fast}}", good: `{storage: {storageClassName: ""}}`,
		says: "spec.storage.storageClassName|must be the name of a StorageClass",
	},
}

// revocations are that many.
func revocations(count int) string {
	all := make([]string, 0, count)
	for i := range count {
		all = append(all, fmt.Sprintf(`{serial: "1%039x", reason: "%s"}`, i, strings.Repeat("r", 256)))
	}
	return strings.Join(all, ", ")
}

const ephemeralRule = "spec: Invalid value|storage.ephemeral cannot be added to or removed from an existing cluster"

var immutable = []refusal{
	{name: "fault 54: ephemeral added", from: "{}", bad: "{storage: {ephemeral: {}}}", good: "{storage: {}}", says: ephemeralRule},
	{
		name: "fault 54: ephemeral removed", from: "{storage: {ephemeral: {}}}", bad: "{}",
		good: "{storage: {ephemeral: {sizeLimit: 2048Mi}}}", says: ephemeralRule,
	},
	{
		name: "fault 54: ephemeral changed", from: "{storage: {ephemeral: {}}}", bad: "{storage: {ephemeral: {sizeLimit: 3Gi}}}",
		good: "{size: 5, storage: {ephemeral: {}}}", says: "spec.storage.ephemeral.sizeLimit|cannot be changed on an existing cluster",
	},
	{
		name: "fault 54: TLS off before the cluster has formed", from: "{}", bad: "{tls: {mode: Disabled}}", good: "{tls: {mode: Enabled}}",
		says: "spec.tls|tls.mode can be changed only once the cluster has formed",
	},
	{
		name: "fault 54: TLS on before the cluster has formed", from: "{tls: {mode: Disabled}}", bad: "{}",
		good: "{size: 1, tls: {mode: Disabled}}", says: "spec.tls|tls.mode can be changed only once the cluster has formed",
	},
}

// Names are refused when the cluster is made, in the user's own object, and not
// later by a Service or a Pod that is never looked at.
func TestNames(t *testing.T) {
	for _, r := range []struct{ name, bad, good, says string }{
		{"53 characters", strings.Repeat("a", 53), strings.Repeat("a", 52), "metadata.name must have at most 52 characters|DNS label"},
		{"63 characters", strings.Repeat("a", 63), "a", "metadata.name must have at most 52 characters"},
		{"dot", "a.b", "a-b", "metadata.name must be a DNS label|no dots"},
		{"digit first", "1a", "a1", "metadata.name must be a DNS label that starts with a letter"},
		{"upper case", "Example", "example", "metadata.name|lower case"},
	} {
		t.Run("fault 55: "+r.name, func(t *testing.T) {
			wantRefused(t, tryCreate(t, r.bad, "{}"), r.bad, strings.Split(r.says, "|")...)
			wantAccepted(t, tryCreate(t, r.good, "{}"), r.good)
		})
	}
}

func TestScaleSubresourceKeepsTheRuleOfSizes(t *testing.T) {
	c := create(t, "scaled", "{size: 3}")
	scale := func(size int32) error {
		body := &autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Name: c.Name, Namespace: c.Namespace},
			Spec:       autoscalingv1.ScaleSpec{Replicas: size},
		}
		return server.SubResource("scale").Update(t.Context(), c, client.WithSubResourceBody(body))
	}
	wantAccepted(t, scale(0), "fault 46: scale to 0")
	wantRefused(t, scale(4), "fault 47: scale to 4", "spec.size", "size must be 1, 3, 5 or 7")
	wantRefused(t, scale(9), "fault 48: scale to 9", "spec.size", "size must be 1, 3, 5 or 7")
	wantAccepted(t, scale(5), "scale to 5")
	if size := get(t, c.Name).Size(); size != 5 {
		t.Errorf("scaled to 5, and size is %d", size)
	}
}

// TestSizeOfAClusterThatAdopts: it does not become 0 by any way while members of others are beside ours, and an older one that is 0 has
// its status written.
func TestSizeOfAClusterThatAdopts(t *testing.T) {
	const spec = "{size: %d, tls: {mode: Disabled}, bootstrap: {adopt: {endpoints: ['http://a:2379']}}}"
	c := create(t, "adopting", fmt.Sprintf(spec, 3))
	write := func(status *v1beta1.AdoptionStatus) {
		c := get(t, "adopting")
		c.Status.Adoption = status
		wantAccepted(t, server.Status().Update(t.Context(), c), "its status")
	}
	begun := &v1beta1.AdoptionStatus{Sources: []v1beta1.SourceMember{}, StartedAt: metav1.Now().Rfc3339Copy()}
	write(begun)
	wantRefused(t, tryUpdate(t, "adopting", fmt.Sprintf(spec, 0)), "size 0", "spec.size", "while a running cluster is adopted")
	body := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: c.Name, Namespace: c.Namespace}}
	err := server.SubResource("scale").Update(t.Context(), c, client.WithSubResourceBody(body))
	wantRefused(t, err, "scale to 0", "while a running cluster is adopted")
	wantAccepted(t, tryUpdate(t, "adopting", fmt.Sprintf(spec, 5)), "size 5")
	ended := begun.DeepCopy()
	ended.CompletedAt = &begun.StartedAt
	write(ended)
	wantAccepted(t, tryUpdate(t, "adopting", fmt.Sprintf(spec, 0)), "size 0 when it is complete")
	write(begun)
}

var restores = []refusal{
	{
		name: "a restore without volumes", bad: "{storage: {ephemeral: {}}, bootstrap: {restore: {backup: first}}}",
		good: "{bootstrap: {restore: {backup: first}}}", says: "bootstrap.restore needs volumes",
	},
	{
		name: "endpoints of two schemes", bad: "{bootstrap: {adopt: {endpoints: ['http://a:2379', 'https://b:2379']}}}",
		good: "{tls: {mode: Disabled}, bootstrap: {adopt: {endpoints: ['http://a:2379', 'http://b:2379']}}}",
		says: "must be all https or all http",
	},
	{
		name: "an endpoint without a port", bad: "{tls: {mode: Disabled}, bootstrap: {adopt: {endpoints: ['http://a']}}}",
		good: "{tls: {mode: Disabled}, bootstrap: {adopt: {endpoints: ['http://a:2379']}}}", says: "a host and a port",
	},
	{
		name: "an adoption by https without certificates", bad: "{bootstrap: {adopt: {endpoints: ['https://a:2379']}}}",
		good: "{bootstrap: {adopt: {endpoints: ['https://a:2379'], clientSecretRef: {name: root}, peerAuthorityRef: {name: ca}}}}",
		says: "needs clientSecretRef",
	},
	{
		name: "an adoption without TLS into a cluster with TLS", bad: "{bootstrap: {adopt: {endpoints: ['http://a:2379']}}}",
		good: "{tls: {mode: Disabled}, bootstrap: {adopt: {endpoints: ['http://a:2379']}}}", says: "Disabled to adopt http endpoints",
	},
	{
		name: "an adoption that restores", bad: "{tls: {mode: Disabled}, bootstrap: {restore: {backup: first}, adopt: {endpoints: " +
			"['http://a:2379']}}}",
		good: "{bootstrap: {restore: {backup: first}}}", says: "bootstrap.adopt excludes",
	},
	{
		name: "volumes that are kept of no StatefulSet",
		bad:  "{tls: {mode: Disabled}, bootstrap: {adopt: {endpoints: ['http://a:2379'], volumes: Keep}}}",
		good: "{tls: {mode: Disabled}, bootstrap: {adopt: {endpoints: ['http://a:2379'], volumes: Keep, statefulSet: a}}}",
		says: "Keep needs bootstrap.adopt.statefulSet",
	},
	{
		name: "another cluster to adopt", from: "{tls: {mode: Disabled}, bootstrap: {adopt: {endpoints: ['http://a:2379']}}}",
		bad: "{tls: {mode: Disabled}, bootstrap: {adopt: {endpoints: ['http://b:2379']}}}", says: "bootstrap cannot be changed",
		good: "{size: 1, tls: {mode: Disabled}, bootstrap: {adopt: {endpoints: ['http://a:2379']}}}",
	},
	{
		name: "a copy of endpoints of two schemes", bad: "{bootstrap: {copy: {endpoints: ['http://a:2379', 'https://b:2379']}}}",
		good: "{bootstrap: {copy: {endpoints: ['http://a:2379', 'http://b:2379']}}}", says: "must be all https or all http",
	},
	{
		name: "a copy of an endpoint without a port", bad: "{bootstrap: {copy: {endpoints: ['http://a']}}}",
		good: "{bootstrap: {copy: {endpoints: ['http://a:2379']}}}", says: "a host and a port",
	},
	{
		name: "a copy of no endpoint", bad: "{bootstrap: {copy: {endpoints: []}}}",
		good: "{tls: {mode: Disabled}, bootstrap: {copy: {endpoints: ['http://a:2379']}}}", says: "should have at least 1 items",
	},
	{
		name: "a copy by https that trusts no authority", bad: "{bootstrap: {copy: {endpoints: ['https://a:2379']}}}",
		good: "{bootstrap: {copy: {endpoints: ['https://a:2379'], clientSecretRef: {name: root}}}}", says: "needs clientSecretRef",
	},
	{
		name: "a copy by http with a certificate", bad: "{bootstrap: {copy: {endpoints: ['http://a:2379'], clientSecretRef: {name: root}}}}",
		good: "{bootstrap: {copy: {endpoints: ['http://a:2379'], credentialsRef: {name: root}}}}", says: "with http endpoints there is none",
	},
	{
		name: "a copy that restores", bad: "{bootstrap: {restore: {backup: first}, copy: {endpoints: ['http://a:2379']}}}",
		good: "{bootstrap: {copy: {endpoints: ['http://a:2379'], switch: Automatic}}}", says: "bootstrap.copy excludes",
	},
	{
		name: "a copy that switches by itself in another word", bad: "{bootstrap: {copy: {endpoints: ['http://a:2379'], switch: Always}}}",
		good: "{bootstrap: {copy: {endpoints: ['http://a:2379'], switch: Manual}}}", says: "supported values",
	},
	{
		name: "a copy that stops writes for an hour", bad: "{bootstrap: {copy: {endpoints: ['http://a:2379'], stopLimit: 1h}}}",
		good: "{bootstrap: {copy: {endpoints: ['http://a:2379'], stopLimit: 30m}}}", says: "between 5s and 30m",
	},
	{
		name: "a copy by a Service of no name", bad: "{bootstrap: {copy: {endpoints: ['http://a:2379'], services: ['a.b']}}}",
		good: "{bootstrap: {copy: {endpoints: ['http://a:2379'], services: ['a-b']}}}", says: "must be names of Services",
	},
	{
		name: "another cluster to copy", from: "{bootstrap: {copy: {endpoints: ['http://a:2379']}}}",
		bad: "{bootstrap: {copy: {endpoints: ['http://b:2379']}}}", says: "bootstrap cannot be changed",
		good: "{size: 1, bootstrap: {copy: {endpoints: ['http://a:2379']}}}",
	},
	{
		name: "a restore of two backups", bad: "{bootstrap: {restore: {backup: first, store: offsite}}}",
		good: "{bootstrap: {restore: {store: offsite}}}", says: "either a backup, or a store",
	},
	{
		name: "a restore of nothing", bad: "{bootstrap: {restore: {}}}", good: "{bootstrap: {restore: {backup: first}}}",
		says: "either a backup, or a store",
	},
	{
		name: "a backup at a time", bad: "{bootstrap: {restore: {backup: first, at: latest}}}",
		good: "{bootstrap: {restore: {store: offsite, cluster: a/b, at: latest}}}", says: "go with store",
	},
	{
		name: "a time that is none", bad: "{bootstrap: {restore: {store: offsite, at: yesterday}}}",
		good: `{bootstrap: {restore: {store: offsite, at: "2026-11-24T10:00:00Z"}}}`, says: "must be latest, a revision such as",
	},
	{
		name: "a backup alone, and a target after it", bad: `{bootstrap: {restore: {store: offsite, at: "17", target: {revision: 18}}}}`,
		good: "{bootstrap: {restore: {store: offsite, target: {revision: 18}}}}", says: "at means a full backup alone",
	},
	{
		name: "a target that is none", bad: "{bootstrap: {restore: {store: offsite, target: {}}}}",
		good: "{bootstrap: {restore: {backup: first, target: {beforeDelete: /registry/pods/a}}}}", says: "exactly one of time, revision and",
	},
	{
		name: "two targets", bad: `{bootstrap: {restore: {store: offsite, target: {revision: 18, time: "2026-11-24T10:00:00Z"}}}}`,
		good: `{bootstrap: {restore: {store: offsite, target: {time: "2026-11-24T10:00:00Z", exclusive: true}}}}`,
		says: "exactly one of time, revision and",
	},
	{
		name: "a deletion that is left out twice", bad: "{bootstrap: {restore: {store: offsite, target: {beforeDelete: a, exclusive: true}}}}",
		good: "{bootstrap: {restore: {store: offsite, target: {revision: 18, exclusive: true}}}}", says: "exclusive goes with time or revision",
	},
	{
		name: "a target at a time that is none", bad: "{bootstrap: {restore: {store: offsite, target: {time: yesterday}}}}",
		good: `{bootstrap: {restore: {store: offsite, target: {time: "2026-11-24T10:00:00.123456+01:00"}}}}`, says: "must be a time such as",
	},
	{
		name: "a target before all revisions", bad: "{bootstrap: {restore: {store: offsite, target: {revision: -1}}}}",
		good: "{bootstrap: {restore: {store: offsite, target: {revision: 1}}}}", says: "greater than or equal to 1",
	},
	{
		name: "another backup for a cluster that is there", from: "{bootstrap: {restore: {backup: first}}}",
		bad: "{bootstrap: {restore: {backup: second}}}", good: "{size: 1, bootstrap: {restore: {backup: first}}}",
		says: "bootstrap cannot be changed",
	},
	{
		name: "a restore into a cluster that is there", from: "{}", bad: "{bootstrap: {restore: {backup: first}}}", good: "{size: 1}",
		says: "bootstrap cannot be changed",
	},
}
