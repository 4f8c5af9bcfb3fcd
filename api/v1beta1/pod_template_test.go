// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package v1beta1_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// beside is a spec with this template of Pods.
func beside(template string) string { return "{podTemplate: {" + template + "}}" }

// etcdOnly is a template that gives etcd's own container this.
func etcdOnly(fields string) string {
	return beside("volumes: [{name: v, emptyDir: {}}], containers: [{name: etcd, " + fields + "}]")
}

const (
	ownContainer = "spec.podTemplate.containers|may give the container etcd only env and volumeMounts"
	overMounted  = "spec.podTemplate.containers|must not mount anything in the container etcd over its data"
	unmounted    = "ontainers mount only volumes of podTemplate.volumes"
	etcdMount    = "volumeMounts: [{name: v, mountPath: "
)

// templates are what would part a member from its cluster, its data or its rights.
var templates = []refusal{
	{name: "another image of etcd", bad: etcdOnly("image: a"), good: etcdOnly("env: [{name: GOGC, value: '50'}]"), says: ownContainer},
	{
		name: "another command of etcd", bad: etcdOnly("command: [sh]"), good: beside("containers: [{name: a, image: b, command: [sh]}]"),
		says: ownContainer,
	},
	{
		name: "arguments of etcd", bad: etcdOnly("args: [--force-new-cluster]"), good: beside("containers: [{name: a, image: b, args: [c]}]"),
		says: ownContainer,
	},
	{name: "resources of etcd", bad: etcdOnly("resources: {limits: {cpu: 1}}"), good: "{resources: {limits: {cpu: 1}}}", says: ownContainer},
	{name: "a probe of etcd", bad: etcdOnly("livenessProbe: {exec: {command: [a]}}"), good: etcdOnly("env: []"), says: ownContainer},
	{
		name: "a port of etcd", bad: etcdOnly("ports: [{containerPort: 80}]"),
		good: beside("containers: [{name: a, image: b, ports: [{containerPort: 80}]}]"), says: ownContainer,
	},
	{
		name: "whom etcd runs as", bad: etcdOnly("securityContext: {runAsUser: 1}"),
		good: beside("containers: [{name: a, image: b, securityContext: {runAsUser: 1, readOnlyRootFilesystem: true}}]"), says: ownContainer,
	},
	{
		name: "variables of etcd by a Secret", bad: etcdOnly("envFrom: [{secretRef: {name: a}}]"), good: etcdOnly("env: [{name: A}]"),
		says: ownContainer,
	},
	{
		name: "a flag of etcd by a variable", bad: etcdOnly("env: [{name: ETCD_NAME, value: a}]"),
		good: etcdOnly("env: [{name: GOMEMLIMIT, value: 1GiB}]"),
		says: "spec.podTemplate.containers|must not give the container etcd variables named ETCD* or INITIAL_CLUSTER",
	},
	{
		name: "a mount over the data", bad: etcdOnly(etcdMount + "/var/lib/etcd/data}]"), good: etcdOnly(etcdMount + "/srv}]"),
		says: overMounted,
	},
	{
		name: "a mount over the keys", bad: etcdOnly(etcdMount + "/etc/etcd-tls}]"), good: etcdOnly(etcdMount + "/etc/ssl/own}]"),
		says: overMounted,
	},
	{
		name: "a mount over the program", bad: etcdOnly(etcdMount + "/usr/local/bin/etcd}]"), good: etcdOnly(etcdMount + "/opt}]"),
		says: overMounted,
	},
	{name: "a mount above the data", bad: etcdOnly(etcdMount + "/var}]"), good: etcdOnly(etcdMount + "/var/tmp}]"), says: overMounted},
	{
		name: "a mount by a detour", bad: etcdOnly(etcdMount + "/srv/../var/lib/etcd}]"), good: etcdOnly(etcdMount + "/srv/a}]"),
		says: overMounted,
	},
	{name: "a mount by two slashes", bad: etcdOnly(etcdMount + "/var//lib/etcd}]"), good: etcdOnly(etcdMount + "/srv/a}]"), says: overMounted},
	{
		name: "a member's data in another container",
		bad:  beside("containers: [{name: a, image: b, volumeMounts: [{name: data, mountPath: /d}]}]"),
		good: beside("volumes: [{name: own, emptyDir: {}}], containers: [{name: a, image: b, volumeMounts: [{name: own, mountPath: /d}]}]"),
		says: unmounted,
	},
	{
		name: "a member's keys in a container before it",
		bad:  beside("initContainers: [{name: a, image: b, volumeMounts: [{name: tls, mountPath: /d}]}]"),
		good: beside("initContainers: [{name: a, image: b}]"), says: unmounted,
	},
	{
		name: "another volume for the data", bad: beside("volumes: [{name: data, emptyDir: {}}]"),
		good: beside("volumes: [{name: more, emptyDir: {}}]"),
		says: "spec.podTemplate.volumes[0].name|must not be named data or tls",
	},
	{
		name: "a volume without a source", bad: beside("volumes: [{name: a}]"), good: beside("volumes: [{name: a, configMap: {name: b}}]"),
		says: "spec.podTemplate.volumes[0]|must have one source",
	},
	{
		name: "a volume with two", bad: beside("volumes: [{name: a, emptyDir: {}, secret: {secretName: b}}]"),
		good: beside("volumes: [{name: a, secret: {secretName: b}}]"),
		says: "spec.podTemplate.volumes[0]|must have one source",
	},
	{
		name: "a directory of the node", bad: beside("volumes: [{name: a, hostPath: {path: /}}]"),
		good: beside("volumes: [{name: a, emptyDir: {}}]"),
		says: `unknown field "spec.podTemplate.volumes[0].hostPath"`,
	},
	{
		name: "a token of an account", bad: beside("volumes: [{name: a, projected: {sources: [{serviceAccountToken: {path: b}}]}}]"),
		good: beside("volumes: [{name: a, csi: {driver: secrets-store.csi.k8s.io, readOnly: true}}]"),
		says: `unknown field "spec.podTemplate.volumes[0].projected"`,
	},
	{
		name: "a privileged container", bad: beside("containers: [{name: a, image: b, securityContext: {privileged: true}}]"),
		good: beside("containers: [{name: a, image: b}]"), says: `unknown field "spec.podTemplate.containers[0].securityContext.privileged"`,
	},
	{
		name: "a container that is root", bad: beside("containers: [{name: a, image: b, securityContext: {runAsUser: 0}}]"),
		good: beside("containers: [{name: a, image: b, securityContext: {runAsUser: 1}}]"),
		says: "spec.podTemplate.containers[0].securityContext.runAsUser",
	},
	{
		name: "a port of the node", bad: beside("containers: [{name: a, image: b, ports: [{containerPort: 80, hostPort: 80}]}]"),
		good: beside("containers: [{name: a, image: b, ports: [{containerPort: 80, name: http}]}]"),
		says: `unknown field "spec.podTemplate.containers[0].ports[0].hostPort"`,
	},
	{
		name: "a port by which Services find etcd", bad: beside("containers: [{name: a, image: b, ports: [{containerPort: 80, name: client}]}]"),
		good: beside("containers: [{name: a, image: b, ports: [{containerPort: 80, name: clients}]}]"),
		says: "must not be named client, peer or metrics",
	},
	{
		name: "a port of etcd in another container", bad: beside("containers: [{name: a, image: b, ports: [{containerPort: 2380}]}]"),
		good: beside("containers: [{name: a, image: b, ports: [{containerPort: 2382}]}]"),
		says: "must not be 2379, 2380 or 2381: etcd listens there",
	},
	{
		name: "a container without an image", bad: beside("containers: [{name: a}]"), good: beside("containers: [{name: a, image: b}]"),
		says: "must have an image, except etcd",
	},
	{
		name: "etcd before etcd", bad: beside("initContainers: [{name: etcd, image: b}]"),
		good: beside("initContainers: [{name: a, image: b, restartPolicy: Always}]"),
		says: "spec.podTemplate.initContainers|must have an image, and another name than etcd",
	},
	{
		name: "a probe of a container that ends", bad: beside("initContainers: [{name: a, image: b, readinessProbe: {exec: {command: [a]}}}]"),
		good: beside("initContainers: [{name: a, image: b, restartPolicy: Always, readinessProbe: {exec: {command: [a]}}}]"),
		says: "spec.podTemplate.initContainers|may have probes only with restartPolicy Always",
	},
	{
		name: "one name for two containers", bad: beside("initContainers: [{name: a, image: b}], containers: [{name: a, image: b}]"),
		good: beside("initContainers: [{name: a, image: b}], containers: [{name: c, image: b}]"), says: "must have different names",
	},
	{
		name: "a restart policy of a container", bad: beside("containers: [{name: a, image: b, restartPolicy: Always}]"),
		good: beside("containers: [{name: a, image: b}]"), says: "must not set restartPolicy",
	},
	{
		name: "a member's name elsewhere", bad: beside("hostAliases: [{ip: 192.0.2.7, hostnames: [a-0.a.default.svc]}]"),
		good: beside("hostAliases: [{ip: 192.0.2.7, hostnames: [ntp.example.com]}]"),
		says: "names of Services (.svc): members find each other by those",
	},
	{
		name: "a member's full name elsewhere", bad: beside("hostAliases: [{ip: 192.0.2.7, hostnames: [a-0.a.default.svc.cluster.local]}]"),
		good: beside("hostAliases: [{ip: '2001:db8::7', hostnames: [ntp]}]"), says: "names of Services (.svc): members find each other by those",
	},
	{
		name: "names of the Pod itself", bad: beside("hostAliases: [{ip: 127.0.0.1, hostnames: [a]}]"),
		good: beside("hostAliases: [{ip: 10.0.0.1, hostnames: [a]}]"),
		says: "spec.podTemplate.hostAliases[0].ip|not that of the Pod itself",
	},
	{
		name: "other name servers", bad: beside("dnsConfig: {nameservers: [192.0.2.7]}"),
		good: beside("dnsConfig: {searches: [example.com], options: [{name: ndots, value: '2'}]}"),
		says: `unknown field "spec.podTemplate.dnsConfig.nameservers"`,
	},
	{
		name: "another host name", bad: beside("hostname: a"), good: beside("schedulerName: a"),
		says: `unknown field "spec.podTemplate.hostname"`,
	},
	{
		name: "another subdomain", bad: beside("subdomain: a"), good: beside("runtimeClassName: a"),
		says: `unknown field "spec.podTemplate.subdomain"`,
	},
	{
		name: "a restart policy", bad: beside("restartPolicy: Never"), good: beside("schedulerName: a"),
		says: `unknown field "spec.podTemplate.restartPolicy"`,
	},
	{
		name: "an account", bad: beside("serviceAccountName: a"), good: beside("schedulerName: a"),
		says: `unknown field "spec.podTemplate.serviceAccountName"`,
	},
	{
		name: "the node's network", bad: beside("hostNetwork: true"), good: beside("schedulerName: a"),
		says: `unknown field "spec.podTemplate.hostNetwork"`,
	},
	{
		name: "labels of ownership", bad: beside("metadata: {labels: {a: b}}"), good: "{podMetadata: {labels: {a: b}}}",
		says: `unknown field "spec.podTemplate.metadata"`,
	},
	{
		name: "a version of TLS that is none", bad: "{tls: {minVersion: '1.1'}}", good: "{tls: {minVersion: '1.2'}}",
		says: `spec.tls.minVersion: Unsupported value: "1.1"`,
	},
	{
		name: "a version without TLS", bad: "{tls: {mode: Disabled, minVersion: '1.2'}}", good: "{tls: {mode: Disabled}}",
		says: "spec.tls.minVersion|tls.minVersion needs tls.mode Enabled",
	},
}

// routes are Services of members, TLSRoutes and families of addresses that cannot be.
var routes = []refusal{
	{
		name: "a class of members' Services without a load balancer", bad: "{clientService: {perMember: {loadBalancerClass: a}}}",
		good: "{clientService: {perMember: {type: LoadBalancer, loadBalancerClass: a}}}",
		says: "spec.clientService.perMember.loadBalancerClass|clientService.perMember.loadBalancerClass needs type LoadBalancer",
	},
	{
		name: "blocks of members' Services without a load balancer",
		bad:  "{clientService: {perMember: {loadBalancerSourceRanges: [10.0.0.0/8]}}}",
		good: "{clientService: {perMember: {type: LoadBalancer, loadBalancerSourceRanges: [10.0.0.0/8]}}}",
		says: "spec.clientService.perMember.loadBalancerSourceRanges",
	},
	{
		name: "a policy of members' Services within", bad: "{clientService: {perMember: {externalTrafficPolicy: Local}}}",
		good: "{clientService: {perMember: {type: NodePort, externalTrafficPolicy: Local}}}",
		says: "spec.clientService.perMember.externalTrafficPolicy",
	},
	{
		name: "another class of members' Services", from: "{clientService: {perMember: {type: LoadBalancer, loadBalancerClass: a}}}",
		bad:  "{clientService: {perMember: {type: LoadBalancer, loadBalancerClass: b}}}",
		good: "{clientService: {perMember: {type: ClusterIP}}}", says: "clientService.perMember.loadBalancerClass cannot be changed",
	},
	{
		name: "annotations of the operator on members' Services",
		bad:  "{clientService: {perMember: {annotations: {etcd-operator.dev/settings: a}}}}",
		good: "{clientService: {perMember: {annotations: {external-dns.alpha.kubernetes.io/hostname: $(MEMBER).example.com}}}}",
		says: "clientService.perMember.annotations must not begin with etcd-operator.dev/",
	},
	{
		name: "a route without a Gateway", bad: "{clientService: {tlsRoute: {hostnames: [a]}}}",
		good: "{clientService: {tlsRoute: {parentRefs: [{name: a}], hostnames: [a]}}}",
		says: "spec.clientService.tlsRoute.parentRefs: Required value",
	},
	{
		name: "a route without a name", bad: "{clientService: {tlsRoute: {parentRefs: [{name: a}], hostnames: []}}}",
		good: "{clientService: {tlsRoute: {parentRefs: [{name: a, namespace: b, sectionName: c, port: 443}], hostnames: ['*.a.example']}}}",
		says: "spec.clientService.tlsRoute.hostnames",
	},
	{
		name: "an address for a name of a route", bad: "{clientService: {tlsRoute: {parentRefs: [{name: a}], hostnames: [192.0.2.7]}}}",
		good: "{clientService: {tlsRoute: {parentRefs: [{name: a}], hostnames: [etcd.example.com]}}}", says: "must be DNS names in lower case",
	},
	{
		name: "a route by a name of another cluster's clients",
		bad:  "{clientService: {tlsRoute: {parentRefs: [{name: a}], hostnames: [client.b.default.svc]}}}",
		good: "{clientService: {tlsRoute: {parentRefs: [{name: a}], hostnames: [svc.example.com]}}}", says: "must not be names below .svc",
	},
	{
		name: "a route without TLS", bad: "{tls: {mode: Disabled}, clientService: {tlsRoute: {parentRefs: [{name: a}], hostnames: [a]}}}",
		good: "{clientService: {tlsRoute: {parentRefs: [{name: a}], hostnames: [a]}}}", says: "clientService.tlsRoute needs tls.mode Enabled",
	},
	{
		name: "one family twice", bad: "{network: {ipFamilyPolicy: PreferDualStack, ipFamilies: [IPv4, IPv4]}}",
		good: "{network: {ipFamilyPolicy: PreferDualStack, ipFamilies: [IPv6, IPv4]}}", says: "network.ipFamilies must name a family once",
	},
	{
		name: "two families of one", bad: "{network: {ipFamilyPolicy: SingleStack, ipFamilies: [IPv4, IPv6]}}",
		good: "{network: {ipFamilyPolicy: SingleStack, ipFamilies: [IPv6]}}", says: "may name two families with network.ipFamilyPolicy",
	},
	{
		name: "another first family", from: "{network: {ipFamilyPolicy: PreferDualStack, ipFamilies: [IPv4]}}",
		bad:  "{network: {ipFamilyPolicy: PreferDualStack, ipFamilies: [IPv6]}}",
		good: "{network: {ipFamilyPolicy: PreferDualStack, ipFamilies: [IPv4, IPv6]}}", says: "the first of network.ipFamilies cannot be changed",
	},
	{
		name: "no families any more", from: "{network: {ipFamilyPolicy: PreferDualStack}}", bad: "{}",
		good: "{network: {ipFamilyPolicy: SingleStack}}", says: "network cannot be removed|set network.ipFamilyPolicy to SingleStack",
	},
}

// TestFault111TemplatesMakePods: Kubernetes takes the Pod that is made of a template with all that it can have, and members' Services.
func TestFault111TemplatesMakePods(t *testing.T) {
	spec := `{podTemplate: {
		containers: [
			{name: logs, image: "registry.example/logs:v1", imagePullPolicy: IfNotPresent, command: [a], args: [b], workingDir: /tmp,
				ports: [{name: http, containerPort: 8080, protocol: TCP}], env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}],
				envFrom: [{configMapRef: {name: a}}], resources: {requests: {cpu: 10m}, limits: {memory: 64Mi}},
				volumeMounts: [{name: settings, mountPath: /settings, subPath: a, readOnly: true}, {name: scratch, mountPath: /scratch}],
				startupProbe: {httpGet: {path: /, port: http}}, readinessProbe: {tcpSocket: {port: 8080}}, livenessProbe: {exec: {command: [a]}},
				securityContext: {runAsUser: 1000, runAsGroup: 1000, readOnlyRootFilesystem: true}},
			{name: etcd, env: [{name: GOGC, value: "50"}], volumeMounts: [{name: settings, mountPath: /etc/ssl/own}]}],
		initContainers: [{name: wait, image: "registry.example/wait:v1"}, {name: near, image: "registry.example/near:v1", restartPolicy: Always}],
		volumes: [{name: settings, configMap: {name: a, optional: true}}, {name: scratch, emptyDir: {sizeLimit: 1Gi}},
			{name: key, secret: {secretName: a}},
			{name: shared, persistentVolumeClaim: {claimName: a}},
			{name: about, downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.name}}]}},
			{name: vault, csi: {driver: secrets-store.csi.k8s.io, readOnly: true}}],
		hostAliases: [{ip: 192.0.2.7, hostnames: [ntp.example.com]}], dnsConfig: {searches: [example.com], options: [{name: ndots, value: "3"}]},
		schedulerName: other}}`
	create(t, "patched", spec)
	c := get(t, "patched")
	pod := specs.Pod(c, "patched-0", specs.Joining{New: true, Token: "t", Members: []string{"patched-0"}})
	service := specs.MemberService(c, "patched-0", v1beta1.MemberService{
		Type: v1beta1.ClientServiceLoadBalancer, LoadBalancerClass: "example.com/a",
	})
	if err := tryAll(t, pod, service); err != nil {
		t.Error(err)
	}
	if len(pod.Spec.Containers) != 2 || ptr.Deref(pod.Spec.AutomountServiceAccountToken, true) ||
		pod.Spec.RestartPolicy == corev1.RestartPolicyNever {
		t.Errorf("the Pod is %+v", pod.Spec)
	}
}
