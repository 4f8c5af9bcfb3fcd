// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// A gateway is a client of etcd's HTTP gateway, as Patroni and APISIX have one: requests in JSON, keys in base64, a token.
type gateway struct {
	http  *http.Client
	url   string
	token string
}

// reply is what is looked at of all answers.
type reply struct {
	Token     string   `json:"token"`
	ID        string   `json:"ID"`
	Succeeded bool     `json:"succeeded"`
	Members   []any    `json:"members"`
	Pairs     []pair64 `json:"kvs"`
	Result    struct {
		Created bool `json:"created"`
		TTL     any  `json:"TTL"`
		Events  []struct {
			Pair pair64 `json:"kv"`
		} `json:"events"`
	} `json:"result"`
}

type pair64 struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value"`
}

func newGateway(url string, config *tls.Config) *gateway {
	GinkgoHelper()
	transport := &http.Transport{TLSClientConfig: config}
	DeferCleanup(transport.CloseIdleConnections)
	return &gateway{http: &http.Client{Transport: transport}, url: url}
}

func in64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// request sends one, and returns the body of an answer that is no error.
func (g *gateway) request(ctx context.Context, path string, fields map[string]any) (io.ReadCloser, error) {
	body, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+"/v3"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if g.token != "" {
		request.Header.Set("Authorization", g.token)
	}
	response, err := g.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return nil, fmt.Errorf("%d: %s", response.StatusCode, text)
	}
	return response.Body, nil
}

func (g *gateway) call(path string, fields map[string]any) (reply, error) {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	body, err := g.request(limited, path, fields)
	if err != nil {
		return reply{}, err
	}
	defer body.Close()
	var a reply
	return a, json.NewDecoder(body).Decode(&a)
}

// logIn has all later requests carry a token.
func (g *gateway) logIn(name, password string) {
	GinkgoHelper()
	Eventually(func() error { // a member may not know of the user yet
		a, err := g.call("/auth/authenticate", map[string]any{"name": name, "password": password})
		g.token = a.Token
		return err
	}).Should(Succeed())
	Expect(g.token).NotTo(BeEmpty())
}

func (g *gateway) put(key, value string) error {
	_, err := g.call("/kv/put", map[string]any{"key": in64(key), "value": in64(value)})
	return err
}

func (g *gateway) get(key string) (string, error) {
	a, err := g.call("/kv/range", map[string]any{"key": in64(key)})
	if err != nil || len(a.Pairs) == 0 {
		return "", err
	}
	return string(a.Pairs[0].Value), nil
}

// watch opens a watch on a range, and sends the value of each event.
func (g *gateway) watch(from, to string) (values <-chan string) {
	GinkgoHelper()
	watching, cancel := context.WithCancel(ctx)
	DeferCleanup(cancel)
	body, err := g.request(watching, "/watch", map[string]any{
		"create_request": map[string]any{"key": in64(from), "range_end": in64(to)},
	})
	Expect(err).NotTo(HaveOccurred())
	lines := bufio.NewScanner(body)
	next := func() (a reply) {
		if lines.Scan() {
			_ = json.Unmarshal(lines.Bytes(), &a)
		}
		return a
	}
	Expect(next().Result.Created).To(BeTrue())
	found := make(chan string, 100)
	go func() {
		defer body.Close()
		for a := next(); watching.Err() == nil && lines.Err() == nil; a = next() {
			for _, event := range a.Result.Events {
				found <- string(event.Pair.Value)
			}
		}
	}()
	return found
}
