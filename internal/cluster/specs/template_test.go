// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

type change = func(*v1beta1.EtcdClusterSpec)

// rolls are changes that members only take by new Pods, by the field they change.
var rolls = map[string]change{
	"version":                      func(s *v1beta1.EtcdClusterSpec) { s.Version = "3.6.15" },
	"image":                        func(s *v1beta1.EtcdClusterSpec) { s.Image = "mirror.example/etcd:v3.6.16" },
	"storage.ephemeral.sizeLimit":  ephemeral,
	"resources.requests":           func(s *v1beta1.EtcdClusterSpec) { s.Resources.Requests = memory("64Mi") },
	"resources.limits":             func(s *v1beta1.EtcdClusterSpec) { s.Resources.Limits = memory("64Mi") },
	"scheduling.nodeSelector":      func(s *v1beta1.EtcdClusterSpec) { s.Scheduling.NodeSelector = map[string]string{"disk": "ssd"} },
	"scheduling.affinity":          func(s *v1beta1.EtcdClusterSpec) { s.Scheduling.Affinity = &corev1.Affinity{} },
	"scheduling.priorityClassName": func(s *v1beta1.EtcdClusterSpec) { s.Scheduling.PriorityClassName = "important" },
	"scheduling.tolerations": func(s *v1beta1.EtcdClusterSpec) {
		s.Scheduling.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	},
	"scheduling.topologySpreadConstraints": func(s *v1beta1.EtcdClusterSpec) {
		s.Scheduling.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 2, TopologyKey: "zone"}}
	},
	"podMetadata.labels":            func(s *v1beta1.EtcdClusterSpec) { s.PodMetadata.Labels = map[string]string{"team": "a"} },
	"podMetadata.annotations":       func(s *v1beta1.EtcdClusterSpec) { s.PodMetadata.Annotations = map[string]string{"team": "a"} },
	"tls.issuerRef.boundClients":    issuedBy(v1beta1.IssuerRef{Name: "corp", BoundClients: true}),
	"etcd.quota":                    func(s *v1beta1.EtcdClusterSpec) { s.Etcd.Quota = ptr.To(resource.MustParse("1Gi")) },
	"etcd.autoCompaction.mode":      func(s *v1beta1.EtcdClusterSpec) { s.Etcd.AutoCompaction.Mode = v1beta1.CompactOff },
	"etcd.autoCompaction.retention": func(s *v1beta1.EtcdClusterSpec) { s.Etcd.AutoCompaction.Retention = "2h" },
	"etcd.snapshotCount":            func(s *v1beta1.EtcdClusterSpec) { s.Etcd.SnapshotCount = 5000 },
	"etcd.heartbeatInterval":        func(s *v1beta1.EtcdClusterSpec) { s.Etcd.HeartbeatInterval.Duration = 101 * time.Millisecond },
	"etcd.electionTimeout":          func(s *v1beta1.EtcdClusterSpec) { s.Etcd.ElectionTimeout.Duration = 1001 * time.Millisecond },
	"etcd.logLevel":                 func(s *v1beta1.EtcdClusterSpec) { s.Etcd.LogLevel = "debug" },
	"etcd.extraArgs":                func(s *v1beta1.EtcdClusterSpec) { s.Etcd.ExtraArgs = map[string]string{"max-txn-ops": "256"} },
	"tls.mode":                      insecure,
	"profile":                       func(s *v1beta1.EtcdClusterSpec) { s.Profile = v1beta1.ProfileKubernetes },
	"tls.minVersion":                func(s *v1beta1.EtcdClusterSpec) { s.TLS.MinVersion = v1beta1.TLS12 },
	"podTemplate.containers": patching(v1beta1.PodTemplate{
		Containers: []v1beta1.PodContainer{{Name: "logs", Image: "registry.example/logs:v1"}},
	}),
	"podTemplate.initContainers": patching(v1beta1.PodTemplate{
		InitContainers: []v1beta1.PodContainer{{Name: "tune", Image: "registry.example/tune:v1"}},
	}),
	"podTemplate.volumes": patching(v1beta1.PodTemplate{
		Volumes: []v1beta1.PodVolume{{Name: "scratch", EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}),
	"podTemplate.hostAliases": patching(v1beta1.PodTemplate{
		HostAliases: []v1beta1.HostAlias{{IP: "192.0.2.7", Hostnames: []string{"ntp.example.com"}}},
	}),
	"podTemplate.dnsConfig.searches": patching(v1beta1.PodTemplate{DNSConfig: &v1beta1.PodDNS{Searches: []string{"example.com"}}}),
	"podTemplate.dnsConfig.options": patching(v1beta1.PodTemplate{
		DNSConfig: &v1beta1.PodDNS{Options: []v1beta1.PodDNSOption{{Name: "ndots"}}},
	}),
	"podTemplate.runtimeClassName": patching(v1beta1.PodTemplate{RuntimeClassName: "gvisor"}),
	"podTemplate.schedulerName":    patching(v1beta1.PodTemplate{SchedulerName: "other"}),
}

func issuedBy(ref v1beta1.IssuerRef) func(*v1beta1.EtcdClusterSpec) {
	return func(s *v1beta1.EtcdClusterSpec) { s.TLS.IssuerRef = &ref }
}

func fromSecrets(refs v1beta1.SecretRefs) func(*v1beta1.EtcdClusterSpec) {
	return func(s *v1beta1.EtcdClusterSpec) { s.TLS.SecretRefs = &refs }
}

// stays are changes that must not cost a restart. That certificates come from elsewhere is a rotation, which restarts members by what they
// trust.
var stays = map[string]change{
	"tls.clientWindow":      func(s *v1beta1.EtcdClusterSpec) { s.TLS.ClientWindow = &metav1.Duration{Duration: time.Hour} },
	"size":                  func(s *v1beta1.EtcdClusterSpec) { s.Size = ptr.To[int32](7) },
	"networkPolicy.mode":    func(s *v1beta1.EtcdClusterSpec) { s.NetworkPolicy.Mode = v1beta1.NetworkPolicyEnabled },
	"networkPolicy.clients": func(s *v1beta1.EtcdClusterSpec) { s.NetworkPolicy.Clients = make([]v1beta1.NetworkPeer, 1) },
	"networkPolicy.metrics": func(s *v1beta1.EtcdClusterSpec) { s.NetworkPolicy.Metrics = make([]v1beta1.NetworkPeer, 1) },
	"monitoring.podMonitor.interval": func(s *v1beta1.EtcdClusterSpec) {
		s.Monitoring.PodMonitor = &v1beta1.PodMonitor{Interval: &metav1.Duration{Duration: time.Minute}}
	},
	"monitoring.podMonitor.labels": func(s *v1beta1.EtcdClusterSpec) {
		s.Monitoring.PodMonitor = &v1beta1.PodMonitor{Labels: map[string]v1beta1.LabelValue{"release": "a"}}
	},
	"monitoring.podMonitor.relabelings": func(s *v1beta1.EtcdClusterSpec) {
		s.Monitoring.PodMonitor = &v1beta1.PodMonitor{Relabelings: make([]v1beta1.Relabeling, 1)}
	},
	"monitoring.podMonitor.metricRelabelings": func(s *v1beta1.EtcdClusterSpec) {
		s.Monitoring.PodMonitor = &v1beta1.PodMonitor{MetricRelabelings: make([]v1beta1.Relabeling, 1)}
	},
	"monitoring.prometheusRule.labels": func(s *v1beta1.EtcdClusterSpec) {
		s.Monitoring.PrometheusRule = &v1beta1.PrometheusRule{Labels: map[string]v1beta1.LabelValue{"release": "a"}}
	},
	"paused":                                 func(s *v1beta1.EtcdClusterSpec) { s.Paused = true },
	"storage.quarantine":                     func(s *v1beta1.EtcdClusterSpec) { s.Storage.Quarantine = &metav1.Duration{} },
	"tls.lifetimes.authority":                func(s *v1beta1.EtcdClusterSpec) { s.TLS.Lifetimes.Authority.Duration = 90 * time.Minute },
	"tls.lifetimes.certificate":              func(s *v1beta1.EtcdClusterSpec) { s.TLS.Lifetimes.Certificate.Duration = time.Hour },
	"tls.revocations":                        func(s *v1beta1.EtcdClusterSpec) { s.TLS.Revocations = []v1beta1.Revocation{{Serial: "a1"}} },
	"tls.extraSANs":                          func(s *v1beta1.EtcdClusterSpec) { s.TLS.ExtraSANs = []v1beta1.SAN{"etcd.example.com"} },
	"clientService.type":                     served(v1beta1.ClientService{Type: v1beta1.ClientServiceNodePort}),
	"clientService.annotations":              served(v1beta1.ClientService{Annotations: map[string]string{"team": "a"}}),
	"clientService.labels":                   served(v1beta1.ClientService{Labels: map[string]v1beta1.LabelValue{"pool": "a"}}),
	"clientService.nodePort":                 served(v1beta1.ClientService{NodePort: 30001}),
	"clientService.loadBalancerClass":        served(v1beta1.ClientService{LoadBalancerClass: "internal"}),
	"clientService.loadBalancerSourceRanges": served(v1beta1.ClientService{LoadBalancerSourceRanges: []v1beta1.CIDR{"10.0.0.0/8"}}),
	"clientService.externalTrafficPolicy":    served(v1beta1.ClientService{ExternalTrafficPolicy: "Local"}),
	"clientService.perMember.type":           each(v1beta1.MemberService{Type: v1beta1.ClientServiceNodePort}),
	"clientService.perMember.annotations":    each(v1beta1.MemberService{Annotations: map[string]string{"team": "a"}}),
	"clientService.perMember.labels":         each(v1beta1.MemberService{Labels: map[string]v1beta1.LabelValue{"pool": "a"}}),
	"clientService.perMember.loadBalancerClass": each(v1beta1.MemberService{
		Type: v1beta1.ClientServiceLoadBalancer, LoadBalancerClass: "internal",
	}),
	"clientService.perMember.loadBalancerSourceRanges": each(v1beta1.MemberService{LoadBalancerSourceRanges: []v1beta1.CIDR{"10.0.0.0/8"}}),
	"clientService.perMember.externalTrafficPolicy":    each(v1beta1.MemberService{ExternalTrafficPolicy: "Local"}),
	"clientService.tlsRoute.parentRefs":                served(v1beta1.ClientService{TLSRoute: &v1beta1.TLSRoute{}}),
	"clientService.tlsRoute.hostnames": served(v1beta1.ClientService{
		TLSRoute: &v1beta1.TLSRoute{Hostnames: []v1beta1.Hostname{"a"}},
	}),
	"network.ipFamilyPolicy": func(s *v1beta1.EtcdClusterSpec) {
		s.Network = &v1beta1.Network{IPFamilyPolicy: v1beta1.PreferDualStack}
	},
	"network.ipFamilies": func(s *v1beta1.EtcdClusterSpec) {
		s.Network = &v1beta1.Network{IPFamilies: []v1beta1.IPFamily{v1beta1.IPv6}}
	},
	"tls.issuerRef.group": issuedBy(v1beta1.IssuerRef{Group: "cert-manager.io"}),
	"tls.issuerRef.kind":  issuedBy(v1beta1.IssuerRef{Kind: "ClusterIssuer"}),
	"tls.issuerRef.name":  issuedBy(v1beta1.IssuerRef{Name: "corp"}),
	"tls.secretRefs.client.name": func(s *v1beta1.EtcdClusterSpec) {
		s.TLS.SecretRefs = &v1beta1.SecretRefs{Client: &v1beta1.LocalSecret{Name: "app"}}
	},
	"tls.secretRefs.operator.name":             fromSecrets(v1beta1.SecretRefs{Operator: v1beta1.LocalSecret{Name: "operator"}}),
	"tls.secretRefs.peer.name":                 fromSecrets(v1beta1.SecretRefs{Peer: v1beta1.LocalSecret{Name: "gossip"}}),
	"tls.secretRefs.server.name":               fromSecrets(v1beta1.SecretRefs{Server: v1beta1.LocalSecret{Name: "web"}}),
	"storage.autoGrow.maxSize":                 func(s *v1beta1.EtcdClusterSpec) { s.Storage.AutoGrow = &v1beta1.AutoGrow{} },
	"tuning":                                   func(s *v1beta1.EtcdClusterSpec) { s.Tuning = v1beta1.TuningOff },
	"maintenance.noSpace":                      maintained(v1beta1.Maintenance{NoSpace: v1beta1.NoSpaceOff}),
	"maintenance.corruptionCheck":              maintained(v1beta1.Maintenance{CorruptionCheck: v1beta1.CorruptionCheckOff}),
	"maintenance.defragmentation.mode":         defragmented(v1beta1.Defragmentation{Mode: v1beta1.DefragmentOff}),
	"maintenance.defragmentation.minFree":      defragmented(v1beta1.Defragmentation{MinFree: resource.NewQuantity(1, "")}),
	"maintenance.defragmentation.freePercent":  defragmented(v1beta1.Defragmentation{FreePercent: 20}),
	"maintenance.defragmentation.quotaPercent": defragmented(v1beta1.Defragmentation{QuotaPercent: 60}),
	"maintenance.defragmentation.window.opens": defragmented(v1beta1.Defragmentation{
		Window: &v1beta1.MaintenanceWindow{Opens: "0 2 * * *"},
	}),
	"maintenance.defragmentation.window.duration": defragmented(v1beta1.Defragmentation{
		Window: &v1beta1.MaintenanceWindow{Duration: metav1.Duration{Duration: time.Hour}},
	}),
	"upgrade.backup":             func(s *v1beta1.EtcdClusterSpec) { s.Upgrade.Backup = v1beta1.SkipBackup },
	"upgrade.onFailure":          func(s *v1beta1.EtcdClusterSpec) { s.Upgrade.OnFailure = v1beta1.RollBack },
	"recovery.quorumLoss":        func(s *v1beta1.EtcdClusterSpec) { s.Recovery.QuorumLoss = v1beta1.Automatic },
	"recovery.acceptDataLoss":    func(s *v1beta1.EtcdClusterSpec) { s.Recovery.AcceptDataLoss = "example-0@7" },
	"recovery.memberTimeout":     func(s *v1beta1.EtcdClusterSpec) { s.Recovery.MemberTimeout.Duration = time.Hour },
	"imagePullSecrets":           func(s *v1beta1.EtcdClusterSpec) { pulling(s) },
	"recovery.slowMembers":       func(s *v1beta1.EtcdClusterSpec) { s.Recovery.SlowMembers = v1beta1.SlowReplace },
	"recovery.slowMemberTimeout": func(s *v1beta1.EtcdClusterSpec) { s.Recovery.SlowMemberTimeout.Duration = time.Minute },
	"autoscale.max.cpu": func(s *v1beta1.EtcdClusterSpec) {
		s.Autoscale = &v1beta1.Autoscale{Max: v1beta1.AutoscaleMax{CPU: ptr.To(resource.MustParse("8"))}}
	},
	"autoscale.max.memory": func(s *v1beta1.EtcdClusterSpec) {
		s.Autoscale = &v1beta1.Autoscale{Max: v1beta1.AutoscaleMax{Memory: ptr.To(resource.MustParse("8Gi"))}}
	},
	"autoscale.stabilizationWindow": func(s *v1beta1.EtcdClusterSpec) {
		s.Autoscale = &v1beta1.Autoscale{
			Max:                 v1beta1.AutoscaleMax{CPU: ptr.To(resource.MustParse("8"))},
			StabilizationWindow: "6h", //nolint:staticcheck // manifests of v0.8.0 have it
		}
	},
	"drills":         func(s *v1beta1.EtcdClusterSpec) { s.Drills = v1beta1.DrillsAllowed },
	"expiresAfter":   func(s *v1beta1.EtcdClusterSpec) { s.ExpiresAfter = &metav1.Duration{Duration: time.Hour} },
	"deletionPolicy": func(s *v1beta1.EtcdClusterSpec) { s.DeletionPolicy = v1beta1.Delete },

	"backup.schedule":          backedUp(func(b *v1beta1.Backup) { b.Schedule = "@daily" }),
	"backup.timeZone":          backedUp(func(b *v1beta1.Backup) { b.TimeZone = "Europe/Berlin" }),
	"backup.suspend":           backedUp(func(b *v1beta1.Backup) { b.Suspend = true }),
	"backup.retention.age":     retained(func(r *v1beta1.Retention) { r.Age = &metav1.Duration{Duration: time.Hour} }),
	"backup.retention.count":   retained(func(r *v1beta1.Retention) { r.Count = 7 }),
	"backup.retention.daily":   retained(func(r *v1beta1.Retention) { r.Daily = 7 }),
	"backup.retention.weekly":  retained(func(r *v1beta1.Retention) { r.Weekly = 7 }),
	"backup.retention.monthly": retained(func(r *v1beta1.Retention) { r.Monthly = 7 }),
	"backup.retention.yearly":  retained(func(r *v1beta1.Retention) { r.Yearly = 7 }),
	"auth.enabled":             func(s *v1beta1.EtcdClusterSpec) { s.Auth.Enabled = true },
	"backup.continuous.flush": backedUp(func(b *v1beta1.Backup) {
		b.Continuous = &v1beta1.Continuous{Flush: metav1.Duration{Duration: time.Minute}}
	}),
	"backup.continuous.segmentSize": backedUp(func(b *v1beta1.Backup) {
		b.Continuous = &v1beta1.Continuous{SegmentSize: resource.MustParse("1Mi")}
	}),
	"backup.store":             backedUp(func(b *v1beta1.Backup) { b.Store = "offsite" }),
	"backup.verify":            backedUp(func(b *v1beta1.Backup) { b.Verify = v1beta1.VerifyNever }),
	"backup.decryption.secret": backedUp(func(b *v1beta1.Backup) { b.Decryption = &v1beta1.SecretReference{Secret: "age"} }),
	"backup.encryption.recipients": backedUp(func(b *v1beta1.Backup) {
		b.Encryption = &v1beta1.BackupEncryption{Recipients: []string{"age1"}}
	}),
	"bootstrap.restore.backup":              restored(func(r *v1beta1.Restore) { r.Backup = "first" }),
	"bootstrap.restore.store":               restored(func(r *v1beta1.Restore) { r.Store = "offsite" }),
	"bootstrap.restore.cluster":             restored(func(r *v1beta1.Restore) { r.Cluster = "other" }),
	"bootstrap.restore.at":                  restored(func(r *v1beta1.Restore) { r.At = "latest" }),
	"bootstrap.restore.decryption.secret":   restored(func(r *v1beta1.Restore) { r.Decryption = &v1beta1.SecretReference{Secret: "age"} }),
	"bootstrap.restore.target.time":         targeted(v1beta1.RestoreTarget{Time: "2026-11-24T10:00:00Z"}),
	"bootstrap.restore.target.revision":     targeted(v1beta1.RestoreTarget{Revision: 7}),
	"bootstrap.restore.target.exclusive":    targeted(v1beta1.RestoreTarget{Revision: 7, Exclusive: true}),
	"bootstrap.restore.target.beforeDelete": targeted(v1beta1.RestoreTarget{BeforeDelete: "/key"}),
	"bootstrap.import.configMapRef.name": imported(func(i *v1beta1.Import) {
		i.ConfigMapRef = &v1beta1.ImportReference{Name: "settings"}
	}),
	"bootstrap.import.secretRef.name": imported(func(i *v1beta1.Import) { i.SecretRef = &v1beta1.ImportReference{Name: "keys"} }),
	"bootstrap.adopt.endpoints":       adopting(func(a *v1beta1.Adopt) { a.Endpoints = []string{"https://old-0.old:2379"} }),
	"bootstrap.adopt.services":        adopting(func(a *v1beta1.Adopt) { a.Services = []string{"old"} }),
	"bootstrap.adopt.statefulSet":     adopting(func(a *v1beta1.Adopt) { a.StatefulSet = "old" }),
	"bootstrap.adopt.volumes":         adopting(func(a *v1beta1.Adopt) { a.Volumes = v1beta1.KeepVolumes }),
	"bootstrap.adopt.clientSecretRef.name": adopting(func(a *v1beta1.Adopt) {
		a.ClientSecretRef = &v1beta1.LocalSecret{Name: "root"}
	}),
	"bootstrap.adopt.peerAuthorityRef.name": adopting(func(a *v1beta1.Adopt) { a.PeerAuthorityRef = &v1beta1.LocalSecret{Name: "ca"} }),
	"bootstrap.adopt.clientAuthorityRef.name": adopting(func(a *v1beta1.Adopt) {
		a.ClientAuthorityRef = &v1beta1.LocalSecret{Name: "ca"}
	}),
	"bootstrap.adopt.credentialsRef.name": adopting(func(a *v1beta1.Adopt) { a.CredentialsRef = &v1beta1.Credentials{Name: "root"} }),
	"bootstrap.adopt.credentialsRef.usernameKey": adopting(func(a *v1beta1.Adopt) {
		a.CredentialsRef = &v1beta1.Credentials{UsernameKey: "user"}
	}),
	"bootstrap.adopt.credentialsRef.passwordKey": adopting(func(a *v1beta1.Adopt) {
		a.CredentialsRef = &v1beta1.Credentials{PasswordKey: "word"}
	}),
	"bootstrap.copy.endpoints":            copied(func(c *v1beta1.Copy) { c.Endpoints = []string{"http://old.shop:2379"} }),
	"bootstrap.copy.clientSecretRef.name": copied(func(c *v1beta1.Copy) { c.ClientSecretRef = &v1beta1.LocalSecret{Name: "client"} }),
	"bootstrap.copy.credentialsRef.name":  copied(func(c *v1beta1.Copy) { c.CredentialsRef = &v1beta1.Credentials{Name: "root"} }),
	"bootstrap.copy.services":             copied(func(c *v1beta1.Copy) { c.Services = []string{"old"} }),
	"bootstrap.copy.switch":               copied(func(c *v1beta1.Copy) { c.Switch = v1beta1.SwitchAutomatic }),
	"bootstrap.copy.stopLimit":            copied(func(c *v1beta1.Copy) { c.StopLimit = metav1.Duration{Duration: time.Minute} }),
	"bootstrap.copy.credentialsRef.usernameKey": copied(func(c *v1beta1.Copy) {
		c.CredentialsRef = &v1beta1.Credentials{Name: "root", UsernameKey: "user"}
	}),
	"bootstrap.copy.credentialsRef.passwordKey": copied(func(c *v1beta1.Copy) {
		c.CredentialsRef = &v1beta1.Credentials{Name: "root", PasswordKey: "secret"}
	}),
	"bootstrap.import.prefix":  imported(func(i *v1beta1.Import) { i.Prefix = "/shop/" }),
	"storage.storageClassName": func(s *v1beta1.EtcdClusterSpec) { s.Storage.StorageClassName = ptr.To("fast") },
	"storage.size": func(s *v1beta1.EtcdClusterSpec) {
		s.Storage.Size = ptr.To(resource.MustParse("100Gi"))
		s.Etcd.Quota = ptr.To(resource.MustParse("6Gi")) // as it is derived from 8Gi
	},
}

func served(service v1beta1.ClientService) change {
	return func(s *v1beta1.EtcdClusterSpec) { s.ClientService = &service }
}

func each(service v1beta1.MemberService) change {
	return served(v1beta1.ClientService{PerMember: &service})
}

func patching(template v1beta1.PodTemplate) change {
	return func(s *v1beta1.EtcdClusterSpec) { s.PodTemplate = &template }
}

func maintained(m v1beta1.Maintenance) change {
	return func(s *v1beta1.EtcdClusterSpec) { s.Maintenance = m }
}

func defragmented(d v1beta1.Defragmentation) change {
	return maintained(v1beta1.Maintenance{Defragmentation: d})
}

func retained(change func(*v1beta1.Retention)) func(*v1beta1.EtcdClusterSpec) {
	return backedUp(func(b *v1beta1.Backup) {
		b.Retention = &v1beta1.Retention{}
		change(b.Retention)
	})
}

func backedUp(change func(*v1beta1.Backup)) func(*v1beta1.EtcdClusterSpec) {
	return func(s *v1beta1.EtcdClusterSpec) {
		s.Backup = &v1beta1.Backup{}
		change(s.Backup)
	}
}

func restored(change func(*v1beta1.Restore)) func(*v1beta1.EtcdClusterSpec) {
	return func(s *v1beta1.EtcdClusterSpec) {
		s.Bootstrap = &v1beta1.BootstrapSpec{Restore: &v1beta1.Restore{}}
		change(s.Bootstrap.Restore)
	}
}

func targeted(to v1beta1.RestoreTarget) func(*v1beta1.EtcdClusterSpec) {
	return restored(func(r *v1beta1.Restore) { r.Target = &to })
}

func adopting(change func(*v1beta1.Adopt)) func(*v1beta1.EtcdClusterSpec) {
	return func(s *v1beta1.EtcdClusterSpec) {
		s.Bootstrap = &v1beta1.BootstrapSpec{Adopt: &v1beta1.Adopt{}}
		change(s.Bootstrap.Adopt)
	}
}

func copied(change func(*v1beta1.Copy)) func(*v1beta1.EtcdClusterSpec) {
	return func(s *v1beta1.EtcdClusterSpec) {
		s.Bootstrap = &v1beta1.BootstrapSpec{Copy: &v1beta1.Copy{}}
		change(s.Bootstrap.Copy)
	}
}

func imported(change func(*v1beta1.Import)) func(*v1beta1.EtcdClusterSpec) {
	return func(s *v1beta1.EtcdClusterSpec) {
		s.Bootstrap = &v1beta1.BootstrapSpec{Import: &v1beta1.Import{}}
		change(s.Bootstrap.Import)
	}
}

func memory(size string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(size)}
}

// inPlace are the changes that need no new Pod.
var inPlace = map[string]cluster.Change{
	"version": cluster.Swap, "image": cluster.Swap,
	"resources.requests": cluster.Resize, "resources.limits": cluster.Resize,
}

func TestChange(t *testing.T) {
	running := specs.Pod(example(), "example-0", forming())
	for field, change := range rolls {
		want, known := inPlace[field]
		if !known {
			want = cluster.Rebuild
		}
		if got := specs.Change(with(change), running); got != want {
			t.Errorf("%s changed: got %d, want %d", field, got, want)
		}
	}
	for field, change := range stays {
		if got := specs.Change(with(change), running); got != cluster.Same {
			t.Errorf("%s changed: got %d, want none", field, got)
		}
	}
	if specs.Fingerprint(example(), "example-0") == specs.Fingerprint(example(), "example-1") {
		t.Error("two members have the same fingerprint")
	}
}

// Image and resources at once: the image first, then the resources, neither twice.
func TestSwapKeepsTheRest(t *testing.T) {
	wanted := with(func(s *v1beta1.EtcdClusterSpec) {
		s.Version, s.Resources.Limits = "3.7.3", memory("4Gi")
	})
	pod := specs.Pod(example(), "example-0", forming())
	if got := specs.Change(wanted, pod); got != cluster.Swap {
		t.Fatalf("got %d, want an exchange of the image", got)
	}
	pod.Annotations[v1beta1.AnnotationTemplate] = specs.Swapped(pod, specs.Pod(wanted, "example-0", forming()))
	if got := specs.Change(wanted, pod); got != cluster.Resize {
		t.Errorf("got %d after the exchange, want other resources", got)
	}
}

// Flags of TLS were named otherwise in 3.5: another image alone would not start.
func TestVersion35TakesNewPods(t *testing.T) {
	old := specs.Pod(with(func(s *v1beta1.EtcdClusterSpec) { s.Version = "3.5.35" }), "example-0", forming())
	if got := specs.Change(example(), old); got != cluster.Rebuild {
		t.Errorf("got %d, want a new Pod", got)
	}
}

// Pods of v0.1 carry one hash of everything. An update of the operator alone changes
// none of them.
func TestFirstEditionStays(t *testing.T) {
	const byFirst = "c9bdad14050cbfd0" // of this Pod, by v0.1.0
	pod := specs.Pod(example(), "example-0", forming())
	pod.Annotations[v1beta1.AnnotationTemplate] = byFirst
	newer := with(func(s *v1beta1.EtcdClusterSpec) { s.Version = "3.7.3" })
	larger := with(func(s *v1beta1.EtcdClusterSpec) { s.Resources.Limits = memory("4Gi") })
	for _, of := range []struct {
		name string
		c    *v1beta1.EtcdCluster
		want cluster.Change
	}{{"nothing", example(), cluster.Same}, {"version", newer, cluster.Swap}, {"resources", larger, cluster.Rebuild}} {
		if got := specs.Change(of.c, pod); got != of.want {
			t.Errorf("%s changed: got %d, want %d", of.name, got, of.want)
		}
	}
	pod.Annotations[v1beta1.AnnotationTemplate] = specs.Swapped(pod, specs.Pod(newer, "example-0", forming()))
	pod.Spec.Containers[0].Image = newer.Spec.MemberImage()
	if got := specs.Change(newer, pod); got != cluster.Same {
		t.Errorf("got %d after the exchange, want none", got)
	}
}

// A Pod that forces a new cluster must go as soon as others can take over, and never
// start again by itself.
func TestForcedPodIsSuperseded(t *testing.T) {
	pod := specs.ForcedPod(example(), "example-0")
	if got := specs.Change(example(), pod); got != cluster.Rebuild || pod.Spec.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("got %d and restart policy %q", got, pod.Spec.RestartPolicy)
	}
	if !slices.Contains(pod.Spec.Containers[0].Args, "--force-new-cluster=true") {
		t.Errorf("it does not force a new cluster: %v", pod.Spec.Containers[0].Args)
	}
}

// A new field of the spec must be thought about: does it restart members?
func TestFingerprintKnowsEveryField(t *testing.T) {
	known := slices.Sorted(maps.Keys(rolls))
	known = append(known, slices.Sorted(maps.Keys(stays))...)
	slices.Sort(known)
	fields := leaves(reflect.TypeFor[v1beta1.EtcdClusterSpec](), "")
	slices.Sort(fields)
	if !slices.Equal(fields, known) {
		t.Errorf("the fields of the spec are\n%v\nand this test knows\n%v", fields, known)
	}
}

// leaves are the JSON paths below a type, down to what is not a struct of this API.
func leaves(of reflect.Type, prefix string) []string {
	var paths []string
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && inner.PkgPath() == of.PkgPath() {
			paths = append(paths, leaves(inner, prefix+name+".")...)
			continue
		}
		paths = append(paths, prefix+name)
	}
	return paths
}

// A larger volume carries a larger default quota, up to what etcd is tested for. A cluster of an earlier release, one that begins with a
// backup, and one without volumes have more of it.
func TestDerivedQuotaFollowsTheVolume(t *testing.T) {
	for _, of := range []struct{ volume, quota string }{
		{"64Mi", "22Mi"}, {"1Gi", "358Mi"}, {"8Gi", "3699Mi"}, {"16Gi", "7590Mi"}, {"18Gi", "8Gi"}, {"1Ti", "8Gi"},
	} {
		c := with(func(s *v1beta1.EtcdClusterSpec) { s.Storage.Size = ptr.To(resource.MustParse(of.volume)) })
		c.Status.Bootstrap.DefragRoom = true
		want := resource.MustParse(of.quota)
		if got := c.QuotaBytes(); got != want.Value() {
			t.Errorf("volume of %s: quota is %d, want %s", of.volume, got, of.quota)
		}
		c.Status.VolumeSize = ptr.To(resource.MustParse("64Mi"))
		if got := c.QuotaBytes(); got != 22<<20 {
			t.Errorf("volume of %s that has yet to grow from 64Mi: quota is %d", of.volume, got)
		}
		c.Status.VolumeSize = ptr.To(resource.MustParse("2Ti"))
		if got := c.QuotaBytes(); got != want.Value() {
			t.Errorf("volume of %s, all have 2Ti: quota is %d, want %s", of.volume, got, of.quota)
		}
	}
	small, large := resource.MustParse("18Gi"), resource.MustParse("19Gi")
	a := with(func(s *v1beta1.EtcdClusterSpec) { s.Storage.Size = &small })
	b := with(func(s *v1beta1.EtcdClusterSpec) { s.Storage.Size = &large })
	if specs.Fingerprint(a, "example-0") != specs.Fingerprint(b, "example-0") {
		t.Error("a volume that grows beyond the largest quota makes every Pod again")
	}
}

// TestQuotaOfDataThatWasThere: it may be larger than what leaves room to defragment it.
func TestQuotaOfDataThatWasThere(t *testing.T) {
	for what, test := range map[string]struct {
		set  func(*v1beta1.EtcdCluster)
		want string
	}{
		"a new cluster":      {func(*v1beta1.EtcdCluster) {}, "3699Mi"},
		"its members chosen": {func(c *v1beta1.EtcdCluster) { c.Status.Bootstrap = &v1beta1.Bootstrap{DefragRoom: true} }, "3699Mi"},
		"an earlier release": {func(c *v1beta1.EtcdCluster) { c.Status.Bootstrap = &v1beta1.Bootstrap{} }, "6Gi"},
		"a backup":           {func(c *v1beta1.EtcdCluster) { c.Spec.Bootstrap = &v1beta1.BootstrapSpec{Restore: &v1beta1.Restore{}} }, "6Gi"},
		"no volumes": {func(c *v1beta1.EtcdCluster) {
			c.Spec.Storage = v1beta1.Storage{Ephemeral: &v1beta1.Ephemeral{SizeLimit: resource.MustParse("2Gi")}}
		}, "1536Mi"},
	} {
		c, want := with(func(s *v1beta1.EtcdClusterSpec) { s.Storage.Size = ptr.To(resource.MustParse("8Gi")) }), resource.MustParse(test.want)
		c.Status.Bootstrap = nil
		test.set(c)
		if got := c.QuotaBytes(); got != want.Value() {
			t.Errorf("%s: %d MiB, want %s", what, got>>20, test.want)
		}
	}
}

// How a member once joined, and which EtcdCluster object made it, do not matter later.
func TestFingerprintForgetsTheBeginning(t *testing.T) {
	first, later := specs.Pod(example(), "example-0", forming()), specs.Pod(example(), "example-0", joining())
	if maps.Equal(first.Annotations, later.Annotations) {
		t.Error("forming and joining a cluster are the same")
	}
	hash := first.Annotations[v1beta1.AnnotationTemplate]
	if later.Annotations[v1beta1.AnnotationTemplate] != hash {
		t.Error("the hash knows how the member joined")
	}
	adopting := example()
	adopting.UID, adopting.Generation, adopting.ResourceVersion = "another", 7, "7"
	if specs.Fingerprint(adopting, "example-0") != hash {
		t.Error("the hash knows the EtcdCluster's UID, generation or version")
	}
	if hash == "" || specs.Fingerprint(example(), "example-0") != hash {
		t.Errorf("the Pod carries %q, which is not the hash of its template", hash)
	}
}

// Maps have no order; hashes and arguments must.
func TestPodIsDeterministic(t *testing.T) {
	wanted := func() *v1beta1.EtcdCluster {
		return with(func(s *v1beta1.EtcdClusterSpec) {
			s.Etcd.ExtraArgs, s.PodMetadata.Labels = map[string]string{}, map[string]string{}
			for _, key := range strings.Fields("cors max-txn-ops max-wals max-snapshots bcrypt-cost max-request-bytes") {
				s.Etcd.ExtraArgs[key], s.PodMetadata.Labels[key] = "1", "1"
			}
		})
	}
	first := specs.Pod(wanted(), "example-0", forming())
	for range 50 {
		if again := specs.Pod(wanted(), "example-0", forming()); !reflect.DeepEqual(again, first) {
			t.Fatalf("built twice:\n%v\n%v", again, first)
		}
	}
}

// TestRevokingRestartsNoMember: a Pod that reads no list is as it was made before there were any, and one that reads it differs by no
// fingerprint. Its kubelet waits for the list, and brings it all else that it had.
func TestRevokingRestartsNoMember(t *testing.T) {
	c := example()
	plain := specs.Pod(c, "example-0", forming())
	pod := specs.Revoking(specs.Pod(c, "example-0", forming()), "")
	if !equality.Semantic.DeepEqual(pod, plain) {
		t.Error("where nothing is revoked the Pod is another one")
	}
	pod = specs.Revoking(pod, "2026-01-01T01:00:00Z")
	if specs.Change(c, pod) != cluster.Same {
		t.Error("a Pod that reads a list counts as outdated by its template")
	}
	var keys []string
	for _, volume := range pod.Spec.Volumes {
		if volume.Secret == nil {
			continue
		}
		for _, item := range volume.Secret.Items {
			keys = append(keys, item.Key)
			if item.Path != item.Key {
				t.Errorf("%s is at %s", item.Key, item.Path)
			}
		}
		if volume.Secret.Optional != nil {
			t.Error("its kubelet does not wait for the list")
		}
	}
	slices.Sort(keys)
	want := []string{"client-ca.crt", "client.crl", "peer-ca.crt", "peer.crt", "peer.key", "server.crt", "server.key"}
	if !slices.Equal(keys, want) {
		t.Errorf("it mounts %v", keys)
	}
	if !slices.Contains(specs.Etcd(pod).Args, "--client-crl-file=/etc/etcd-tls/client.crl") {
		t.Errorf("etcd reads no list: %v", specs.Etcd(pod).Args)
	}
}
