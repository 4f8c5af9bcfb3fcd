// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package runbook reads the commands that pages tell people to run, so that tests run the same ones.
package runbook

import (
	"regexp"
	"strings"
)

// A Block is a fenced block of a page.
type Block struct {
	Line     int    // of its fence
	Language string // such as console, sh or yaml
	Text     string
	// NotRun is why no test runs its commands, from a comment above it: <!-- not run: it takes a second node -->.
	NotRun string
}

var mark = regexp.MustCompile(`^<!-- not run: (.+) -->$`)

// Blocks are those of a page, in their order.
func Blocks(page string) []Block {
	var all []Block
	var open *Block
	above := ""
	for i, line := range strings.Split(page, "\n") {
		switch language, fence := strings.CutPrefix(strings.TrimSpace(line), "```"); {
		case open != nil && fence:
			all, open = append(all, *open), nil
		case open != nil:
			open.Text += line + "\n"
		case fence:
			open = &Block{Line: i + 1, Language: language}
			if found := mark.FindStringSubmatch(above); found != nil {
				open.NotRun = found[1]
			}
		}
		above = strings.TrimSpace(line)
	}
	return all
}

// IsShell tells whether the block has commands.
func (b Block) IsShell() bool { return b.Language == "sh" || b.Language == "console" }

// Commands are what a person types, without what is printed. In a console a command begins with a dollar sign, and goes on where a line
// ends with a backslash, a pipe or the beginning of a loop.
func (b Block) Commands() []string {
	if b.Language == "sh" {
		if text := strings.TrimSpace(b.Text); text != "" {
			return []string{text}
		}
		return nil
	}
	var all []string
	unfinished := false
	for line := range strings.Lines(b.Text) {
		line = strings.TrimRight(line, "\n")
		command, begins := strings.CutPrefix(line, "$ ")
		switch {
		case begins:
			all = append(all, command)
		case unfinished:
			all[len(all)-1] += "\n" + line
		default:
			continue
		}
		unfinished = goesOn(all[len(all)-1])
	}
	return all
}

var (
	loops = regexp.MustCompile(`(?m)(^|\s)do$`)
	ends  = regexp.MustCompile(`(?m)^\s*done\b`)
)

func goesOn(command string) bool {
	last := command[strings.LastIndex(command, "\n")+1:]
	return strings.HasSuffix(last, `\`) || strings.HasSuffix(last, "|") ||
		len(loops.FindAllString(command, -1)) > len(ends.FindAllString(command, -1))
}
