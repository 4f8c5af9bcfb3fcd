// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/oci"
)

// predicate is the kind of statement: https://slsa.dev/spec/v1.0/provenance.
const predicate = "https://slsa.dev/provenance/v1"

// billPredicate is that of a bill of materials in SPDX, as `cosign attest --type spdxjson` has it.
const billPredicate = "https://spdx.dev/Document"

type object = map[string]any

// provenance is what an image was built of. There is no time in it: the same sources make the same image on any day.
type provenance struct {
	version, platforms, builder string
	revision                    string // commit that it was made of; empty where there is no git to ask
	script                      string // that built it, such as hack/release.sh
	tools                       string // commit of the script, if another
}

// statementAbout is a statement of in-toto about an image.
func statementAbout(image name.Digest, kind string, predicate any) object {
	return object{
		"_type":         "https://in-toto.io/Statement/v1",
		"predicateType": kind,
		"subject": []object{{
			"name": image.Context().Name(), "digest": object{"sha256": strings.TrimPrefix(image.DigestStr(), "sha256:")},
		}},
		"predicate": predicate,
	}
}

// statement says it of an image, in the words of in-toto and SLSA.
func (p provenance) statement(image name.Digest) object {
	sources := []object{}
	for _, commit := range []string{p.revision, p.tools} {
		if commit != "" && (len(sources) == 0 || commit != p.revision) {
			sources = append(sources, object{"uri": "git+" + oci.Source + "@" + commit, "digest": object{"gitCommit": commit}})
		}
	}
	return statementAbout(image, predicate, object{
		"buildDefinition": object{
			"buildType":            oci.Source + "/blob/main/" + p.script,
			"externalParameters":   object{"version": p.version, "platforms": p.platforms},
			"resolvedDependencies": sources,
		},
		"runDetails": object{"builder": object{"id": p.builder}},
	})
}
