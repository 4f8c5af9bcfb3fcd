// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registry is an image registry that keeps everything on disk, so
// that images outlive a restart.
package registry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	ggcr "github.com/google/go-containerregistry/pkg/registry"
)

// stored is one manifest as it was pushed.
type stored struct {
	Path        string `json:"path"`
	ContentType string `json:"contentType"`
	Body        []byte `json:"body"`
}

type server struct {
	inner     http.Handler
	manifests string
}

// Serve answers at the addresses until the context ends, or one of them fails.
func Serve(ctx context.Context, addresses []string, dir string) error {
	handler, err := open(dir)
	if err != nil {
		return err
	}
	log.Printf("registry of %s at %s", dir, strings.Join(addresses, " and "))
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	ended := make(chan error, len(addresses))
	for _, address := range addresses {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		go func() { ended <- server.Serve(listener) }()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// open replays the manifests in the order of their push: an index may only
// come after what it lists.
func open(dir string) (*server, error) {
	blobs := filepath.Join(dir, "blobs")
	s := &server{manifests: filepath.Join(dir, "manifests")}
	for _, folder := range []string{blobs, s.manifests} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, err
		}
	}
	quiet := ggcr.Logger(log.New(io.Discard, "", 0))
	s.inner = ggcr.New(ggcr.WithBlobHandler(ggcr.NewDiskBlobHandler(blobs)), ggcr.WithReferrersSupport(true), quiet)
	for _, file := range byAge(s.manifests) {
		if err := s.replay(file); err != nil {
			log.Printf("skip %s: %v", file, err)
		}
	}
	return s, nil
}

func (s *server) replay(file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var manifest stored
	if err := json.Unmarshal(raw, &manifest); err != nil {
		return err
	}
	request := httptest.NewRequest(http.MethodPut, manifest.Path, bytes.NewReader(manifest.Body))
	request.Header.Set("Content-Type", manifest.ContentType)
	recorder := httptest.NewRecorder()
	s.inner.ServeHTTP(recorder, request)
	if recorder.Code != http.StatusCreated {
		return fmt.Errorf("refused: %s", strings.TrimSpace(recorder.Body.String()))
	}
	return nil
}

// ServeHTTP notes each manifest that was accepted and forgets deleted ones.
func (s *server) ServeHTTP(out http.ResponseWriter, request *http.Request) {
	if !strings.Contains(request.URL.Path, "/manifests/") || request.Method == http.MethodGet || request.Method == http.MethodHead {
		s.inner.ServeHTTP(out, request)
		return
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	watched := &status{ResponseWriter: out}
	s.inner.ServeHTTP(watched, request)
	if err := s.keep(request, body, watched.code); err != nil {
		log.Printf("keep %s: %v", request.URL.Path, err)
	}
}

func (s *server) keep(request *http.Request, body []byte, code int) error {
	sum := sha256.Sum256([]byte(request.URL.Path))
	file := filepath.Join(s.manifests, hex.EncodeToString(sum[:])+".json")
	switch {
	case request.Method == http.MethodDelete && code == http.StatusAccepted:
		return os.Remove(file)
	case request.Method != http.MethodPut || code != http.StatusCreated:
		return nil
	}
	raw, err := json.Marshal(stored{Path: request.URL.Path, ContentType: request.Header.Get("Content-Type"), Body: body})
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", raw, 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

func byAge(dir string) []string {
	files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	age := func(file string) time.Time {
		info, err := os.Stat(file)
		if err != nil {
			return time.Time{}
		}
		return info.ModTime()
	}
	sortByTime(files, age)
	return files
}

func sortByTime(files []string, age func(string) time.Time) {
	slices.SortFunc(files, func(a, b string) int { return age(a).Compare(age(b)) })
}
