// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"

	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/options"
)

// signatureSuffix is that of the file with a signature, beside the file that is signed.
const signatureSuffix = ".sig"

// signFiles writes a signature beside each file, as `cosign sign-blob` does.
func signFiles(ctx context.Context, key signature.Signer, files []string) error {
	if len(files) == 0 {
		return errors.New("no file to sign")
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		made, err := key.SignMessage(bytes.NewReader(raw), options.WithContext(ctx))
		if err != nil {
			return fmt.Errorf("sign %s: %w", file, err)
		}
		if err := os.WriteFile(file+signatureSuffix, []byte(base64.StdEncoding.EncodeToString(made)+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// verifyFiles wants a good signature beside each file.
func verifyFiles(ctx context.Context, key signature.Verifier, files []string) error {
	if len(files) == 0 {
		return errors.New("no file to verify")
	}
	var bad []error
	for _, file := range files {
		if err := verifyFile(ctx, key, file); err != nil {
			bad = append(bad, fmt.Errorf("%s is not signed by this key: %w", file, err))
		}
	}
	return errors.Join(bad...)
}

func verifyFile(ctx context.Context, key signature.Verifier, file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file + signatureSuffix)
	if err != nil {
		return err
	}
	made, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil {
		return err
	}
	return key.VerifySignature(bytes.NewReader(made), bytes.NewReader(raw), options.WithContext(ctx))
}
