// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package certs_test

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"flag"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// A land is a toy Kubernetes with members and applications, whose kubelets are slow.
type land struct {
	t       *testing.T
	c       *v1beta1.EtcdCluster
	at      time.Time
	chance  *mathrand.Rand
	secrets map[string]*corev1.Secret
	members []*pod
	apps    []*pod // with the Secret of the cluster, and with that of an EtcdUser
	user    *v1beta1.EtcdUser
	dies    bool      // the operator dies between two writes now and then
	rests   time.Time // until when the operator does not look: nothing was to be done
	writes  int
	history []string
	trusted map[[2]string]time.Time // until when a certificate is trusted by a bundle, of those that were looked at
}

// A pod has mounted a Secret, which its kubelet refreshes now and then.
type pod struct {
	name    string
	mounted *corev1.Secret
	refresh time.Time         // when the kubelet looks after it next
	loaded  map[string][]byte // the bundles that etcd has read when it started
	trust   string            // with which it was made
}

func newLand(t *testing.T, seed uint64) *land {
	c := example()
	c.Status.ClusterID = "c1"
	l := &land{
		t: t, c: c, at: now, chance: mathrand.New(mathrand.NewPCG(seed, seed)), secrets: makeAll(t, c), trusted: map[[2]string]time.Time{},
	}
	for i := range 3 {
		l.members = append(l.members, &pod{name: cluster.MemberName(c.Name, i)})
		l.start(l.members[i])
	}
	l.user = user("")
	l.writeUser()
	for _, secret := range []string{c.ClientSecret(), l.user.Secret()} {
		l.apps = append(l.apps, &pod{name: secret, mounted: l.secrets[secret], refresh: l.at})
	}
	return l
}

func (l *land) held() certs.KeyMaterial {
	return certs.Read(l.c, func(name string) *corev1.Secret { return l.secrets[name] })
}

// start starts a member: it mounts the Secret as it is, and etcd reads the bundles.
func (l *land) start(p *pod) {
	p.mounted = l.secrets[specs.MemberSecret(l.c)]
	p.refresh = l.at.Add(l.lag())
	p.loaded = map[string][]byte{specs.ClientCAKey: p.mounted.Data[specs.ClientCAKey], specs.PeerCAKey: p.mounted.Data[specs.PeerCAKey]}
	p.trust = p.mounted.Annotations[v1beta1.AnnotationTrust]
}

// lag is how long a kubelet takes at most to look after a Pod again.
func (l *land) lag() time.Duration {
	return 60*time.Second + time.Duration(l.chance.IntN(30))*time.Second
}

// sights are what a handshake shows.
func (l *land) sights() (all []certs.TLSProbe) {
	for _, p := range l.members {
		see := func(cert, ca string) certs.Port {
			shown := certificates(l.t, p.mounted.Data[cert])
			port := certs.Port{Shown: shown[0].Raw}
			for _, between := range shown[1:] {
				port.Between = append(port.Between, between.Raw)
			}
			for _, trusted := range certificates(l.t, p.loaded[ca]) {
				port.Accepts = append(port.Accepts, trusted.RawSubject)
			}
			return port
		}
		all = append(all, certs.TLSProbe{
			Member: p.name, Client: see(specs.ServerCertKey, specs.ClientCAKey), Peer: see(specs.PeerCertKey, specs.PeerCAKey),
		})
	}
	return all
}

func (l *land) look() cluster.Rotation {
	facts := certs.Facts{Now: l.at, Come: l.at, Members: []string{"example-0", "example-1", "example-2"}, Probes: l.sights()}
	facts.Users = []*corev1.Secret{l.secrets[l.user.Secret()]}
	return l.held().Rotation(l.c, facts)
}

// tick does one thing that the operator does next, if it is about to, and lets kubelets look after Pods.
func (l *land) tick(step time.Duration) {
	l.at = l.at.Add(step)
	for _, p := range slices.Concat(l.members, l.apps) {
		if l.at.After(p.refresh) {
			p.mounted, p.refresh = l.secrets[p.mounted.Name], l.at.Add(l.lag())
		}
	}
	if l.chance.IntN(6) == 0 { // another controller, in its own time
		l.writeUser()
	}
	if l.chance.IntN(3) > 0 && l.at.After(l.rests) {
		acted := l.writes
		l.operate()
		if l.writes == acted && l.look().Await == "" { // at rest it looks as seldom as a kubelet, at the most
			l.rests = l.at.Add(l.lag())
		}
	}
	l.checkConnections()
}

// writeUser has the Secret of the EtcdUser as it is to be.
func (l *land) writeUser() {
	held, name := l.held(), l.user.Secret()
	if held.UserFault(l.c, l.user, l.secrets[name], l.at) == nil || held.Lost(l.c, l.c.ClientCA(), l.at) != nil {
		return
	}
	secret, err := held.MakeUser(rand.Reader, l.at, l.c, l.user, l.secrets[name])
	if err != nil {
		l.t.Fatal(err)
	}
	l.secrets[name] = secret
}

// operate is one step of the plan: the rest of an introduction, what members mount, members that are outdated, then the
// rotation.
func (l *land) operate() {
	held := l.held()
	if held.ClientCA.Phase() == cluster.Introduced || held.PeerCA.Phase() == cluster.Introduced {
		for _, o := range l.look().Turns {
			if o.RotationStep.Stage == cluster.Introduce {
				l.take(o)
				return
			}
		}
	}
	for _, name := range certs.Names(l.c)[2:] {
		if held.Lost(l.c, l.c.ClientCA(), l.at) != nil || held.Lost(l.c, l.c.PeerCA(), l.at) != nil {
			break
		}
		if held.Fault(l.c, name, l.at) != nil && held.CanMake(l.c, name, l.at) {
			secret, err := held.Make(rand.Reader, l.at, l.c, name)
			if err != nil {
				l.t.Fatal(err)
			}
			l.secrets[name] = secret
			l.writes++
			if l.dies {
				return
			}
			held = l.held()
		}
	}
	trusted, _ := held.Trust()
	for _, p := range l.members {
		if p.trust != trusted {
			l.start(p)
			l.writes++
			l.history = append(l.history, "restart "+p.name)
			return
		}
	}
	for _, o := range l.look().Turns {
		l.take(o)
		if l.dies && l.chance.IntN(2) == 0 {
			return
		}
	}
}

func (l *land) take(o cluster.Object) {
	held := l.held()
	secret, err := held.Turn(rand.Reader, l.at, l.c, o.Name, o.RotationStep)
	if err != nil {
		l.t.Fatal(err)
	}
	if secret == nil {
		return
	}
	l.secrets[o.Name] = secret
	l.writes++
	l.history = append(l.history, string(o.RotationStep.Stage)+" "+o.Name)
	if again, _ := held.Turn(rand.Reader, l.at, l.c, o.Name, o.RotationStep); again != nil {
		l.t.Errorf("%s of %s is taken twice", o.RotationStep.Stage, o.Name)
	}
}

// checkConnections fails unless each member that connects to another now is trusted by it, and trusts it.
func (l *land) checkConnections() {
	l.t.Helper()
	for _, p := range l.members {
		for _, q := range l.members {
			l.trusts(p.name, p.loaded[specs.PeerCAKey], q.name, q.mounted.Data[specs.PeerCertKey])
		}
		if operator := l.secrets[l.c.RootSecret()]; operator != nil && l.held().ClientCA.External {
			l.trusts(p.name, p.loaded[specs.ClientCAKey], "the operator", operator.Data[corev1.TLSCertKey])
		}
		for _, app := range l.apps {
			l.trusts(p.name, p.loaded[specs.ClientCAKey], app.name, app.mounted.Data[corev1.TLSCertKey])
			l.trusts(app.name, app.mounted.Data[specs.CAKey], p.name, p.mounted.Data[specs.ServerCertKey])
		}
	}
}

func (l *land) trusts(who string, bundle []byte, whom string, shown []byte) {
	l.t.Helper()
	pair := [2]string{string(bundle), string(shown)}
	if l.at.Before(l.trusted[pair]) {
		return
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	between, all := x509.NewCertPool(), certificates(l.t, shown)
	for _, certificate := range all[1:] {
		between.AddCert(certificate)
	}
	how := x509.VerifyOptions{
		Roots: roots, Intermediates: between, CurrentTime: l.at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	}
	chains, err := all[0].Verify(how)
	if err != nil {
		l.t.Fatalf("after %s: %s does not trust %s: %v\n%s", l.at.Sub(now), who, whom, err, strings.Join(l.history, "\n"))
	}
	for _, certificate := range chains[0] {
		if end, known := l.trusted[pair]; !known || certificate.NotAfter.Before(end) {
			l.trusted[pair] = certificate.NotAfter
		}
	}
}

func certificates(t *testing.T, bundle []byte) (all []*x509.Certificate) {
	t.Helper()
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, certificate)
	}
	if len(all) == 0 {
		t.Fatal("no certificate")
	}
	return all
}

// until ticks until that is so, and fails if it takes longer.
func (l *land) until(what string, patience time.Duration, is func() bool) {
	l.t.Helper()
	for end := l.at.Add(patience); !is(); l.tick(5 * time.Second) {
		if l.at.After(end) {
			l.t.Fatalf("not after %s: %s; it waits for %q\n%s", patience, what, l.look().Await, strings.Join(l.history, "\n"))
		}
	}
}

// passes are those that were taken, each named once for both authorities, and how many members restarted in between.
func (l *land) passes() []string {
	var all []string
	for _, what := range l.history {
		word, _, _ := strings.Cut(what, " ")
		if word == "switch" || len(all) == 0 || !strings.HasPrefix(all[len(all)-1], word) {
			all = append(all, word)
		}
	}
	return slices.Compact(all)
}

// TestFault62RotationInPasses: both authorities are replaced together, on request, members restart for the first pass and for
// the last one, and at no moment any client is refused.
func TestFault62RotationInPasses(t *testing.T) {
	t.Parallel() // signatures take a processor for seconds
	for seed := range uint64(20) {
		l := newLand(t, seed)
		first := l.held().ClientCA.CertPEM
		l.c.Annotations = map[string]string{v1beta1.AnnotationRotate: "2026-01-01"}
		l.until("rotated", 20*time.Minute, func() bool { return l.isRotated(first) })
		if got := strings.Join(l.passes(), " "); got != "introduce restart switch drop restart" {
			t.Errorf("seed %d: %s", seed, got)
		}
		if restarts := strings.Count(strings.Join(l.history, "\n"), "restart"); restarts != 6 {
			t.Errorf("seed %d: members restarted %d times", seed, restarts)
		}
		length := len(l.history)
		for range 100 {
			l.tick(time.Minute)
		}
		if len(l.history) != length {
			t.Errorf("seed %d: it goes on: %v", seed, l.history[length:])
		}
	}
}

// TestClientsOfAnAdoptedClusterGoOn: one that has nothing but what the sources gave it, and never gets anything else, connects and is
// trusted before, while and after the authority of peers is replaced. That of clients is replaced once it is asked for.
func TestClientsOfAnAdoptedClusterGoOn(t *testing.T) {
	t.Parallel() // signatures take a processor for seconds
	for seed := range uint64(5) {
		l := newLand(t, seed)
		for _, name := range certs.Authorities(l.c) {
			metav1.SetMetaDataAnnotation(&l.secrets[name].ObjectMeta, v1beta1.AnnotationAdoptedAuthority, "true")
		}
		old := &pod{name: "a client of the sources", mounted: l.secrets[l.c.ClientSecret()], refresh: l.at.AddDate(9, 0, 0)}
		l.apps = append(l.apps, old)
		peers, clients := string(l.held().PeerCA.CertPEM), string(l.held().ClientCA.CertPEM)
		l.until("peers rotated", 20*time.Minute, func() bool {
			return string(l.held().PeerCA.CertPEM) != peers && !l.held().IsRotating()
		})
		for range 100 {
			l.tick(time.Minute)
		}
		if string(l.held().ClientCA.CertPEM) != clients || l.held().IsRotating() {
			t.Errorf("seed %d: the authority of clients was replaced, and nobody asked: %v", seed, l.history)
		}
		l.apps = slices.DeleteFunc(l.apps, func(p *pod) bool { return p == old })
		l.c.Annotations = map[string]string{v1beta1.AnnotationRotate: "client:now"}
		l.until("clients rotated", 20*time.Minute, func() bool { return l.isRotated([]byte(clients)) })
	}
}

// isRotated says whether the authority is another one, nothing goes on, and members run with what is trusted.
func (l *land) isRotated(first []byte) bool {
	held := l.held()
	trusted, _ := held.Trust()
	outdated := slices.ContainsFunc(l.members, func(p *pod) bool { return p.trust != trusted })
	bad := held.Fault(l.c, specs.MemberSecret(l.c), l.at) != nil || held.Fault(l.c, l.c.ClientSecret(), l.at) != nil
	return !held.IsRotating() && !outdated && !bad && string(held.ClientCA.CertPEM) != string(first)
}

// TestFault61ShortLives: authorities and certificates that live for as short as is allowed, through a day.
func TestFault61ShortLives(t *testing.T) {
	t.Parallel() // signatures take a processor for seconds
	l := newLand(t, 1)
	l.dies = true
	l.c.Spec.TLS.Lifetimes.Authority.Duration, l.c.Spec.TLS.Lifetimes.Certificate.Duration = 30*time.Minute, 12*time.Minute
	l.c.Annotations = map[string]string{v1beta1.AnnotationRotate: "begin"}
	hours := 24
	if testing.Short() {
		hours = 3
	}
	for range hours * 720 {
		l.tick(5 * time.Second)
	}
	generations := strings.Count(strings.Join(l.history, "\n"), "switch to example-client-ca")
	if least := hours * 2; generations < least {
		t.Errorf("%d generations in %d hours, want %d at least", generations, hours, least)
	}
}

// TestFault63LostAuthorityIsReplaced: whichever is gone, garbage or another one, and in whatever phase, members accept each
// other all the while.
func TestFault63LostAuthorityIsReplaced(t *testing.T) {
	t.Parallel() // signatures take a processor for seconds
	spoils := map[string]func(l *land, name string){
		"gone":    func(l *land, name string) { delete(l.secrets, name) },
		"garbage": func(l *land, name string) { l.secrets[name].Data[corev1.TLSPrivateKeyKey] = []byte("garbage") },
		"another": func(l *land, name string) { l.secrets[name] = makeAll(l.t, l.c)[name] },
	}
	phases := []cluster.RotationPhase{cluster.Stable, cluster.Introduced, cluster.Switched}
	for what, spoil := range spoils {
		for i, phase := range phases {
			for _, name := range certs.Authorities(example()) {
				t.Run(fmt.Sprintf("%s %s %s", name, what, phase), func(t *testing.T) {
					l := newLand(t, uint64(i))
					l.dies = true
					first := l.held().ClientCA.CertPEM
					if name == l.c.PeerCA() {
						first = l.held().PeerCA.CertPEM
					}
					if phase != cluster.Stable {
						l.c.Annotations = map[string]string{v1beta1.AnnotationRotate: "x"}
					}
					of := func(h certs.KeyMaterial) certs.Authority {
						if name == l.c.PeerCA() {
							return h.PeerCA
						}
						return h.ClientCA
					}
					l.until("in phase", 20*time.Minute, func() bool { return of(l.held()).Phase() == phase })
					l.at = l.at.Add(time.Second)
					spoil(l, name)
					l.until("replaced", 40*time.Minute, func() bool {
						held := l.held()
						return l.isRotated(nil) && string(of(held).CertPEM) != string(first) && of(held).Signs(l.at)
					})
				})
			}
		}
	}
}

// TestWhatBeginsARotation: a request that names the authority, once each; its age; and the other one joins if it is nearly as old.
func TestWhatBeginsARotation(t *testing.T) {
	const life = v1beta1.DefaultAuthorityLifetime
	for _, of := range []struct {
		name    string
		request string
		at      time.Duration
		peerAge time.Duration // by which that of peers is younger
		taken   string        // request that was acted on before
		adopted bool          // both are of a cluster that was adopted
		want    string
	}{
		{name: "young"},
		{name: "two thirds", at: life/100*67 + time.Minute, want: "introduce example-client-ca Age, introduce example-peer-ca Age"},
		{name: "before that", at: life/100*67 - time.Minute},
		{
			name: "the other is nearly as old", at: life/100*67 + time.Minute, peerAge: life / 100 * 6,
			want: "introduce example-client-ca Age, introduce example-peer-ca Age",
		},
		{name: "the other is younger", at: life/100*67 + time.Minute, peerAge: life / 100 * 8, want: "introduce example-client-ca Age"},
		{name: "both", request: "2026", want: "introduce example-client-ca Request, introduce example-peer-ca Request"},
		{name: "a time", request: "2026-11-25T08:00:00Z", want: "introduce example-client-ca Request, introduce example-peer-ca Request"},
		{name: "one", request: "peer:2026", want: "introduce example-peer-ca Request"},
		{name: "the other one", request: "client:2026", want: "introduce example-client-ca Request"},
		{name: "once", request: "2026", taken: "2026"},
		{name: "again", request: "2027", taken: "2026", want: "introduce example-client-ca Request, introduce example-peer-ca Request"},
		{name: "adopted", adopted: true, want: "introduce example-peer-ca Adopted"},
		{name: "adopted, and old", adopted: true, at: life/100*67 + time.Minute, want: "introduce example-peer-ca Adopted"},
		{
			name: "adopted, and asked for", adopted: true, request: "client:2026",
			want: "introduce example-client-ca Request, introduce example-peer-ca Adopted",
		},
		{name: "ended", at: life + time.Minute, want: "renew example-client-ca Ended, renew example-peer-ca Ended"},
	} {
		t.Run(of.name, func(t *testing.T) {
			c := example()
			secrets := makeAll(t, c)
			if of.peerAge > 0 {
				held := certs.Read(c, func(name string) *corev1.Secret { return secrets[name] })
				for _, name := range certs.Names(c)[1:] {
					secret, err := held.Make(rand.Reader, now.Add(of.peerAge), c, name)
					if err != nil {
						t.Fatal(err)
					}
					secrets[name] = secret
				}
			}
			if of.taken != "" {
				for _, name := range certs.Authorities(c) {
					secrets[name].Annotations = map[string]string{v1beta1.AnnotationRotate: of.taken}
				}
			}
			for _, name := range certs.Authorities(c) {
				if of.adopted {
					metav1.SetMetaDataAnnotation(&secrets[name].ObjectMeta, v1beta1.AnnotationAdoptedAuthority, "true")
				}
			}
			c.Annotations = map[string]string{v1beta1.AnnotationRotate: of.request}
			held := certs.Read(c, func(name string) *corev1.Secret { return secrets[name] })
			var got []string
			for _, o := range held.Rotation(c, certs.Facts{Now: now.Add(of.at), Come: now.Add(of.at)}).Turns {
				got = append(got, fmt.Sprintf("%s %s %s", o.RotationStep.Stage, o.Name, o.RotationStep.Because))
			}
			if text := strings.Join(got, ", "); text != of.want {
				t.Errorf("got %q, want %q", text, of.want)
			}
		})
	}
}

// TestANewClusterHasDoneWhatItsAnnotationAsks: its authorities are as new as can be.
func TestANewClusterHasDoneWhatItsAnnotationAsks(t *testing.T) {
	c := example()
	c.Annotations = map[string]string{v1beta1.AnnotationRotate: "2026"}
	secrets := makeAll(t, c)
	held := certs.Read(c, func(name string) *corev1.Secret { return secrets[name] })
	if turns := held.Rotation(c, certs.Facts{Now: now, Come: now}).Turns; len(turns) > 0 {
		t.Errorf("rotates at once: %v", turns)
	}
	if trusted, _ := held.Trust(); trusted != "" {
		t.Errorf("a Secret that was never rotated says %q", trusted)
	}
}

// TestFault61EndedAuthorityIsRenewed: nothing that it has signed is valid, so only the new one is trusted, and members that restart
// together accept each other.
func TestFault61EndedAuthorityIsRenewed(t *testing.T) {
	l := newLand(t, 1)
	l.at = now.Add(v1beta1.DefaultAuthorityLifetime + time.Hour)
	rotation := l.look()
	if len(rotation.Turns) != 2 || rotation.Turns[0].RotationStep.Asked || rotation.Together {
		t.Fatalf("%+v", rotation)
	}
	l.c.Annotations = map[string]string{v1beta1.AnnotationRotate: "now"}
	if rotation = l.look(); !rotation.Turns[0].RotationStep.Asked {
		t.Errorf("a person has asked: %+v", rotation.Turns)
	}
	for _, o := range rotation.Turns {
		l.take(o)
	}
	l.operate() // what is mounted
	if rotation = l.look(); len(rotation.Turns) > 0 || !rotation.Together {
		t.Errorf("%+v", rotation)
	}
	for _, p := range l.members {
		l.start(p)
	}
	l.writeUser()
	for _, app := range l.apps {
		app.mounted = l.secrets[app.name]
	}
	l.checkConnections()
	if held := l.held(); held.IsRotating() || held.ClientCA.Because != certs.ByEnd {
		t.Errorf("%s, because of %s", held.ClientCA.Phase(), held.ClientCA.Because)
	}
}

var rewrite = flag.Bool("rewrite", false, "write testdata instead of comparing with it; review it as prose")

// TestSecretsInEachPass: what each Secret holds, pass by pass, in testdata/passes.txt. Authorities have letters, in the order in
// which they are made.
func TestSecretsInEachPass(t *testing.T) {
	l := newLand(t, 1)
	letters := map[string]string{}
	letter := func(certificate *x509.Certificate) string {
		key := string(certificate.Raw)
		if letters[key] == "" {
			letters[key] = string(rune('A' + len(letters)))
		}
		return letters[key]
	}
	var out strings.Builder
	describe := func(title string) {
		for _, name := range []string{specs.MemberSecret(l.c), l.c.ClientSecret()} {
			held := l.held()
			if held.Fault(l.c, name, l.at) == nil {
				continue
			}
			secret, err := held.Make(rand.Reader, l.at, l.c, name)
			if err != nil {
				t.Fatal(err)
			}
			l.secrets[name] = secret
		}
		fmt.Fprintf(&out, "# %s\n", title)
		for _, name := range certs.Names(l.c) {
			secret := l.secrets[name]
			fmt.Fprintf(&out, "Secret %s\n", name)
			for _, key := range slices.Sorted(maps.Keys(secret.Annotations)) {
				value := secret.Annotations[key]
				if key == v1beta1.AnnotationTrust {
					value = "(fingerprint)"
				}
				fmt.Fprintf(&out, "  %s: %s\n", key, value)
			}
			for _, key := range slices.Sorted(maps.Keys(secret.Data)) {
				fmt.Fprintf(&out, "  %s: %s\n", key, inWords(t, secret.Data[key], letter, l))
			}
		}
		out.WriteString("\n")
	}
	describe("A new cluster.")
	l.at = l.at.Add(time.Hour)
	turn := cluster.RotationStep{Stage: cluster.Introduce, Because: certs.ByRequest, Request: "client:today"}
	for _, pass := range []struct {
		how   cluster.RotationStage
		title string
	}{
		{cluster.Introduce, "The next authority of clients is introduced."},
		{cluster.Switch, "It signs."},
		{cluster.Drop, "The one before is dropped."},
	} {
		turn.Stage = pass.how
		l.take(cluster.Object{Kind: "Secret", Name: l.c.ClientCA(), RotationStep: turn})
		describe(pass.title)
		l.at = l.at.Add(time.Hour)
	}
	delete(l.secrets, l.c.PeerCA())
	l.take(cluster.Object{Kind: "Secret", Name: l.c.PeerCA(), RotationStep: cluster.RotationStep{
		Stage:   cluster.Introduce,
		Because: certs.ByLoss,
	}})
	describe("The one of peers is lost, and the next one is introduced beside what members trust.")
	const path = "testdata/passes.txt"
	if *rewrite {
		if err := os.WriteFile(path, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("differs from %s; run with -rewrite and read the diff:\n%s", path, out.String())
	}
}

// inWords says what is under a key of a Secret.
func inWords(t *testing.T, value []byte, letter func(*x509.Certificate) string, l *land) string {
	block, _ := pem.Decode(value)
	switch {
	case len(value) == 0:
		return "(nothing)"
	case block == nil:
		return string(value)
	case block.Type != "CERTIFICATE":
		return "(a key)"
	}
	var all []string
	for _, certificate := range certificates(t, value) {
		if certificate.IsCA {
			all = append(all, "authority "+letter(certificate))
			continue
		}
		for _, name := range certs.Authorities(l.c) {
			for _, ca := range certificates(t, l.secrets[name].Data[corev1.TLSCertKey]) {
				if certificate.CheckSignatureFrom(ca) == nil {
					all = append(all, "certificate by "+letter(ca))
				}
			}
		}
	}
	return strings.Join(all, ", ")
}
