// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// A request is one line of the API server's audit log
// (https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/#audit-k8s-io-v1-Event).
// Every request has a line when it is received and one when it is answered.
type request struct {
	Stage     string `json:"stage"`
	Verb      string `json:"verb"`
	UserAgent string `json:"userAgent"`
	User      struct {
		Username string `json:"username"`
	} `json:"user"`
	Object struct {
		Group       string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	Response struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Received time.Time `json:"requestReceivedTimestamp"`
	StagedAt time.Time `json:"stageTimestamp"`
}

const (
	received = "RequestReceived"
	answered = "ResponseComplete"
)

func (r request) isWrite() bool {
	switch r.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return true
	}
	return false
}

func (r request) succeeded() bool { return r.Response.Code >= 200 && r.Response.Code < 300 }

func (r request) isOn(resource string) bool {
	return r.Object.Resource == resource && r.Object.Subresource == ""
}

func (r request) String() string {
	what := strings.TrimSuffix(r.Object.Resource+"/"+r.Object.Subresource, "/")
	return fmt.Sprintf("%-7s %-30s %-28s %3d  %s", r.Verb, what, r.Object.Name, r.Response.Code, shortUser(r.User.Username))
}

func shortUser(user string) string { return user[strings.LastIndex(user, ":")+1:] }

// An operator is known by its user, or by its user agent if there is one here.
type operator struct{ user, agent string }

func (o operator) made(r request) bool {
	if o.agent != "" {
		return strings.HasPrefix(r.UserAgent, o.agent)
	}
	return r.User.Username == o.user
}

// An auditLog is read from where it ended at some time before.
type auditLog string

func (l auditLog) end() (int64, error) {
	info, err := os.Stat(string(l))
	if err != nil {
		return 0, fmt.Errorf("find the audit log: %w", err)
	}
	return info.Size(), nil
}

// since reads the whole lines after an offset.
func (l auditLog) since(offset int64) ([]request, error) {
	file, err := os.Open(string(l))
	if err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	defer file.Close() //nolint:errcheck // opened to read
	text, err := io.ReadAll(io.NewSectionReader(file, offset, 1<<40))
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	return parseAudit(text)
}

// parseAudit leaves out a last line that is still being written.
func parseAudit(text []byte) ([]request, error) {
	var all []request
	for line := range bytes.Lines(text) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("read a line of the audit log: %w", err)
		}
		all = append(all, r)
	}
	return all, nil
}

// find waits for the first request that matches: a line is written a moment after
// what it tells of can be seen.
func (l auditLog) find(ctx context.Context, offset int64, what string, match func(request) bool) (request, error) {
	var found request
	err := poll(ctx, "audit log to show "+what, 50*time.Millisecond, 10*time.Second, func() (bool, error) {
		all, err := l.since(offset)
		for _, r := range all {
			if match(r) {
				found = r
				return true, nil
			}
		}
		return false, err
	})
	return found, err
}
