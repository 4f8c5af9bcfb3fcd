// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"io"
	"unicode"
	"unicode/utf8"
)

// printable writes nothing that a terminal obeys: names, messages and logs may come from another user, and could write over what stands
// there, or into the clipboard. Of what a terminal obeys only a new line and a tab are left: the return to the beginning of a line is for
// the plugin's own bar, which does not come through here.
type printable struct{ to io.Writer }

func (p printable) Write(text []byte) (int, error) {
	if _, err := p.to.Write(bytes.Map(harmless, text)); err != nil {
		return 0, err
	}
	return len(text), nil
}

func harmless(r rune) rune {
	if r == '\n' || r == '\t' || r == utf8.RuneError || unicode.IsPrint(r) {
		return r
	}
	return -1
}
