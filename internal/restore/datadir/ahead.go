// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import "io"

// buffer is what is read of a stream at a time, in bytes, and buffersAhead how many of them there are: the memory that a database of any
// size takes. It is twice what is flushed to the disk at a time, so that the stream goes on while the disk does not.
const (
	buffer       = 1 << 20
	buffersAhead = 16
)

// ahead reads a stream while what it has read before is used: what makes the stream and what uses it are different work, of
// which neither waits for the other.
type ahead struct {
	full chan chunk
	free chan []byte
	stop chan struct{}
	last []byte // that was given out, and is free at the next call
}

type chunk struct {
	content []byte
	err     error // of the stream, after the content
}

func readAhead(stream io.Reader) *ahead {
	a := &ahead{full: make(chan chunk, buffersAhead), free: make(chan []byte, buffersAhead), stop: make(chan struct{})}
	for range buffersAhead {
		a.free <- nil // made when it is needed
	}
	go a.fill(stream)
	return a
}

// fill reads up to the stream's first error, which may be io.EOF. There is room for each chunk, since there are so many buffers.
func (a *ahead) fill(stream io.Reader) {
	defer close(a.full)
	for {
		select {
		case <-a.stop:
			return
		case into := <-a.free:
			if into == nil {
				into = make([]byte, buffer)
			}
			c := readChunk(stream, into)
			a.full <- c
			if c.err != nil {
				return
			}
		}
	}
}

func readChunk(stream io.Reader, into []byte) (c chunk) {
	n := 0
	for n < len(into) && c.err == nil {
		var read int
		read, c.err = stream.Read(into[n:])
		n += read
	}
	c.content = into[:n]
	return c
}

// next is what comes next, with the stream's error if it is the last. It is good until next is called again.
func (a *ahead) next() ([]byte, error) {
	if a.last != nil {
		a.free <- a.last
	}
	c := <-a.full
	a.last = c.content[:cap(c.content)]
	return c.content, c.err
}

// end waits until the stream is read no more.
func (a *ahead) end() {
	close(a.stop)
	for range a.full { // what is not used
	}
}
