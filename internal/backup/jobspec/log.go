// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jobspec

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	// longestLine is what a line of a Job may have, in bytes, and longestText each text in it.
	longestLine = 64 << 10
	longestText = 2 << 10
	// longestLog is what is read of a log, in bytes: more than the kubelet keeps of one (containerLogMaxSize, 10Mi).
	longestLog = 16 << 20
	// mostLines are kept of a log. Beyond that only its end counts.
	mostLines = 30000
)

// ReadLog reads the lines of a container: all but progress, of which the last counts. Anyone who may execute a program in the Pod of a
// Job, or write to a store, can put anything into the log: so a line that is too long is left out, and so is what no line can hold.
func ReadLog(log io.Reader) (lines []Line, progress *Progress, err error) {
	limited := &io.LimitedReader{R: log, N: longestLog}
	reader := bufio.NewReaderSize(limited, longestLine+1) // and its end
	for {
		text, isLong, err := reader.ReadLine()
		for isLong && err == nil {
			text = nil
			_, isLong, err = reader.ReadLine()
		}
		switch {
		case errors.Is(err, io.EOF) && limited.N <= 0:
			words := fmt.Sprintf("the log of the Job has more than %d MiB: look for what writes to it", longestLog>>20)
			return append(lines, Line{Failed: &Failed{Reason: InternalFailure, Message: words}}), progress, nil
		case errors.Is(err, io.EOF):
			return lines, progress, nil
		case err != nil:
			return lines, progress, err
		}
		line, ok := Parse(text)
		switch {
		case ok && line.Progress != nil:
			progress = line.Progress
		case ok && len(lines) == mostLines && line.Found == nil:
			lines[mostLines-1] = line
		case ok && len(lines) < mostLines:
			lines = append(lines, line)
		}
	}
}

// shortened cuts every text that may come from outside of the operator.
func (l Line) shortened() Line {
	if l.Progress != nil {
		p := *l.Progress
		l.Progress = &p
		shorten(&p.Message)
		if p.Follow != nil {
			f := *p.Follow
			p.Follow = &f
			shorten(&f.Problem)
		}
	}
	if l.Found != nil {
		f := *l.Found
		l.Found = &f
		shorten(&f.Path, &f.Program, &f.Problem)
		shortenFacts(&f.Backup)
	}
	if l.Failed != nil {
		f := *l.Failed
		l.Failed = &f
		shorten(&f.Message, &f.Kind)
	}
	if l.Done != nil {
		d := *l.Done
		l.Done = &d
		shorten(&d.Left)
		if d.Backup != nil {
			b := *d.Backup
			d.Backup = &b
			shortenFacts(&b)
		}
	}
	return l
}

func shortenFacts(f *Facts) {
	shorten(&f.ID, &f.Name, &f.Namespace, &f.Cluster, &f.ClusterUID, &f.ClusterID, &f.Reason,
		&f.EtcdVersion, &f.StorageVersion, &f.ManifestSHA256)
}

func shorten(texts ...*string) {
	for _, text := range texts {
		if len(*text) > longestText {
			*text = strings.ToValidUTF8((*text)[:longestText], "") + "…"
		}
	}
}
