// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package support

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// forms are what secrets look like wherever they are, each with what is put there instead.
var forms = []struct {
	form    *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\z)`), Redacted},
	{regexp.MustCompile(`AGE-SECRET-KEY-[0-9A-Z]+`), Redacted},
	{regexp.MustCompile(`eyJ[\w-]{6,}\.[\w-]{6,}\.[\w-]*`), Redacted},                    // a token of JWT
	{regexp.MustCompile(`\b(AKIA|ASIA)[0-9A-Z]{12,}\b`), Redacted},                       // an access key of AWS
	{regexp.MustCompile(`(?i)\b(bearer|basic)\s+[\w.~+/=-]{6,}`), "$1 " + Redacted},      // a header
	{regexp.MustCompile(`://[^/\s:@"']+:[^/\s@"']+@`), "://" + Redacted + "@"},           // user and password in a URL
	{regexp.MustCompile(`(?i)([?&](?:sig|sv|x-amz-[\w-]+)=)[^&\s"']+`), "$1" + Redacted}, // a signed URL
	// Tokens that are known by how they begin: of GitHub, GitLab, Slack, Stripe, Google, Vault, npm, Docker, SendGrid, OpenAI and Azure.
	{regexp.MustCompile(`\b(gh[opsur]_|github_pat_|glpat-|xox[a-z]-|[sr]k_(live|test)_|AIza|ya29\.|GOCSPX-|hv[sb]\.|npm_|dckr_pat_|SG\.|sk-|` +
		`pypi-|do[opr]_v1_|shp(at|ca|pa|ss)_)[\w.-]{8,}`), Redacted},
	// It is not known where a value ends that has a name of a secret, or is a cookie: at a comma, a bracket or an escaped quote, or not
	// there. So the rest of the line is removed with it.
	{regexp.MustCompile(`(?i)((?:^|[^\w.-])(?:[\w.-]*(?:passw|passphrase|passwd|pwd|secret|token|credential|api[-_]?key|access[-_]?key|` +
		`account[-_]?key|private[-_]?key|signature|cookie|authorization|\bsig)[\w.-]*|pass)\\*["']?\s*[=:]\s*)\S[^\n]*`), "$1" + Redacted},
}

// scrub takes out of a text what looks like a secret. Colors go first: they stand between the name of a secret and the secret.
func scrub(text string) string {
	text = plain(text)
	for _, each := range forms {
		text = each.form.ReplaceAllString(text, each.instead)
	}
	return text
}

// colors are what logs have for terminals: they begin with ESC [ and end with a letter.
var colors = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]`)

// plain drops what a terminal obeys: the files are read in terminals, and YAML cannot have all control characters.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == utf8.RuneError || unicode.IsPrint(r) {
			return r
		}
		return -1
	}, colors.ReplaceAllString(text, ""))
}
