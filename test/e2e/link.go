// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// A link is a way to a server, at an address that Pods reach, which is as slow as it is told to be.
type link struct {
	address, to string
	rate        atomic.Int64 // bytes per second of all connections together, in each direction; 0 is no limit
	mutex       sync.Mutex
	open        []net.Conn
}

// newLink is one without a limit. It ends with the spec.
func newLink(to string) *link {
	GinkgoHelper()
	l := &link{address: freeNodeAddress(), to: to}
	listener, err := net.Listen("tcp", l.address)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		_ = listener.Close()
		l.cut()
	})
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go l.join(client)
		}
	}()
	return l
}

// join passes on what two ends say, until one of them has nothing more to say.
func (l *link) join(client net.Conn) {
	server, err := net.DialTimeout("tcp", l.to, time.Second)
	if err != nil {
		_ = client.Close()
		return
	}
	l.mutex.Lock()
	l.open = append(l.open, client, server)
	l.mutex.Unlock()
	up, down := &slow{l, server}, &slow{l, client}
	go func() {
		_, _ = io.Copy(up, client)
		_ = server.Close()
	}()
	_, _ = io.Copy(down, server)
	_ = client.Close()
}

// limit has it pass on so many bytes per second; 0 ends that.
func (l *link) limit(rate int64) { l.rate.Store(rate) }

// cut breaks off all that is under way.
func (l *link) cut() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, connection := range l.open {
		_ = connection.Close()
	}
	l.open = nil
}

// slow writes no faster than its link allows.
type slow struct {
	link *link
	to   io.Writer
}

// tick is after what time something is passed on.
const tick = 100 * time.Millisecond

func (s *slow) Write(p []byte) (written int, err error) {
	for written < len(p) && err == nil {
		next := p[written:]
		if rate := s.link.rate.Load(); rate > 0 {
			time.Sleep(tick)
			next = next[:min(int64(len(next)), max(1, rate/int64(time.Second/tick)))]
		}
		var n int
		n, err = s.to.Write(next)
		written += n
	}
	return written, err
}
