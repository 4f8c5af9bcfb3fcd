package support

import "regexp"

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
	{regexp.MustCompile(`(?i)([\w.-]*(?:passw|passphrase|secret|token|credential|api[-_]?key|access[-_]?key|account[-_]?key|private[-_]?key|` +
		`signature)[\w.-]*\\?["']?\s*[=:]\s*\\?["']?)[^\s"'\\,;&]+`), "$1" + Redacted},
}

// scrub takes out of a text what looks like a secret.
func scrub(text string) string {
	for _, each := range forms {
		text = each.form.ReplaceAllString(text, each.instead)
	}
	return text
}
