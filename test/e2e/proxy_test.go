package e2e

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
)

// verdict says what becomes of a request of the operator.
type verdict int

const (
	// pass carries it out.
	pass verdict = iota
	// drop loses it on its way: nothing is carried out, nothing is answered.
	drop
	// deafen carries it out and loses the answer.
	deafen
	// timeout carries it out and answers that it took too long.
	timeout
	// refuse answers 429 and asks for a second of patience, as API Priority and Fairness does.
	refuse
	// linger carries it out after two seconds.
	linger
)

// proxy stands between the operator and the API server.
type proxy struct {
	server  *httptest.Server
	forward *httputil.ReverseProxy

	mutex  sync.Mutex
	judge  func(request) verdict
	keep   func(resource, event string) bool // of a watch
	old    map[string]*past
	all    int
	writes []request
}

func newProxy(behind *rest.Config) *proxy {
	transport, err := rest.TransportFor(behind)
	Expect(err).NotTo(HaveOccurred())
	target, err := url.Parse(behind.Host)
	Expect(err).NotTo(HaveOccurred())
	p := &proxy{old: map[string]*past{}}
	p.forward = &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, ModifyResponse: p.filterWatch, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Accept-Encoding")
			if parse(r.In).watch {
				r.Out.Header.Set("Accept", "application/json")
			}
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p.server = httptest.NewServer(p)
	return p
}

func (p *proxy) url() string { return p.server.URL }

func (p *proxy) close() {
	p.server.CloseClientConnections()
	p.server.Close()
}

// ServeHTTP lets a request meet its fate.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked := parse(r)
	fate, served := p.decide(asked)
	if served != nil {
		served.serve(w, r, asked)
		return
	}
	switch fate {
	case pass:
		p.forward.ServeHTTP(w, r)
	case drop:
		panic(http.ErrAbortHandler)
	case deafen:
		p.forward.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case timeout:
		p.forward.ServeHTTP(httptest.NewRecorder(), r)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusGatewayTimeout)
		_, _ = io.WriteString(w, timedOut)
	case refuse:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
	case linger:
		time.Sleep(2 * time.Second)
		p.forward.ServeHTTP(w, r)
	}
}

const timedOut = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Timeout","code":504,` +
	`"message":"request did not complete within the requested timeout (injected)"}`

func (p *proxy) decide(asked request) (verdict, *past) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.all++
	if served := p.old[asked.resource]; served != nil && served.first(asked) {
		return pass, served
	}
	fate := pass
	if p.judge != nil {
		fate = p.judge(asked)
	}
	if asked.isWrite() {
		p.writes = append(p.writes, asked)
	}
	return fate, nil
}

// onRequest judges every request from now on. It runs under a lock.
func (p *proxy) onRequest(judge func(request) verdict) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.judge = judge
}

// onEvent says which events of watches arrive.
func (p *proxy) onEvent(keep func(resource, event string) bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.keep = keep
}

// heal ends every fault.
func (p *proxy) heal() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.judge, p.keep, p.old = nil, nil, map[string]*past{}
}

// forget starts counting anew.
func (p *proxy) forget() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.all, p.writes = 0, nil
}

// requests is how many requests there were.
func (p *proxy) requests() int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.all
}

// written are the writes so far, as sentences.
func (p *proxy) written() []string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	sentences := []string{}
	for _, write := range p.writes {
		sentences = append(sentences, write.String())
	}
	return sentences
}

// request is what a request asks for.
type request struct {
	method, resource, subresource, name string
	watch, initial                      bool
}

// parse reads /api/v1/namespaces/NAMESPACE/RESOURCE/NAME/SUBRESOURCE and its kin.
func parse(r *http.Request) request {
	asked := request{
		method: r.Method, watch: r.URL.Query().Get("watch") != "", initial: r.URL.Query().Get("sendInitialEvents") == "true",
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if parts[0] == "apis" {
		parts = parts[1:]
	}
	parts = append(parts[min(2, len(parts)):], "", "", "", "", "")
	if parts[0] == "namespaces" && parts[2] != "" {
		parts = parts[2:]
	}
	asked.resource, asked.name, asked.subresource = parts[0], parts[1], parts[2]
	return asked
}

// isWrite says whether it changes what matters: leases and events do not.
func (r request) isWrite() bool {
	return r.method != http.MethodGet && r.resource != "leases" && r.resource != "events"
}

// kind is what is done to what, without the name.
func (r request) kind() string {
	return strings.TrimRight(fmt.Sprintf("%s %s/%s", r.method, r.resource, r.subresource), "/")
}

func (r request) String() string { return strings.TrimSpace(r.kind() + " " + r.name) }

// filterWatch loses the events of a watch that are not to arrive.
func (p *proxy) filterWatch(response *http.Response) error {
	asked := parse(response.Request)
	if !asked.watch || response.StatusCode != http.StatusOK {
		return nil
	}
	reader, writer := io.Pipe()
	source := response.Body
	response.Body = filtered{reader, source}
	go p.copyEvents(writer, source, asked.resource)
	return nil
}

// filtered is a body whose end is the end of its source.
type filtered struct {
	*io.PipeReader
	source io.Closer
}

// Close ends the copying on both sides.
func (f filtered) Close() error {
	_ = f.PipeReader.Close()
	return f.source.Close()
}

func (p *proxy) copyEvents(to *io.PipeWriter, from io.Reader, resource string) {
	var line []byte
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		line = append(line, buffer[:n]...)
		for end := bytes.IndexByte(line, '\n'); end >= 0; end = bytes.IndexByte(line, '\n') {
			if event := line[:end+1]; p.arrives(resource, string(event)) {
				_, _ = to.Write(event)
			}
			line = line[end+1:]
		}
		if err != nil {
			to.CloseWithError(err)
			return
		}
	}
}

func (p *proxy) arrives(resource, event string) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.keep == nil || p.keep(resource, event)
}
