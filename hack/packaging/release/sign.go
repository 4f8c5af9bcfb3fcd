// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/sigstore/cosign/v3/pkg/cosign"
	cosignoci "github.com/sigstore/cosign/v3/pkg/oci"
	"github.com/sigstore/cosign/v3/pkg/oci/mutate"
	ociremote "github.com/sigstore/cosign/v3/pkg/oci/remote"
	"github.com/sigstore/cosign/v3/pkg/oci/static"
	"github.com/sigstore/cosign/v3/pkg/types"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/dsse"
	"github.com/sigstore/sigstore/pkg/signature/options"
	"github.com/sigstore/sigstore/pkg/signature/payload"
)

// readKey reads a private key: one of `cosign generate-key-pair`, which COSIGN_PASSWORD opens, or a plain one.
func readKey(file string) (signature.SignerVerifier, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if bytes.Contains(raw, []byte(cosign.SigstorePrivateKeyPemType)) || bytes.Contains(raw, []byte(cosign.CosignPrivateKeyPemType)) {
		return cosign.LoadPrivateKey(raw, []byte(os.Getenv("COSIGN_PASSWORD")), nil)
	}
	key, err := cryptoutils.UnmarshalPEMToPrivateKey(raw, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return signature.LoadSignerVerifier(key, crypto.SHA256)
}

// sign puts a signature of the image beside it, and says how it was built, signed as well: where cosign looks for both. What was
// there before is replaced.
func sign(ctx context.Context, image name.Digest, key signature.Signer, built provenance) error {
	with := ociremote.WithRemoteOptions(toRegistry(ctx)...)
	entity, err := ociremote.SignedEntity(image, with)
	if err != nil {
		return fmt.Errorf("read %s: %w", image, err)
	}
	claim, err := signatureOf(ctx, image, key)
	if err != nil {
		return fmt.Errorf("sign %s: %w", image, err)
	}
	attestation, err := attestationOf(ctx, key, predicate, built.statement(image))
	if err != nil {
		return fmt.Errorf("sign the provenance of %s: %w", image, err)
	}
	if entity, err = mutate.AttachSignatureToEntity(entity, claim); err != nil {
		return err
	}
	if entity, err = mutate.AttachAttestationToEntity(entity, attestation); err != nil {
		return err
	}
	return errors.Join(ociremote.WriteSignatures(image.Repository, entity, with), ociremote.WriteAttestations(image.Repository, entity, with))
}

// signatureOf is a signed claim that the image is of that name, in the format "simple signing".
func signatureOf(ctx context.Context, image name.Digest, key signature.Signer) (cosignoci.Signature, error) {
	claim, err := payload.Cosign{Image: image}.MarshalJSON()
	if err != nil {
		return nil, err
	}
	text, err := key.SignMessage(bytes.NewReader(claim), options.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	return static.NewSignature(claim, base64.StdEncoding.EncodeToString(text))
}

// attestationOf is a signed statement of a kind, in an envelope of the format DSSE.
func attestationOf(ctx context.Context, key signature.Signer, kind string, says object) (cosignoci.Signature, error) {
	statement, err := json.Marshal(says)
	if err != nil {
		return nil, err
	}
	envelope, err := dsse.WrapSigner(key, types.IntotoPayloadType).SignMessage(bytes.NewReader(statement), options.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	return static.NewAttestation(envelope, static.WithLayerMediaType(types.DssePayloadType),
		static.WithAnnotations(map[string]string{"predicateType": kind}))
}

func toRegistry(ctx context.Context) []remote.Option {
	return []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
}
