// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiproxy stands between an operator and the API server, and fails as an API server and the way to it
// can: it loses requests and answers, is slow, refuses, and tells what has long changed.
//
// It counts what is asked, and decides nothing: what becomes of a request is for those to say who use it.
package apiproxy

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

	"k8s.io/client-go/rest"
)

// Verdict says what becomes of a request of the operator.
type Verdict int

const (
	// Pass carries it out.
	Pass Verdict = iota
	// Drop loses it on its way: nothing is carried out, nothing is answered.
	Drop
	// Deafen carries it out and loses the answer.
	Deafen
	// Timeout carries it out and answers that it took too long.
	Timeout
	// Refuse answers 429 and asks for a second of patience, as API Priority and Fairness does.
	Refuse
	// Linger carries it out after two seconds.
	Linger
)

// A Proxy stands between one operator and the API server.
type Proxy struct {
	server  *httptest.Server
	forward *httputil.ReverseProxy

	mutex  sync.Mutex
	judge  func(Request) Verdict
	keep   func(resource, event string) bool // of a watch
	old    map[string]*Past
	all    int
	writes []Request
}

// New listens on this machine, in front of the API server and with the rights that the configuration has.
func New(behind *rest.Config) (*Proxy, error) {
	transport, err := rest.TransportFor(behind)
	if err != nil {
		return nil, fmt.Errorf("prepare the way to the API server: %w", err)
	}
	target, err := url.Parse(behind.Host)
	if err != nil {
		return nil, fmt.Errorf("read the address of the API server: %w", err)
	}
	p := &Proxy{old: map[string]*Past{}}
	p.forward = &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, ModifyResponse: p.filterWatch, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Accept-Encoding")
			if parse(r.In).Watch {
				r.Out.Header.Set("Accept", "application/json")
			}
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p.server = httptest.NewServer(p)
	return p, nil
}

// URL is where it listens.
func (p *Proxy) URL() string { return p.server.URL }

// Close ends every connection, and the proxy.
func (p *Proxy) Close() {
	p.server.CloseClientConnections()
	p.server.Close()
}

// ServeHTTP lets a request meet its fate.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked := parse(r)
	fate, served := p.decide(asked)
	if served != nil {
		served.serve(w, r, asked)
		return
	}
	switch fate {
	case Pass:
		p.forward.ServeHTTP(w, r)
	case Drop:
		panic(http.ErrAbortHandler)
	case Deafen:
		p.forward.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case Timeout:
		p.forward.ServeHTTP(httptest.NewRecorder(), r)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusGatewayTimeout)
		_, _ = io.WriteString(w, timedOut)
	case Refuse:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
	case Linger:
		time.Sleep(2 * time.Second)
		p.forward.ServeHTTP(w, r)
	}
}

const timedOut = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Timeout","code":504,` +
	`"message":"request did not complete within the requested timeout (injected)"}`

func (p *Proxy) decide(asked Request) (Verdict, *Past) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.all++
	if served := p.old[asked.Resource]; served != nil && served.first(asked) {
		return Pass, served
	}
	fate := Pass
	if p.judge != nil {
		fate = p.judge(asked)
	}
	if asked.IsWrite() {
		p.writes = append(p.writes, asked)
	}
	return fate, nil
}

// OnRequest judges every request from now on. It runs under a lock.
func (p *Proxy) OnRequest(judge func(Request) Verdict) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.judge = judge
}

// OnEvent says which events of watches arrive.
func (p *Proxy) OnEvent(keep func(resource, event string) bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.keep = keep
}

// Heal ends every fault.
func (p *Proxy) Heal() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.judge, p.keep, p.old = nil, nil, map[string]*Past{}
}

// Forget starts to count from zero.
func (p *Proxy) Forget() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.all, p.writes = 0, nil
}

// Requests is how many requests there were.
func (p *Proxy) Requests() int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.all
}

// Written are the writes so far, as sentences.
func (p *Proxy) Written() []string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	sentences := []string{}
	for _, write := range p.writes {
		sentences = append(sentences, write.String())
	}
	return sentences
}

// A Request is what a request asks for.
type Request struct {
	Method, Resource, Subresource, Name string
	// Watch says whether it goes on.
	Watch   bool
	initial bool // it asks for what there is, first
}

// parse reads /api/v1/namespaces/NAMESPACE/RESOURCE/NAME/SUBRESOURCE and its kin.
func parse(r *http.Request) Request {
	asked := Request{
		Method: r.Method, Watch: r.URL.Query().Get("watch") != "", initial: r.URL.Query().Get("sendInitialEvents") == "true",
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if parts[0] == "apis" {
		parts = parts[1:]
	}
	parts = append(parts[min(2, len(parts)):], "", "", "", "", "")
	if parts[0] == "namespaces" && parts[2] != "" {
		parts = parts[2:]
	}
	asked.Resource, asked.Name, asked.Subresource = parts[0], parts[1], parts[2]
	return asked
}

// IsWrite says whether it changes what matters: leases and events do not.
func (r Request) IsWrite() bool {
	return r.Method != http.MethodGet && r.Resource != "leases" && r.Resource != "events"
}

// Kind is what is done to what, without the name.
func (r Request) Kind() string {
	return strings.TrimRight(fmt.Sprintf("%s %s/%s", r.Method, r.Resource, r.Subresource), "/")
}

func (r Request) String() string { return strings.TrimSpace(r.Kind() + " " + r.Name) }

// filterWatch loses the events of a watch that are not to arrive.
func (p *Proxy) filterWatch(response *http.Response) error {
	asked := parse(response.Request)
	if !asked.Watch || response.StatusCode != http.StatusOK {
		return nil
	}
	reader, writer := io.Pipe()
	source := response.Body
	response.Body = filtered{reader, source}
	go p.copyEvents(writer, source, asked.Resource)
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

func (p *Proxy) copyEvents(to *io.PipeWriter, from io.Reader, resource string) {
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

func (p *Proxy) arrives(resource, event string) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.keep == nil || p.keep(resource, event)
}
