// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstore_test

import (
	"bytes"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/objectstore"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// fault is what happens to a request on its way to the server, or to the answer on its way back.
type fault func(w http.ResponseWriter, r *http.Request, server http.Handler)

// proxy stands before a real server. Without a fault it passes everything on.
type proxy struct {
	*httptest.Server
	fault atomic.Pointer[fault]
	hits  atomic.Int32 // requests since the fault was set
}

func newProxy(t *testing.T, address string) *proxy {
	t.Helper()
	p := &proxy{}
	forward := &httputil.ReverseProxy{
		// The name of the host stays: it is signed.
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: address})
			r.Out.Host = r.In.Host
		},
		Transport:    &http.Transport{DisableCompression: true},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.hits.Add(1)
		if f := p.fault.Load(); f != nil {
			(*f)(w, r, forward)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	p.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that refuse a certificate are what some tests are about
	t.Cleanup(func() {
		p.CloseClientConnections()
		p.Close()
	})
	return p
}

func (p *proxy) set(f fault) {
	p.hits.Store(0)
	p.fault.Store(&f)
}

// slowly passes bytes on at 1 KB/s, both ways, until the client gives up.
func slowly(w http.ResponseWriter, r *http.Request, server http.Handler) {
	r.Body = struct {
		io.Reader
		io.Closer
	}{slowReader{r.Body}, r.Body}
	server.ServeHTTP(slowWriter{w, r}, r)
}

type slowReader struct{ from io.Reader }

func (s slowReader) Read(p []byte) (int, error) {
	time.Sleep(100 * time.Millisecond)
	return s.from.Read(p[:min(len(p), 100)])
}

type slowWriter struct {
	http.ResponseWriter
	request *http.Request
}

func (s slowWriter) Write(p []byte) (int, error) {
	for sent := 0; sent < len(p); {
		select {
		case <-s.request.Context().Done():
			return sent, s.request.Context().Err()
		case <-time.After(100 * time.Millisecond):
		}
		n, err := s.ResponseWriter.Write(p[sent:min(len(p), sent+100)])
		if err != nil {
			return sent, err
		}
		sent += n
		_ = http.NewResponseController(s.ResponseWriter).Flush() // if it fails, so does the next write
	}
	return len(p), nil
}

// cut ends the connection after so many bytes of what is written or read, so many times.
func cut(after int64, times int32) fault {
	var done atomic.Int32
	return func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		if r.Method == http.MethodPut || r.Method == http.MethodPost {
			var begun bytes.Buffer
			if n, _ := io.CopyN(&begun, r.Body, after); n == after && done.Add(1) <= times {
				panic(http.ErrAbortHandler)
			}
			r.Body = io.NopCloser(io.MultiReader(&begun, r.Body))
			server.ServeHTTP(w, r)
			return
		}
		if done.Add(1) > times {
			server.ServeHTTP(w, r)
			return
		}
		server.ServeHTTP(&cutWriter{w, after}, r)
	}
}

type cutWriter struct {
	http.ResponseWriter
	left int64
}

func (c *cutWriter) Write(p []byte) (int, error) {
	if int64(len(p)) > c.left {
		_, _ = c.ResponseWriter.Write(p[:c.left])
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	c.left -= int64(len(p))
	return c.ResponseWriter.Write(p)
}

// loseAnswer has the server do what it was asked, and never says so, so many times.
func loseAnswer(times int32) fault {
	var done atomic.Int32
	return func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		if done.Add(1) > times {
			server.ServeHTTP(w, r)
			return
		}
		server.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
}

// answer asks the server nothing.
func answer(a refusal) fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body) // the client may have gone
		w.Header().Set("Content-Type", "application/xml")
		if len(a.body) > 0 && a.body[0] == '{' {
			w.Header().Set("Content-Type", "application/json")
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.body)
	}
}

// survives holds a store to what it does when the network or the provider does not do its part.
func survives(t *testing.T, w world) {
	for name, test := range map[string]func(*testing.T, world){
		"a write at 1 KB/s is given up":                   slowWrite,
		"a read at 1 KB/s is given up":                    slowRead,
		"a write whose connection breaks is repeated":     brokenWrite,
		"a read whose connection breaks goes on":          brokenRead,
		"a read that always breaks ends":                  alwaysBroken,
		"a write whose answer is lost is success":         lostAnswer,
		"a certificate that nobody trusts is refused":     untrusted,
		"nobody listens":                                  nobodyListens,
		"a store that answers nothing is given up":        silent,
		"an object that changes while it is read":         changes,
		"a check that cannot write leaves nothing behind": checkFails,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, w)
		})
	}
	for _, refused := range w.refusals {
		t.Run("the answer "+refused.name, func(t *testing.T) {
			t.Parallel()
			p := newProxy(t, w.address)
			p.Start()
			p.set(answer(refused))
			s := open(t, w.config(p.URL, nil, ""))
			if got := refuses(t, s, refused.want); got != nil && got.Code != refused.code {
				t.Errorf("the code is %q, want %q", got.Code, refused.code)
			}
		})
	}
}

// through opens a store below a prefix of its own, behind a proxy.
func through(t *testing.T, w world, prefix string) (objectstore.Store, *proxy) {
	t.Helper()
	p := newProxy(t, w.address)
	p.Start()
	return open(t, w.config(p.URL, nil, prefix)), p
}

func slowWrite(t *testing.T, w world) {
	s, p := through(t, w, "slow-write")
	p.set(slowly)
	wantAdvice(t, s.Put(t.Context(), "a", noise(256<<10)), objectstore.Slow)
	wantNames(t, w.open(t, "slow-write"), "")
}

func slowRead(t *testing.T, w world) {
	s, p := through(t, w, "slow-read")
	must(t, s.Put(t.Context(), "a", noise(256<<10)))
	p.set(slowly)
	_, err := s.Get(t.Context(), "a", 1<<20)
	wantAdvice(t, err, objectstore.Slow)
}

func brokenWrite(t *testing.T, w world) {
	s, p := through(t, w, "broken-write")
	content := noise(1 << 20)
	p.set(cut(300_000, 1))
	must(t, s.Put(t.Context(), "a", content))
	got, err := s.Get(t.Context(), "a", 1<<20)
	must(t, err)
	if !bytes.Equal(got, content) {
		t.Error("the content is another one")
	}
	if p.hits.Load() < 2 {
		t.Error("nothing was cut")
	}
}

func brokenRead(t *testing.T, w world) {
	s, p := through(t, w, "broken-read")
	content := noise(9 << 20)
	must(t, s.Put(t.Context(), "a", content))
	p.set(cut(300_000, 3))
	got, err := s.Get(t.Context(), "a", 9<<20)
	must(t, err)
	if !bytes.Equal(got, content) {
		t.Errorf("%d bytes of other content", len(got))
	}
	if p.hits.Load() < 6 {
		t.Errorf("only %d requests: nothing was cut", p.hits.Load())
	}
}

func alwaysBroken(t *testing.T, w world) {
	s, p := through(t, w, "always-broken")
	must(t, s.Put(t.Context(), "a", noise(1<<20)))
	p.set(cut(1, math.MaxInt32))
	_, err := s.Get(t.Context(), "a", 1<<20)
	if errors.Is(err, objectstore.Slow) {
		return // Google's library goes on by itself for as long as something comes
	}
	wantAdvice(t, err, objectstore.Unreachable)
}

func lostAnswer(t *testing.T, w world) {
	s, p := through(t, w, "lost-answer")
	p.set(loseAnswer(1))
	put(t, s, "a", "content")
	if p.hits.Load() < 2 {
		t.Error("no answer was lost")
	}
	wantContent(t, s, "a", "content")
	p.set(loseAnswer(1000))
	wantAdvice(t, s.Put(t.Context(), "b", []byte("content")), objectstore.Unreachable)
	p.set(loseAnswer(0))
	put(t, s, "b", "content") // it was there
	wantKind(t, s.Put(t.Context(), "b", []byte("other content")), objectstore.Exists)
}

func untrusted(t *testing.T, w world) {
	p := newProxy(t, w.address)
	p.StartTLS()
	refuses(t, open(t, w.config(p.URL, nil, "tls")), objectstore.Untrusted)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw})
	put(t, open(t, w.config(p.URL, authority, "tls")), "a", "content")
	_, err := objectstore.Open(t.Context(), w.config(p.URL, []byte("not PEM"), "tls"))
	wantKind(t, err, objectstore.Invalid)
}

func nobodyListens(t *testing.T, w world) {
	refuses(t, open(t, w.config("http://"+process.FreeAddress(t), nil, "")), objectstore.Unreachable)
}

func silent(t *testing.T, w world) {
	s, p := through(t, w, "silent")
	p.set(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body) // the client may have gone
		<-r.Context().Done()
	})
	_, err := s.Get(t.Context(), "a", 10)
	wantAdvice(t, err, objectstore.Slow)
}

// Between two pieces the object is overwritten, which only other programs can: nothing here does.
func changes(t *testing.T, w world) {
	s, _ := through(t, w, "changes")
	must(t, s.Put(t.Context(), "a", noise(6<<20)))
	reader, err := s.Open(t.Context(), "a")
	must(t, err)
	_, err = io.CopyN(io.Discard, reader, 1<<20)
	must(t, err)
	must(t, s.Delete(t.Context(), "a"))
	must(t, s.Put(t.Context(), "a", noise(5<<20)))
	_, err = io.Copy(io.Discard, reader)
	wantAdvice(t, errors.Join(err, reader.Close()), objectstore.Changed)
}

// The check deletes what a write without an answer may have left.
func checkFails(t *testing.T, w world) {
	s, p := through(t, w, "check-fails")
	p.set(func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		server.ServeHTTP(w, r)
		if r.Method == http.MethodPut || r.Method == http.MethodPost {
			panic(http.ErrAbortHandler)
		}
	})
	report := objectstore.Check(t.Context(), s, time.Now)
	if !report.Reachable || report.Writable || len(report.Problems) != 1 {
		t.Errorf("%+v", report)
	}
	p.set(loseAnswer(0))
	wantNames(t, s, "")
}

// refuses is what every call does, and a check.
func refuses(t *testing.T, s objectstore.Store, want objectstore.Kind) *objectstore.Error {
	t.Helper()
	for _, err := range s.List(t.Context(), "") {
		wantAdvice(t, err, want)
	}
	_, err := s.Get(t.Context(), "a", 10)
	wantAdvice(t, err, want)
	err = s.Put(t.Context(), "a", []byte("content"))
	wantAdvice(t, err, want)
	wantKind(t, s.Delete(t.Context(), "a"), want)
	if report := objectstore.Check(t.Context(), s, time.Now); report.Reachable || len(report.Problems) != 1 ||
		!errors.Is(report.Problems[0], want) {
		t.Errorf("%+v", report)
	}
	e := (*objectstore.Error)(nil)
	errors.As(err, &e)
	return e
}

func wantAdvice(t *testing.T, err error, want objectstore.Kind) {
	t.Helper()
	wantKind(t, err, want)
	if advice := objectstore.KindOf(err).Advice(); advice == "" {
		t.Errorf("%v: no advice", err)
	} else {
		t.Logf("%v\n\tadvice: %s", err, advice)
	}
}
