// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	clientyaml "go.etcd.io/etcd/client/v3/yaml"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// recipes are followed as docs/recipes has them, on a cluster that programs share: each may use its own prefix only.
func recipes() {
	var shared *v1beta1.EtcdCluster
	var patroni *recipe

	BeforeAll(func() {
		namespace := newNamespace()
		startOperator(namespace)
		DeferCleanup(usersGo, namespace)
		shared = createRecipeCluster(namespace, "README.md", "shared")
		authIs(shared, metav1.ConditionTrue)
		patroni = followRecipe(shared, "patroni.md")
	})

	It("Patroni: by the HTTP gateway, with a password and a certificate without a common name", Label("gate"), func() {
		env := patroni.environment()
		Expect(env["PATRONI_ETCD3_HOSTS"]).To(Equal(patroni.address))
		g := newGateway(env["PATRONI_ETCD3_PROTOCOL"]+"://"+env["PATRONI_ETCD3_HOSTS"],
			fromFiles(env["PATRONI_ETCD3_CACERT"], env["PATRONI_ETCD3_CERT"], env["PATRONI_ETCD3_KEY"]))
		members, err := g.call("/cluster/member/list", map[string]any{})
		Expect(err).NotTo(HaveOccurred(), "which Patroni asks before it has a token")
		Expect(members.Members).To(HaveLen(3))
		g.logIn(env["PATRONI_ETCD3_USERNAME"], env["PATRONI_ETCD3_PASSWORD"])
		asPatroni(g, env["PATRONI_NAMESPACE"]+env["PATRONI_SCOPE"]+"/")
		Expect(g.put("/service/invoices/leader", "a")).To(MatchError(ContainSubstring("permission denied")), "another scope")
	})

	It("APISIX: by the HTTP gateway", func() {
		r := followRecipe(shared, "apisix.md")
		var config apisixConfig
		r.settings("deployment:", &config)
		etcd := config.Deployment.Etcd
		Expect(etcd.Password).To(Equal("${{ETCD_PASSWORD}}"))
		r.has("ETCD_PASSWORD", "password")
		files := fromFiles(config.APISIX.SSL.Trusted, etcd.TLS.Cert, etcd.TLS.Key)
		files.ServerName = etcd.TLS.SNI
		g := newGateway(etcd.Host[0], files)
		g.logIn(etcd.User, string(r.secret.Data["ETCD_PASSWORD"]))
		Expect(g.put(etcd.Prefix+"/routes/", "init_dir")).To(Succeed())
		routes := g.watch(etcd.Prefix, etcd.Prefix+"0")
		Expect(g.put(etcd.Prefix+"/routes/1", `{"uri":"/"}`)).To(Succeed())
		Eventually(routes).Should(Receive(Equal(`{"uri":"/"}`)))
	})

	It("fault 114: a client of one prefix that reads, writes or watches another's is refused, by gRPC and by the gateway", func() {
		milvus := followRecipe(shared, "milvus.md")
		etcd := milvusClient(milvus)
		Expect(puts(etcd, "milvus/meta/session/id")()).To(Succeed())
		Expect(puts(etcd, "/apisix/routes/2")()).To(refuses())
		_, err := etcd.Get(ctx, "/service/", clientv3.WithPrefix())
		Expect(err).To(refuses())
		watched := <-etcd.Watch(ctx, "/apisix", clientv3.WithPrefix())
		Expect(watched.Err()).To(HaveOccurred(), "a watch of another's keys")
		_, err = etcd.Compact(ctx, 2)
		Expect(err).To(refuses(), "only root may")

		g := newGateway("https://"+milvus.address, fromFiles(milvus.folder+"/ca.crt", milvus.folder+"/tls.crt", milvus.folder+"/tls.key"))
		_, err = g.get("milvus/meta/session/id")
		Expect(err).To(MatchError(ContainSubstring("CommonName of client sending a request against gateway will be ignored")),
			"so that the gateway takes certificates without one only")
		g = newGateway("https://"+patroni.address, holdingTLS(patroni.secret))
		_, err = g.get("milvus/meta/session/id")
		Expect(err).To(MatchError(ContainSubstring("permission denied")), "without a token the gateway is the member, which is no user")
		g.logIn("patroni", string(patroni.secret.Data["password"]))
		_, err = g.get("milvus/meta/session/id")
		Expect(err).To(MatchError(ContainSubstring("permission denied")))
	})

	It("Cilium: with the files of its Secret, by the file that it reads", func() {
		r := followRecipe(shared, "cilium.md")
		Expect(r.secret.Name).To(Equal("cilium-etcd-secrets"))
		config, err := clientyaml.NewConfig(written(r, "etcd.config", r.text("trusted-ca-file:")))
		Expect(err).NotTo(HaveOccurred())
		etcd := connected(*config)
		Expect(puts(etcd, "cilium/.heartbeat")()).To(Succeed())
		Expect(puts(etcd, "/elsewhere")()).To(refuses())
	})
}

// recipesOfPrograms are those that the programs themselves follow, which are built for it.
func recipesOfPrograms() {
	It("external-dns writes a record that CoreDNS serves and cannot change", func() {
		namespace := newNamespace()
		startOperator(namespace)
		DeferCleanup(usersGo, namespace)
		shared := createRecipeCluster(namespace, "README.md", "shared")
		authIs(shared, metav1.ConditionTrue)
		writer, reader := followRecipe(shared, "external-dns.md"), followRecipe(shared, "coredns.md")
		server := startCoreDNS(reader)
		command := exec.CommandContext(ctx, clientProgram("externaldns"), "--name=www.example.org", "--address=192.0.2.7", prefixFlag(writer))
		for name, value := range writer.environment() {
			command.Env = append(command.Env, name+"="+value)
		}
		output, err := command.CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(output))
		Expect(string(output)).To(ContainSubstring("www.example.org A 192.0.2.7"))
		Eventually(resolve(server, "www.example.org.")).Should(ConsistOf("192.0.2.7"))
		Expect(puts(as(shared, reader.secret.Name), "/skydns/org/example/www")()).To(refuses())
	})

	It("Kamaji: is root, signs certificates of tenants, and none compacts or reads another's", followKamaji)
}

// prefixFlag is that of external-dns, as its page has it.
func prefixFlag(r *recipe) string {
	GinkgoHelper()
	for _, argument := range r.container().Args {
		if strings.HasPrefix(argument, "--coredns-prefix=") {
			return argument
		}
	}
	Fail("no prefix")
	return ""
}

// startCoreDNS starts the real one with the Corefile of its page, and returns its address.
func startCoreDNS(r *recipe) string {
	GinkgoHelper()
	// A loopback address of its own, and a port that the kernel gives to nobody.
	host := fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
	const port = "1053"
	text := strings.Replace(r.text("endpoint https"), "example.org:53 {", "example.org:"+port+" {\n    bind "+host, 1)
	corefile := written(r, "Corefile", text)
	command := exec.Command(clientProgram("coredns"), "-conf", corefile)
	command.Stdout, command.Stderr = GinkgoWriter, GinkgoWriter
	Expect(command.Start()).To(Succeed())
	DeferCleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	return net.JoinHostPort(host, port)
}

// recipesForKubernetes is a cluster for a Kubernetes, with its profile.
func recipesForKubernetes() {
	var registry *v1beta1.EtcdCluster

	BeforeAll(func() {
		namespace := newNamespace()
		startOperator(namespace)
		DeferCleanup(usersGo, namespace)
		registry = createRecipeCluster(namespace, "README.md", "kubernetes")
	})

	It("kube-apiserver: with the profile, it compacts by itself, and etcd does not", Label("long"), func() {
		Expect(registry.Status.Profile.Settings).To(ConsistOf(
			"auto-compaction-retention=0", "watch-progress-notify-interval=5s", "InitialCorruptCheck=true"))
		for _, p := range pods(registry) {
			Expect(p.Spec.Containers[0].Args).To(ContainElements("--auto-compaction-retention=0", "--watch-progress-notify-interval=5s"))
		}
		r := followRecipe(registry, "kube-apiserver.md")
		flags := flagsOf(r.container().Args)
		flags["etcd-compaction-interval"] = "2s"
		kubernetes := runKubeAPIServer(flags)
		kubernetes.fill("kept", 50)
		Expect(kubernetes.stored(registry)).To(HaveLen(50))
		etcd := as(registry, r.secret.Name)
		Eventually(func() error { // what was at revision 1
			_, err := etcd.Get(ctx, "/registry", clientv3.WithRev(1))
			return err
		}).WithPolling(time.Second).Should(MatchError(rpctypes.ErrCompacted))
	})

	It("Karmada: as its operator starts its API server", Label("long"), func() {
		r := followRecipe(registry, "karmada.md")
		var karmada karmadaConfig
		r.settings("kind: Karmada", &karmada)
		external := karmada.Spec.Components.Etcd.External
		Expect(external.SecretRef.Name).To(Equal(r.secret.Name))
		kubernetes := runKubeAPIServer(etcdFlags(external.Endpoints[0], r.folder+"/ca.crt", r.folder+"/tls.crt", r.folder+"/tls.key"))
		kubernetes.fill("karmada", 5)
	})

	It("vCluster: as it starts its API server", Label("long"), func() {
		r := followRecipe(registry, "vcluster.md")
		var vcluster vclusterConfig
		r.settings("controlPlane:", &vcluster)
		external := vcluster.ControlPlane.BackingStore.Etcd.External
		Expect(external.Enabled).To(BeTrue())
		kubernetes := runKubeAPIServer(etcdFlags("https://"+external.Endpoint, external.TLS.CAFile, external.TLS.CertFile, external.TLS.KeyFile))
		kubernetes.fill("vcluster", 5)
	})

	It("K3s: as it starts its API server", Label("long"), func() {
		r := followRecipe(registry, "k3s.md")
		var config map[string]string
		r.settings("datastore-endpoint:", &config)
		kubernetes := runKubeAPIServer(etcdFlags(config["datastore-endpoint"], config["datastore-cafile"], config["datastore-certfile"],
			config["datastore-keyfile"]))
		kubernetes.fill("k3s", 5)
	})

	It("a member of another profile: the change is a roll, as any of settings", Label("long"), func() {
		Expect(edit(registry, func(spec *v1beta1.EtcdClusterSpec) { spec.Profile = v1beta1.ProfileGeneral })).To(Succeed())
		settles(registry)
		for _, p := range pods(registry) {
			Expect(p.Spec.Containers[0].Args).To(ContainElement("--auto-compaction-mode=periodic"))
		}
		Expect(read(Default, registry).Status.Profile).To(BeNil())
	})
}

// asPatroni does what Patroni does below a scope: the leader's key by a transaction, with a lease that is kept, and a watch of it.
func asPatroni(g *gateway, scope string) {
	GinkgoHelper()
	lease, err := g.call("/lease/grant", map[string]any{"TTL": 30})
	Expect(err).NotTo(HaveOccurred())
	events := g.watch(scope, scope[:len(scope)-1]+"0")
	leader := map[string]any{"key": in64(scope + "leader"), "value": in64("postgres-0"), "lease": lease.ID}
	won, err := g.call("/kv/txn", map[string]any{
		"compare": []any{map[string]any{"target": "CREATE", "create_revision": "0", "key": in64(scope + "leader")}},
		"success": []any{map[string]any{"request_put": leader}},
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(won.Succeeded).To(BeTrue())
	Eventually(events).Should(Receive(Equal("postgres-0")))
	Expect(g.get(scope + "leader")).To(Equal("postgres-0"))
	kept, err := g.call("/lease/keepalive", map[string]any{"ID": lease.ID})
	Expect(err).NotTo(HaveOccurred())
	text, err := json.Marshal(kept.Result.TTL)
	Expect(err).NotTo(HaveOccurred())
	Expect(string(text)).To(ContainSubstring("30"))
}

// resolve asks a DNS server for an address.
func resolve(server, name string) func() ([]string, error) {
	resolver := &net.Resolver{PreferGo: true, Dial: dialTo(server)}
	return func() ([]string, error) { return resolver.LookupHost(ctx, name) }
}
