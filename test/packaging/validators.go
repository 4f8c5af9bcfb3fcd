// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	validationerrors "github.com/operator-framework/api/pkg/validation/errors"
	interfaces "github.com/operator-framework/api/pkg/validation/interfaces"
	registrybundle "github.com/operator-framework/operator-registry/pkg/lib/bundle"
	"github.com/sirupsen/logrus"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// newestKubernetes is the newest version that the tests run on: APIs that it no longer has are warned of.
const newestKubernetes = "1.37"

// validators are the default ones of `operator-sdk bundle validate`, those of its suite=operatorframework, and the one for
// other objects.
var validators = append(append(interfaces.Validators{}, validation.DefaultBundleValidators...),
	validation.OperatorHubV2Validator,
	validation.StandardCapabilitiesValidator,
	validation.StandardCategoriesValidator,
	validation.AlphaDeprecatedAPIsValidator,
	validation.GoodPracticesValidator,
	validation.ObjectValidator,
)

func checkValidators(b *Bundle, _ Options) []string { return validated(b, validators) }

// validated takes a warning for as bad as an error. It reads the bundle again, since some validators fill in defaults.
func validated(b *Bundle, validators interfaces.Validators) []string {
	raw, err := manifests.GetBundleFromDir(b.Folder)
	if err != nil {
		return []string{err.Error()}
	}
	objects := append(raw.ObjectsToValidate(), map[string]string{"k8s-version": newestKubernetes})
	var all []string
	for _, result := range validators.Validate(objects...) {
		for _, finding := range append(result.Errors, result.Warnings...) {
			if !isOfDeprecated(b, finding) {
				all = append(all, finding.Error())
			}
		}
	}
	return all
}

// isOfDeprecated says whether all that is missed is an example of a version that is deprecated: the one of the current version is enough.
func isOfDeprecated(b *Bundle, finding validationerrors.Error) bool {
	kind, is := finding.BadValue.(schema.GroupVersionKind)
	return is && strings.Contains(finding.Detail, "should have an example") && slices.ContainsFunc(b.Raw.V1CRDs,
		func(crd *apiextensionsv1.CustomResourceDefinition) bool {
			return crd.Spec.Names.Kind == kind.Kind && slices.ContainsFunc(crd.Spec.Versions,
				func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
					return v.Name == kind.Version && v.Deprecated
				})
		})
}

// checkFormat is what operator-registry asks of the folder of a bundle image, `operator-sdk bundle validate` first of all.
func checkFormat(b *Bundle, _ Options) []string {
	quiet := logrus.New()
	quiet.SetOutput(io.Discard)
	validator := registrybundle.NewImageValidator(nil, logrus.NewEntry(quiet))
	all := findings(validator.ValidateBundleFormat(b.Folder))
	return append(all, findings(validator.ValidateBundleContent(filepath.Join(b.Folder, "manifests")))...)
}

func findings(err error) []string {
	if err == nil {
		return nil
	}
	var many registrybundle.ValidationError
	if !errors.As(err, &many) {
		return []string{err.Error()}
	}
	var all []string
	for _, one := range many.Errors {
		all = append(all, fmt.Sprint(one))
	}
	return all
}
