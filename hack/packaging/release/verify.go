// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/sigstore/cosign/v3/pkg/cosign"
	ociremote "github.com/sigstore/cosign/v3/pkg/oci/remote"
	"github.com/sigstore/sigstore/pkg/signature"
)

// verify asks cosign's own code, as `cosign verify` and `cosign verify-attestation` do with a key and without a transparency log: for
// the signature of the image, for its provenance, and for the bill of materials of each platform. It returns what it has checked, a
// line for each, and an error as soon as one is not there.
func verify(ctx context.Context, image name.Digest, key signature.Verifier, revision string) ([]string, error) {
	check := cosign.CheckOpts{
		RegistryClientOpts: []ociremote.Option{ociremote.WithRemoteOptions(toRegistry(ctx)...)},
		SigVerifier:        key, IgnoreTlog: true, Offline: true, ClaimVerifier: cosign.SimpleClaimVerifier,
	}
	if _, _, err := cosign.VerifyImageSignatures(ctx, image, &check); err != nil {
		return nil, fmt.Errorf("signature of %s: %w", image, err)
	}
	check.ClaimVerifier = cosign.IntotoSubjectClaimVerifier
	says, err := attested(ctx, image, &check, predicate)
	if err != nil {
		return nil, fmt.Errorf("provenance of %s: %w", image, err)
	}
	commit, err := commitOf(says)
	if err != nil {
		return nil, fmt.Errorf("provenance of %s: %w", image, err)
	}
	if commit != revision {
		return nil, fmt.Errorf("provenance of %s: it names the commit %q, not %q", image, commit, revision)
	}
	checked := []string{"signature", "provenance of commit " + commit}
	if commit == "" {
		checked[1] = "provenance, which names no commit"
	}
	bills, err := verifyBills(ctx, image, &check)
	return append(checked, bills...), err
}

// verifyBills wants a signed bill of materials of each platform. A chart has none: it holds no program.
func verifyBills(ctx context.Context, image name.Digest, check *cosign.CheckOpts) ([]string, error) {
	found, err := remote.Get(image, toRegistry(ctx)...)
	if err != nil || !found.MediaType.IsIndex() {
		return nil, err
	}
	index, err := found.ImageIndex()
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var checked []string
	for _, descriptor := range manifest.Manifests {
		subject := image.Digest(descriptor.Digest.String())
		if _, err := attested(ctx, subject, check, billPredicate); err != nil {
			return nil, fmt.Errorf("bill of materials of %s, %s: %w", image, descriptor.Platform, err)
		}
		checked = append(checked, "bill of materials of "+descriptor.Platform.String())
	}
	return checked, nil
}

// attested returns what a signed statement of a kind says of an image. One of another kind proves nothing.
func attested(ctx context.Context, image name.Digest, check *cosign.CheckOpts, kind string) (json.RawMessage, error) {
	found, _, err := cosign.VerifyImageAttestations(ctx, image, check)
	if err != nil {
		return nil, err
	}
	var kinds []string
	for _, attestation := range found {
		envelope, err := attestation.Payload()
		if err != nil {
			return nil, err
		}
		statement, err := open(envelope)
		if err != nil {
			return nil, err
		}
		if statement.PredicateType == kind {
			return statement.Predicate, nil
		}
		kinds = append(kinds, statement.PredicateType)
	}
	return nil, fmt.Errorf("there is none of the kind %s, only %s", kind, strings.Join(slices.Compact(kinds), ", "))
}

type said struct {
	PredicateType string          `json:"predicateType"`
	Predicate     json.RawMessage `json:"predicate"`
}

// open reads the statement in an envelope whose signature is good.
func open(envelope []byte) (said, error) {
	var outer struct {
		Payload []byte `json:"payload"`
	}
	if err := json.Unmarshal(envelope, &outer); err != nil {
		return said{}, err
	}
	var statement said
	err := json.Unmarshal(outer.Payload, &statement)
	return statement, err
}

func commitOf(predicate json.RawMessage) (string, error) {
	var built struct {
		BuildDefinition struct {
			ResolvedDependencies []struct {
				Digest struct {
					GitCommit string `json:"gitCommit"`
				} `json:"digest"`
			} `json:"resolvedDependencies"`
		} `json:"buildDefinition"`
	}
	if err := json.Unmarshal(predicate, &built); err != nil {
		return "", err
	}
	for _, source := range built.BuildDefinition.ResolvedDependencies {
		return source.Digest.GitCommit, nil
	}
	return "", nil
}
