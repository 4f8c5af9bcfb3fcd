// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stores

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Kinds of sources.
const (
	Secret         = "Secret"
	ConfigMap      = "ConfigMap"
	Claim          = "PersistentVolumeClaim"
	ServiceAccount = "ServiceAccount"
)

// Source is an object that the spec names: without it no Pod starts that uses the store. Of keys only the names are known.
type Source struct {
	Kind, Name string
	needs      [][]string // keys; of each line one must be there

	Known   bool // whether it exists: false if the operator may not read it
	Exists  bool
	Keys    []string // that are not empty
	Version string   // of its content
}

// SourcesOf is what a spec names, and nothing yet of what there is.
func SourcesOf(spec v1beta1.EtcdBackupStoreSpec) []Source {
	var all []Source
	if spec.ServiceAccountName != "" {
		all = append(all, Source{Kind: ServiceAccount, Name: spec.ServiceAccountName})
	}
	switch {
	case spec.S3 != nil:
		all = append(all, keys(spec.S3.Credentials, []string{v1beta1.KeyAccessKeyID}, []string{v1beta1.KeySecretAccessKey})...)
		all = append(all, authorities(spec.S3.CA)...)
	case spec.GCS != nil:
		all = append(all, keys(spec.GCS.Credentials, []string{v1beta1.KeyCredentialsJSON})...)
		all = append(all, authorities(spec.GCS.CA)...)
	case spec.Azure != nil:
		all = append(all, keys(spec.Azure.Credentials, []string{v1beta1.KeyAccountKey, v1beta1.KeySASToken})...)
		all = append(all, authorities(spec.Azure.CA)...)
	case spec.Volume != nil:
		all = append(all, Source{Kind: Claim, Name: spec.Volume.Claim})
	}
	return all
}

func keys(secret *v1beta1.SecretReference, needs ...[]string) []Source {
	if secret == nil {
		return nil
	}
	return []Source{{Kind: Secret, Name: secret.Secret, needs: needs}}
}

func authorities(ca *v1beta1.CASource) []Source {
	if ca == nil {
		return nil
	}
	needs := [][]string{{ca.KeyName()}}
	if ca.Secret != "" {
		return []Source{{Kind: Secret, Name: ca.Secret, needs: needs}}
	}
	return []Source{{Kind: ConfigMap, Name: ca.ConfigMap, needs: needs}}
}

// absent are the reasons that say that a source does not exist.
var absent = map[string]string{
	Secret: v1beta1.ReasonSecretMissing, ConfigMap: v1beta1.ReasonConfigMapMissing,
	Claim: v1beta1.ReasonClaimMissing, ServiceAccount: v1beta1.ReasonAccountMissing,
}

// missing is the first thing that the spec names and that is not there, as a reason and a message; empty if all is there.
func missing(v View) (reason, message string) {
	for _, s := range v.Sources {
		switch key := s.lacks(); {
		case !s.Known:
		case !s.Exists:
			return absent[s.Kind], fmt.Sprintf("%s %s does not exist in namespace %s: create it, or name another one",
				s.Kind, s.Name, v.Store.Namespace)
		case key != "":
			return v1beta1.ReasonKeyMissing, fmt.Sprintf("%s %s has no key %s, or it is empty: add it", s.Kind, s.Name, key)
		}
	}
	return "", ""
}

// lacks is the first key that must be there and is not; empty if all are.
func (s Source) lacks() string {
	for _, choice := range s.needs {
		if !slices.ContainsFunc(choice, func(key string) bool { return slices.Contains(s.Keys, key) }) {
			return strings.Join(choice, " or ")
		}
	}
	return ""
}

// versionsOf are the versions of all sources as one short text: with others the store may answer otherwise.
func versionsOf(sources []Source) string {
	var all []string
	for _, s := range sources {
		if s.Version != "" {
			all = append(all, s.Kind+"/"+s.Name+"="+s.Version)
		}
	}
	return short(all)
}

// short is a hash of texts in their order; empty if there is none.
func short(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(texts, "\n")))
	return hex.EncodeToString(sum[:8])
}
