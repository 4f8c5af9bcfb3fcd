// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstore

import (
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// AWSIdentity is the identity of a ServiceAccount at Amazon. What Kubernetes puts into the environment of a Pod for it is
// given as values by the caller, which runs there.
type AWSIdentity struct {
	// IAM roles for service accounts, both set.
	RoleARN   string // AWS_ROLE_ARN
	TokenFile string // AWS_WEB_IDENTITY_TOKEN_FILE

	// EKS Pod Identity, both set.
	AgentURL       string // AWS_CONTAINER_CREDENTIALS_FULL_URI
	AgentTokenFile string // AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE
}

// s3Credentials are keys, or an identity; without either a store is refused, instead of looking for keys anywhere else.
func (c Config) s3Credentials(spec v1beta1.S3Store, client *http.Client) (aws.CredentialsProvider, error) {
	keyID, secret, id := c.Keys[v1beta1.KeyAccessKeyID], c.Keys[v1beta1.KeySecretAccessKey], c.AWS
	switch {
	case keyID != "" && secret != "":
		return credentials.NewStaticCredentialsProvider(keyID, secret, c.Keys[v1beta1.KeySessionToken]), nil
	case keyID != "" || secret != "":
		words := "access key ID and secret access key belong together"
		return nil, &Error{Kind: Invalid, Do: "use credentials", Name: spec.Bucket, Message: words}
	case id.RoleARN != "" && id.TokenFile != "":
		api := sts.New(sts.Options{Region: spec.Region, HTTPClient: client, RetryMaxAttempts: 3})
		role := stscreds.NewWebIdentityRoleProvider(api, id.RoleARN, stscreds.IdentityTokenFile(id.TokenFile))
		return aws.NewCredentialsCache(role), nil
	case id.AgentURL != "" && id.AgentTokenFile != "":
		agent := endpointcreds.New(id.AgentURL, func(o *endpointcreds.Options) {
			o.HTTPClient = client
			o.AuthorizationTokenProvider = endpointcreds.TokenProviderFunc(func() (string, error) { return tokenOf(id.AgentTokenFile) })
		})
		return aws.NewCredentialsCache(agent), nil
	}
	words := "neither keys nor the identity of a ServiceAccount are given"
	return nil, &Error{Kind: Invalid, Do: "use credentials", Name: spec.Bucket, Message: words}
}

// tokenOf reads a token each time: Kubernetes replaces it before it expires.
func tokenOf(file string) (string, error) {
	token, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read token of the ServiceAccount: %w", err)
	}
	return strings.TrimSpace(string(token)), nil
}
