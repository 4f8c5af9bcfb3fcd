package command

import (
	"bytes"
	"io"
	"unicode"
	"unicode/utf8"
)

// printable writes nothing that a terminal obeys: names, messages and logs may be of somebody else, who could write over what stands
// there, or into the clipboard. What the plugin draws with itself is a new line, a tab and the return to the beginning of one.
type printable struct{ to io.Writer }

func (p printable) Write(text []byte) (int, error) {
	if _, err := p.to.Write(bytes.Map(harmless, text)); err != nil {
		return 0, err
	}
	return len(text), nil
}

func harmless(r rune) rune {
	if r == '\n' || r == '\t' || r == '\r' || r == utf8.RuneError || unicode.IsPrint(r) {
		return r
	}
	return -1
}
