// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	cosignmutate "github.com/sigstore/cosign/v3/pkg/oci/mutate"
	ociremote "github.com/sigstore/cosign/v3/pkg/oci/remote"
	"github.com/sigstore/cosign/v3/pkg/oci/signed"
	"github.com/sigstore/sigstore/pkg/signature"
)

// spdxJSON is the media type of a bill of materials, registered for it.
const spdxJSON = "application/spdx+json"

// attach puts the bill of materials of each platform beside its image, twice: as a referrer, which `oras discover` and `cosign tree`
// find, and signed, which `cosign verify-attestation` verifies.
func attach(ctx context.Context, image name.Digest, folder, title string, key signature.Signer) error {
	index, err := remote.Index(image, toRegistry(ctx)...)
	if err != nil {
		return fmt.Errorf("read %s: %w", image, err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	for _, descriptor := range manifest.Manifests {
		bill, err := os.ReadFile(filepath.Join(folder, billName(title, descriptor.Platform)))
		if err != nil {
			return err
		}
		subject := image.Digest(descriptor.Digest.String())
		if err := refer(ctx, subject, descriptor, static.NewLayer(bill, spdxJSON)); err != nil {
			return fmt.Errorf("attach the bill of materials of %s: %w", subject, err)
		}
		if err := attest(ctx, subject, bill, key); err != nil {
			return fmt.Errorf("sign the bill of materials of %s: %w", subject, err)
		}
	}
	return nil
}

// attest signs a bill of materials as a statement about its image. What was attested of it before is replaced.
func attest(ctx context.Context, subject name.Digest, bill []byte, key signature.Signer) error {
	image, err := remote.Image(subject, toRegistry(ctx)...)
	if err != nil {
		return err
	}
	attestation, err := attestationOf(ctx, key, billPredicate, statementAbout(subject, billPredicate, json.RawMessage(bill)))
	if err != nil {
		return err
	}
	entity, err := cosignmutate.AttachAttestationToImage(signed.Image(image), attestation)
	if err != nil {
		return err
	}
	return ociremote.WriteAttestations(subject.Repository, entity, ociremote.WithRemoteOptions(toRegistry(ctx)...))
}

// refer pushes a manifest about another. Its kind is that of its config, which is where registries look when they list referrers.
func refer(ctx context.Context, subject name.Digest, descriptor v1.Descriptor, content v1.Layer) error {
	about, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), content)
	if err != nil {
		return err
	}
	referrer, ok := mutate.Subject(mutate.ConfigMediaType(about, spdxJSON), v1.Descriptor{
		MediaType: descriptor.MediaType, Digest: descriptor.Digest, Size: descriptor.Size,
	}).(v1.Image)
	if !ok {
		return errors.New("a manifest about another is no manifest")
	}
	digest, err := referrer.Digest()
	if err != nil {
		return err
	}
	return remote.Write(subject.Digest(digest.String()), referrer, toRegistry(ctx)...)
}

func billName(title string, platform *v1.Platform) string {
	return fmt.Sprintf("%s-%s-%s.spdx.json", title, platform.OS, platform.Architecture)
}
