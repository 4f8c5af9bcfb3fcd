// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package progress draws how far long work is: a bar for a terminal, a line for a log.
//
// It must never write anything itself, or know what time it is.
package progress

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Progress is how far something is.
type Progress struct {
	What    string // such as "backup before-migration"
	Read    int64  // bytes that are done
	Total   int64  // bytes altogether; 0: not known
	Percent int32  // of Total
	Rate    int64  // bytes a second; 0: not known
	Message string // what is done now
}

// OfBackup is how far an EtcdBackup is.
func OfBackup(b *v1beta1.EtcdBackup) Progress {
	p := Progress{What: "backup " + b.Name, Message: strings.ToLower(string(b.Status.Phase))}
	if b.Status.Phase == "" {
		p.Message = "no operator has looked at it yet"
	}
	s := b.Status.Progress
	if s == nil {
		return p
	}
	if s.Read != nil {
		p.Read = s.Read.Value()
	}
	if s.Total != nil {
		p.Total = s.Total.Value()
	}
	if s.Rate != nil {
		p.Rate = s.Rate.Value()
	}
	if s.Message != "" {
		p.Message = s.Message
	}
	p.Percent = s.Percent
	return p
}

// Limits of a bar, in characters.
const (
	narrowest = 10
	widest    = 40
	minute    = 60
)

// Bar is one line for a terminal, never longer than width characters. Without a total there is nothing to draw a bar of.
func Bar(p Progress, width int) string {
	if p.Total <= 0 {
		return cut(p.What+": "+p.Message, width)
	}
	facts := fmt.Sprintf(" %3d %%  %s", p.Percent, amount(p))
	length := min(widest, width-utf8.RuneCountInString(p.What+facts)-len(" []"))
	if length < narrowest {
		return cut(p.What+facts, width)
	}
	full := length * int(p.Percent) / 100
	line := fmt.Sprintf("%s [%s%s]%s", p.What, strings.Repeat("=", full), strings.Repeat(" ", length-full), facts)
	if p.Message != "" {
		line += "  " + p.Message
	}
	return cut(line, width)
}

// Line is one line for a log.
func Line(p Progress) string {
	if p.Total <= 0 {
		return p.What + ": " + p.Message
	}
	return strings.TrimSuffix(fmt.Sprintf("%s: %d %%, %s: %s", p.What, p.Percent, amount(p), p.Message), ": ")
}

// Stage is what a log has one line of: the next tenth, or something else that is done.
func Stage(p Progress) string {
	if p.Total <= 0 {
		return p.Message
	}
	return fmt.Sprintf("%d %s", p.Percent/10, p.Message)
}

func amount(p Progress) string {
	text := fmt.Sprintf("%s of %s", v1beta1.SizeOf(p.Read), v1beta1.SizeOf(p.Total))
	if p.Rate > 0 {
		text += fmt.Sprintf(", %s/s, %s left", v1beta1.SizeOf(p.Rate), left(p))
	}
	return text
}

// left is how long the rest takes at this rate.
func left(p Progress) string {
	seconds := (max(0, p.Total-p.Read) + p.Rate - 1) / p.Rate
	if seconds >= minute {
		seconds = (seconds + minute - 1) / minute * minute
	}
	text := (time.Duration(seconds) * time.Second).String()
	if seconds >= minute {
		text = strings.TrimSuffix(text, "0s")
	}
	return text
}

func cut(line string, width int) string {
	all := []rune(line)
	if len(all) <= width || width < 2 {
		return line
	}
	return string(all[:width-1]) + "…"
}
