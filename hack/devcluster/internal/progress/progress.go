// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package progress tells people what is going on and for how long.
package progress

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Printer writes one line per event, each with the time since it began.
type Printer struct {
	mutex sync.Mutex
	out   io.Writer
	began time.Time
}

// To begins now and writes to out.
func To(out io.Writer) *Printer {
	return &Printer{out: out, began: time.Now()}
}

// Say prints one line.
func (p *Printer) Say(format string, args ...any) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	fmt.Fprintf(p.out, "[%6.1fs] %s\n", time.Since(p.began).Seconds(), fmt.Sprintf(format, args...))
}

// During repeats a line every ten seconds until the work is done.
func (p *Printer) During(what string, work func() error) error {
	began := time.Now()
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(10 * time.Second):
				p.Say("%s: %s so far", what, time.Since(began).Round(time.Second))
			}
		}
	}()
	return work()
}
