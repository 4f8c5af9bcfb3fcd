// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// AzureIdentity is the identity of a ServiceAccount at Microsoft Entra. What the webhook of Azure Workload Identity puts
// into the environment of a Pod is given as values by the caller, which runs there.
type AzureIdentity struct {
	ClientID  string // AZURE_CLIENT_ID
	TenantID  string // AZURE_TENANT_ID
	TokenFile string // AZURE_FEDERATED_TOKEN_FILE
}

func (c Config) openAzure(ctx context.Context, spec v1beta1.AzureStore) (Store, error) {
	prefix, err := folderOf(spec.Prefix)
	if err != nil {
		return nil, err
	}
	endpoint := fmt.Sprintf("https://%s.blob.core.windows.net", spec.Account)
	if spec.Endpoint != "" {
		endpoint = strings.TrimSuffix(spec.Endpoint, "/")
	}
	if err := c.checkAzureAddress(endpoint); err != nil {
		return nil, err
	}
	client, err := httpClient(c.CA, c.Proxy)
	if err != nil {
		return nil, err
	}
	api, err := c.azureClient(spec, endpoint+"/"+spec.Container, client)
	if err != nil {
		return nil, err
	}
	bucket, err := azureblob.OpenBucket(ctx, api, nil)
	if err != nil {
		return nil, fmt.Errorf("open container: %w", err)
	}
	return &remote{dialect: azureDialect{api}, bucket: bucket, prefix: prefix, client: client}, nil
}

// checkAzureAddress also looks at the address that an account makes. An account key only signs.
func (c Config) checkAzureAddress(endpoint string) error {
	if err := checkEndpoint(endpoint); err != nil || c.Keys[v1beta1.KeyAccountKey] != "" {
		return err
	}
	return c.Allowed.mayGetTokens(azureBlobs, endpoint)
}

// storageTokens are tokens for storage alone. The library asks for one for whatever service the endpoint's refusal names, and would
// send it there.
type storageTokens struct{ azcore.TokenCredential }

// storageScope is Azure Storage of all accounts.
const storageScope = "https://storage.azure.com/.default"

func (s storageTokens) GetToken(ctx context.Context, asked policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return s.TokenCredential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{storageScope}, EnableCAE: asked.EnableCAE})
}

func (c Config) azureClient(spec v1beta1.AzureStore, address string, transport *http.Client) (*container.Client, error) {
	common := azcore.ClientOptions{
		Transport: transport,
		Telemetry: policy.TelemetryOptions{Disabled: true},
		Retry:     policy.RetryOptions{MaxRetries: 2, RetryDelay: 500 * time.Millisecond, MaxRetryDelay: 5 * time.Second},
	}
	options := &container.ClientOptions{ClientOptions: common}
	accountKey, sasToken, id := c.Keys[v1beta1.KeyAccountKey], c.Keys[v1beta1.KeySASToken], c.Azure
	switch {
	case accountKey != "":
		key, err := container.NewSharedKeyCredential(spec.Account, accountKey)
		if err != nil {
			return nil, &Error{Kind: Invalid, Do: "use credentials", Name: spec.Container, Message: "the account key is not base64", cause: err}
		}
		return container.NewClientWithSharedKeyCredential(address, key, options)
	case sasToken != "": // with or without its question mark
		return container.NewClientWithNoCredential(address+"?"+strings.TrimPrefix(sasToken, "?"), options)
	case id.ClientID != "" && id.TenantID != "" && id.TokenFile != "":
		token, err := azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{
			ClientOptions: common, ClientID: id.ClientID, TenantID: id.TenantID, TokenFilePath: id.TokenFile,
		})
		if err != nil {
			return nil, fmt.Errorf("use workload identity: %w", err)
		}
		return container.NewClient(address, storageTokens{token}, options)
	}
	words := "neither an account key, a SAS token, nor the identity of a ServiceAccount is given"
	return nil, &Error{Kind: Invalid, Do: "use credentials", Name: spec.Container, Message: words}
}

type azureDialect struct{ api *container.Client }

func (azureDialect) write(ctx context.Context, bucket *blob.Bucket, key string, content []byte) error {
	return upload(ctx, bucket, key, content, nil)
}

func (d azureDialect) remove(ctx context.Context, key string) error {
	_, err := d.api.NewBlobClient(key).Delete(ctx, nil)
	return err
}

// lock is asked after the store refused a deletion. What the blob says then is in force if its time has not come.
func (d azureDialect) lock(ctx context.Context, key string) (bool, time.Time) {
	p, err := d.api.NewBlobClient(key).GetProperties(ctx, nil)
	if err != nil {
		return false, time.Time{}
	}
	if p.LegalHold != nil && *p.LegalHold {
		return true, time.Time{}
	}
	if p.ImmutabilityPolicyExpiresOn == nil || p.Date == nil {
		return false, time.Time{}
	}
	return p.ImmutabilityPolicyExpiresOn.After(*p.Date), *p.ImmutabilityPolicyExpiresOn
}

// azureMessage is in the body of an answer, in XML; the library has it nowhere else.
var azureMessage = regexp.MustCompile(`(?s)<(?:Message|AuthenticationErrorDetail)>(.*?)</`)

// replyOfAzure reads what Azure, or Microsoft Entra, said.
func replyOfAzure(err error) (reply, bool) {
	var answer *azcore.ResponseError
	if refused := (*azidentity.AuthenticationFailedError)(nil); errors.As(err, &refused) {
		return reply{Status: http.StatusUnauthorized, Code: "AuthenticationFailed", Message: refused.Error()}, true
	}
	if !errors.As(err, &answer) {
		return reply{}, false
	}
	r := reply{Status: answer.StatusCode, Code: answer.ErrorCode}
	if answer.RawResponse == nil {
		return r, true
	}
	body, err := runtime.Payload(answer.RawResponse) // which has been read already
	if err != nil {
		return r, true
	}
	var said []string
	for _, found := range azureMessage.FindAllStringSubmatch(string(body), -1) {
		said = append(said, strings.Join(strings.Fields(found[1]), " "))
	}
	r.Message = strings.Join(said, " ")
	return r, true
}
