// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// Remains is what a member has, also while it waits for a quorum that never comes:
// until it has found a leader once it serves no client.
type Remains struct {
	Revision int64  // of its data
	Index    uint64 // of the last raft entry that it has applied
	Members  int    // that it lists, itself and learners included; 0 before etcd 3.6
}

// The metrics that show it. The second is set to the index of the entry, in spite of
// its name (server/etcdserver/server.go, applyAll). The third is there once for each
// member, and 0 for one that was removed since the start.
const (
	revisionMetric = "etcd_debugging_mvcc_current_revision"
	appliedMetric  = "etcd_server_proposals_applied_total"
	memberMetric   = "etcd_network_known_peers{"
)

// direct asks members without a proxy, whatever the environment says: they are in the same
// network. It follows no redirect: the port is plain HTTP, so what answers there need not be
// etcd.
var direct = &http.Client{Transport: &http.Transport{
	DialContext:     func(ctx context.Context, _, address string) (net.Conn, error) { return dialTCP(ctx, address) },
	IdleConnTimeout: peerTimeout, MaxResponseHeaderBytes: longestHeader,
}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// longestMetrics is about ten times what an etcd of many members reports, in bytes.
const longestMetrics = 4 << 20

// ReadRemains reads the metrics that a member serves in plain HTTP at that address,
// host and port. A member that has not loaded its data yet reports nothing.
func ReadRemains(ctx context.Context, address string) (Remains, error) {
	var remains Remains
	err := readMetrics(ctx, address, func(metrics io.Reader) (err error) {
		remains, err = parseRemains(metrics)
		return err
	})
	if err != nil {
		return Remains{}, err
	}
	return remains, nil
}

// readMetrics has the metrics of a member parsed.
func readMetrics(ctx context.Context, address string, parse func(io.Reader) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return fmt.Errorf("read metrics of %s: %w", address, err)
	}
	response, err := direct.Do(request)
	if err != nil {
		return fmt.Errorf("read metrics of %s: %w", address, err)
	}
	defer response.Body.Close() //nolint:errcheck // it was read to its end or is of no use
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("read metrics of %s: %s", address, response.Status)
	}
	limited := &io.LimitedReader{R: response.Body, N: longestMetrics}
	err = parse(limited)
	if limited.N == 0 {
		return fmt.Errorf("read metrics of %s: more than %d bytes", address, longestMetrics)
	}
	return err
}

func parseRemains(metrics io.Reader) (Remains, error) {
	var remains Remains
	lines := bufio.NewScanner(metrics)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), memberMetric) && strings.HasSuffix(lines.Text(), "} 1") {
			remains.Members++
		}
		name, value, _ := strings.Cut(lines.Text(), " ")
		if name != revisionMetric && name != appliedMetric {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return Remains{}, fmt.Errorf("read metric %s: %w", name, err)
		}
		if name == revisionMetric {
			remains.Revision = int64(number)
		} else {
			remains.Index = uint64(number)
		}
	}
	if remains.Revision == 0 || remains.Index == 0 {
		return Remains{}, fmt.Errorf("the member has not loaded its data: revision %d, index %d", remains.Revision, remains.Index)
	}
	return remains, lines.Err()
}
