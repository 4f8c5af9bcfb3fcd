// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstore

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Endpoints are those that may be sent a token, besides the provider's own: https://storage.example:9000, or *.example.com. An entry
// without a scheme means https, one without a port any port, and * any host.
//
// A token can be used anywhere until it expires. A user who writes an EtcdBackupStore names an endpoint, and often may not
// read the token; so the operator's administrator says which endpoints are allowed.
type Endpoints []string

// EndpointsFlag of the manager sets them.
const EndpointsFlag = "allowed-store-endpoints"

// String is the list as it is written in a flag.
func (e *Endpoints) String() string { return strings.Join(*e, ",") }

// Set adds entries, separated by commas.
func (e *Endpoints) Set(text string) error {
	for entry := range strings.SplitSeq(text, ",") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		if _, err := patternOf(entry); err != nil {
			return fmt.Errorf("%q is no endpoint such as https://storage.example:9000 or *.example.com: %w", entry, err)
		}
		*e = append(*e, entry)
	}
	return nil
}

// pattern is an entry: a scheme, a host that may begin with *, and a port, if it has one.
type pattern struct{ scheme, host, port string }

var hostPattern = regexp.MustCompile(`^(\*|(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?|[0-9a-f:]+)$`)

func patternOf(entry string) (pattern, error) {
	if !strings.Contains(entry, "://") {
		entry = "https://" + entry
	}
	u, err := url.Parse(strings.TrimSuffix(entry, "/"))
	if err != nil {
		return pattern{}, errors.New("it cannot be read as an URL")
	}
	p := pattern{u.Scheme, strings.ToLower(u.Hostname()), u.Port()}
	switch {
	case p.scheme != "https" && p.scheme != "http":
		return pattern{}, errors.New("it is neither https nor http")
	case u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "":
		return pattern{}, errors.New("it has more than a scheme, a host and a port")
	case !hostPattern.MatchString(p.host):
		return pattern{}, errors.New("a * stands for the whole host, or for names before a dot")
	}
	return p, nil
}

func (p pattern) matches(u *url.URL) bool {
	if p.scheme != u.Scheme || p.port != "" && p.port != portOf(u) {
		return false
	}
	host := strings.ToLower(u.Hostname())
	ending, isOpen := strings.CutPrefix(p.host, "*")
	if !isOpen {
		return host == p.host
	}
	return len(host) > len(ending) && strings.HasSuffix(host, ending)
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "http":
		return "80"
	}
	return "443"
}

// provider knows the hosts to which the tokens of one cloud provider may be sent.
type provider struct {
	name  string
	hosts *regexp.Regexp
}

// Hosts of customers end with the same domains, such as those of load balancers and API gateways of Amazon: so these are the names
// of storage, in full.
var (
	amazonS3 = provider{"Amazon S3", regexp.MustCompile(
		`^(s3(-fips)?(\.dualstack)?(\.[a-z0-9-]+)?|s3-[a-z0-9-]+|bucket\.vpce-[a-z0-9-]+\.s3\.[a-z0-9-]+\.vpce)\.amazonaws\.com(\.cn)?$`)}
	googleStorage = provider{"Google Cloud Storage", regexp.MustCompile(`^storage(\.[a-z0-9-]+\.rep|-[a-z0-9-]+\.p)?\.googleapis\.com$`)}
	azureBlobs    = provider{"Azure Blob Storage", regexp.MustCompile(
		`^[a-z0-9]{3,24}(-secondary)?(\.privatelink)?(\.z[0-9]+)?\.blob\.` +
			`(core\.(windows\.net|chinacloudapi\.cn|usgovcloudapi\.net)|storage\.azure\.net)$`)}
)

// mayGetTokens is an error if a token that this provider takes must not be sent to an endpoint.
func (e Endpoints) mayGetTokens(of provider, endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil {
		return checkEndpoint(endpoint)
	}
	own := pattern{"https", "*", "443"}
	if own.matches(u) && of.hosts.MatchString(strings.ToLower(u.Hostname())) {
		return nil
	}
	isAllowed := func(entry string) bool {
		p, err := patternOf(entry)
		return err == nil && p.matches(u)
	}
	if slices.ContainsFunc(e, isAllowed) {
		return nil
	}
	allows := "none"
	if len(e) > 0 {
		allows = e.String()
	}
	// The flag and what to do come first: of a long list the end is cut off.
	words := fmt.Sprintf("tokens are sent over https to %s only, unless --%s of the operator allows more; use keys that sign, or ask its "+
		"administrator; allowed is %s", of.name, EndpointsFlag, allows)
	return &Error{Kind: Invalid, Do: "use endpoint", Name: endpoint, Message: words}
}

// regionName is a region that may become a part of a host's name: anything else could make it another host.
var regionName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func checkRegion(region string) error {
	if regionName.MatchString(region) {
		return nil
	}
	words := "without an endpoint, and with the identity of a ServiceAccount, the region is a part of Amazon's address: letters, digits and -"
	return &Error{Kind: Invalid, Do: "use region", Name: region, Message: words}
}
