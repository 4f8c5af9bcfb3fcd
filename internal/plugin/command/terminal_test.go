package command

import (
	"bytes"
	"testing"
)

// TestEscapesAreStripped: a message of somebody else cannot clear the screen, set a title or turn text around.
func TestEscapesAreStripped(t *testing.T) {
	var out bytes.Buffer
	said := "a\x1b[2Jb\x1b]52;c;eA==\x07c\u202ed\u009b1me ü\n\tf\r"
	if n, err := (printable{&out}).Write([]byte(said)); err != nil || n != len(said) {
		t.Fatal(n, err)
	}
	if got, want := out.String(), "a[2Jb]52;c;eA==cd1me ü\n\tf\r"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
