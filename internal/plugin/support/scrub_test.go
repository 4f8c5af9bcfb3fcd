// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package support

import (
	"strings"
	"testing"
)

// TestNastyLines: none of what programs print about their secrets leaves anything of them.
func TestNastyLines(t *testing.T) {
	for _, line := range []string{
		"password=abc,CANARY", "password=abc;CANARY", "password=abc&CANARY", "token: abc CANARY", "pwd=CANARY", "DB_PWD: CANARY", "pass=CANARY",
		"Cookie: a=b; session=CANARY", "Set-Cookie: id=CANARY; Path=/", `{"msg":"x","cookies":["a","CANARY"]}`,
		`passwords: ["a", "CANARY"]`, `"tokens":["a","CANARY"]`, `{"msg":"got {\"password\":\"CANARY\"}"}`,
		`msg="{\\\"token\\\":\\\"CANARY\\\"}"`, `{"secret":{"a":"CANARY"}}`, "password='abc CANARY'", `password="abc\"CANARY"`,
		"Authorization: Digest username=a, response=CANARY", "proxy-authorization: NTLM CANARY", "x-api-key: CANARY", "apikey = CANARY",
		"using ghp_CANARY4567890123", "glpat-CANARY45678", "xoxb-12-CANARY", "sk_live_CANARY456", "AIzaCANARY4567890", "hvs.CANARY4567",
		"npm_CANARY45678", "dckr_pat_CANARY45", "github_pat_CANARY45", "ya29.CANARY4567", "AccountKey=abc==;CANARY", "client_secret=%41CANARY",
	} {
		if got := scrub("before " + line); strings.Contains(got, "CANARY") || !strings.HasPrefix(got, "before") {
			t.Errorf("%s\n  becomes %s", line, got)
		}
	}
	for _, line := range []string{
		"Secret default-client of the cluster does not exist: create it", "failed to read https://minio.example:9000/b: 403",
		`{"level":"info","msg":"added member","raft-term":3}`, "no password is set", "compass: north", "health check is ok",
	} {
		if got := scrub(line); got != line {
			t.Errorf("%s\n  becomes %s", line, got)
		}
	}
}
